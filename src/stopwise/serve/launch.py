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

from stopwise.cascade import Cascade
from stopwise.errors import SettingError
from stopwise.serve import audit_trail
from stopwise.serve.server_settings import ServerSettings, load_settings
from stopwise.serve.tokens import Tokens
from stopwise.store import Worker, open_store

# The environment variable that tells worker processes, which import `app`, what to serve.
VARIABLE = "STOPWISE_SERVE"


@dataclass(frozen=True)
class Launch:
    """How a server is started: from a file, with changes to it, and a cascade given by flags."""

    config: str = ""
    changes: dict[str, Any] = field(default_factory=dict)
    cascade: dict[str, Any] = field(default_factory=dict)

    @property
    def settings(self) -> ServerSettings:
        """The settings of the file, as changed."""
        settings = load_settings(Path(self.config)) if self.config else ServerSettings()
        return replace(settings, **self.changes)

    def host(self) -> Any:
        """Open the store and return its cascades."""
        from stopwise.serve.host import Host, elsewhere

        settings = self.settings
        cascades = dict(settings.cascades)
        if self.cascade:
            cascade = Cascade(self.cascade["costs"], self.cascade["mistake_cost"])
            cascades[self.cascade["name"]] = elsewhere(cascade)
        journals = settings.journals or None
        worker = Worker(settings.store, durability=settings.durability, directory=journals)
        return Host(worker, cascades)

    def app(self) -> Any:
        """Return the application of one process."""
        from stopwise.serve.app import create_app
        from stopwise.serve.middleware import Tracing

        logging.captureWarnings(True)
        handler = logging.StreamHandler()
        handler.setFormatter(JsonLines())
        logging.basicConfig(level=logging.INFO, handlers=[handler], force=True)
        logging.getLogger("httpx").setLevel(logging.WARNING)
        settings = self.settings
        application = create_app(
            self.host(), needs_token=settings.tokens, log_requests=settings.log_requests
        )
        return Tracing(application) if settings.telemetry else application

    def new_token(self, scope: str) -> str:
        """Make a token, record that, and return it."""
        with open_store(self.settings.store) as store:
            token = Tokens(store).create(scope, note="command line")
            did = f"token {token.split('_')[1]}: {scope}"
            audit_trail.write(store, "", who="command line", did=did)
        return token

    def run(self, say: Callable[[str], None]) -> None:
        """Serve until the process is told to end; ``say`` is called with the address."""
        import uvicorn

        settings = self.settings
        port = _free_port(settings.host, settings.port)
        target: Any = "stopwise.serve.launch:app"
        if settings.workers > 1:
            os.environ[VARIABLE] = json.dumps(asdict(self))
            self.host().worker.close()  # an error is reported once, a new cascade is created once
        else:
            target = self.app()
        names = [*settings.cascades, *filter(None, [self.cascade.get("name")])]
        address = f"[{settings.host}]" if ":" in settings.host else settings.host
        say(f"http://{address}:{port} serves {', '.join(names) or 'what its store has'}")
        uvicorn.run(
            target,
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
        with socket.create_server((host, port), family=family) as server:
            return int(server.getsockname()[1])
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise SettingError(f"port {port} is in use: --port 0 takes a free one") from None
        raise SettingError(f"cannot listen: {error.strerror}") from None


def app() -> Any:
    """Return the application that the environment describes; uvicorn calls this."""
    try:
        arguments = json.loads(os.environ[VARIABLE])
    except KeyError:
        raise SettingError(f"{VARIABLE} is not set: start the server with stopwise serve") from None
    return Launch(**arguments).app()


class JsonLines(logging.Formatter):
    """Format log records as JSON, one per line.

    >>> record = logging.LogRecord("stopwise", logging.INFO, "", 0, "started", (), None)
    >>> json.loads(JsonLines().format(record))["message"]
    'started'
    """

    def format(self, record: logging.LogRecord) -> str:
        """Return one line."""
        fields = {
            "at": round(record.created, 3),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **getattr(record, "fields", {}),
        }
        if record.exc_info:
            fields["exception"] = self.formatException(record.exc_info)
        return json.dumps(fields, default=str)
