"""Start the server: one process, or several on one store."""

from __future__ import annotations

import errno
import json
import logging
import os
import socket
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from stopwise.errors import SettingError
from stopwise.serve import trail
from stopwise.serve.settings import ServerSettings, load_settings
from stopwise.serve.tokens import Tokens
from stopwise.store import Worker, open_store

# How workers learn what they serve: they are fresh processes that import `app`.
VARIABLE = "STOPWISE_SERVE"


@dataclass(frozen=True)
class Launch:
    """What a server is started with: a file, changes to it, and one cascade given by flags."""

    config: str = ""
    changes: dict[str, Any] = field(default_factory=dict)
    cascade: dict[str, Any] = field(default_factory=dict)

    @property
    def settings(self) -> ServerSettings:
        """The settings of the file, as changed."""
        read = load_settings(Path(self.config)) if self.config else ServerSettings()
        return replace(read, **self.changes)

    def host(self) -> Any:
        """Open the store and return its cascades."""
        from stopwise.serve.hosting import Host, stages_elsewhere

        settings = self.settings
        cascades = dict(settings.cascades)
        if self.cascade:
            stages = stages_elsewhere(self.cascade["costs"])
            given = {"stages": stages, "mistake_cost": self.cascade["mistake_cost"]}
            cascades[self.cascade["name"]] = given
        worker = Worker(
            settings.store,
            durability=settings.durability,
            directory=settings.journals or None,
        )
        return Host(worker, cascades)

    def app(self) -> Any:
        """Return the application of one process."""
        from stopwise.serve.app import create_app
        from stopwise.serve.guard import JsonLines
        from stopwise.serve.telemetry import Traced

        logging.captureWarnings(True)
        handler = logging.StreamHandler()
        handler.setFormatter(JsonLines())
        logging.basicConfig(level=logging.INFO, handlers=[handler], force=True)
        logging.getLogger("httpx").setLevel(logging.WARNING)
        settings = self.settings
        made = create_app(
            self.host(), needs_token=settings.tokens, log_requests=settings.log_requests
        )
        return Traced(made) if settings.telemetry else made

    def new_token(self, scope: str) -> str:
        """Make a token, note that, and return it."""
        with open_store(self.settings.store) as store:
            token = Tokens(store).create(scope, note="command line")
            did = f"token {token.split('_')[1]}: {scope}"
            trail.write(store, "", who="command line", did=did)
        return token

    def run(self, say: Callable[[str], None]) -> None:
        """Serve until the process is told to end; ``say`` the address once nothing is amiss."""
        import uvicorn

        settings = self.settings
        port = _free_port(settings.host, settings.port)
        served: Any = "stopwise.serve.running:app"
        if settings.workers > 1:
            os.environ[VARIABLE] = json.dumps(asdict(self))
            self.host().worker.close()  # a mistake is said once, a new cascade is created once
        else:
            served = self.app()
        names = [*settings.cascades, *filter(None, [self.cascade.get("name")])]
        address = f"[{settings.host}]" if ":" in settings.host else settings.host
        say(f"http://{address}:{port} serves {', '.join(names) or 'what its store has'}")
        uvicorn.run(
            served,
            factory=settings.workers > 1,
            host=settings.host,
            port=port,
            workers=settings.workers,
            log_config=None,
            log_level="warning",
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=10,
        )


def _free_port(host: str, port: int) -> int:
    """Return the port, a free one for 0, or raise `SettingError` if it cannot be listened on."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        with socket.create_server((host, port), family=family) as tried:
            return int(tried.getsockname()[1])
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise SettingError(f"port {port} is in use: --port 0 takes a free one") from None
        raise SettingError(f"cannot listen: {error.strerror}") from None


def app() -> Any:
    """Return the application that the environment describes; uvicorn calls this."""
    try:
        given = json.loads(os.environ[VARIABLE])
    except KeyError:
        raise SettingError(f"{VARIABLE} is not set: start the server by stopwise serve") from None
    return Launch(**given).app()
