"""The settings of a server, and its configuration file in TOML."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from stopwise.checks import known_name, whole_number
from stopwise.errors import SettingError
from stopwise.runtime.config import Problems, cascade_settings, read_toml, store_url
from stopwise.store.worker import Durability

# Keys of a cascade that its table in the configuration of a server cannot have.
SET_ELSEWHERE = {
    "name": "the table is named after the cascade",
    "store": "all cascades are in the store of the server",
}


@dataclass(frozen=True)
class ServerSettings:
    """Where a server listens and what it serves.

    Parameters
    ----------
    host, port
        The address; another than the loopback interface is refused without ``tokens``.
    store
        The URL of the store; in a file ``env:NAME`` or ``file:PATH`` if it has a password.
    tokens
        Whether requests need a token.
    workers
        The number of processes; more than one need a store that they can share.
    durability
        What an acknowledged tell survives: ``memory`` nothing, ``process`` kill -9,
        ``disk`` loss of power too.
    journals
        The directory of journals on this host; without it, `Worker` chooses one.
    log_requests
        Whether to log every request, as JSON with its id.
    telemetry
        Whether each request is a span of OpenTelemetry (extra ``telemetry``).
    """

    host: str = "127.0.0.1"
    port: int = 8080
    store: str = "sqlite:///stopwise.db"
    tokens: bool = False
    workers: int = 1
    durability: Durability = "process"
    journals: str = ""
    log_requests: bool = False
    telemetry: bool = False
    cascades: dict[str, dict[str, Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for names, kind, words in (
            (("host", "store", "journals"), str, "text"),
            (("tokens", "log_requests", "telemetry"), bool, "true or false"),
        ):
            for name in names:
                if not isinstance(getattr(self, name), kind):
                    raise SettingError(f"{name} must be {words}, got {getattr(self, name)!r}")
        whole_number("port", self.port, SettingError, least=0)
        if self.port > 65_535:
            raise SettingError(f"port must be at most 65535, got {self.port}")
        whole_number("workers", self.workers, SettingError, least=1)
        known_name("durability", self.durability, ["memory", "process", "disk"], SettingError)
        if not self.tokens and not is_loopback(self.host):
            raise SettingError(
                f"host {self.host!r} can be reached from outside: ask for tokens (tokens = true or "
                "--tokens), which stopwise serve --new-token makes, or listen on 127.0.0.1"
            )
        if self.workers > 1 and self.store == "memory://":
            raise SettingError("workers must be 1 with a store in memory, which cannot be shared")


def load_settings(path: Path) -> ServerSettings:
    """Return the settings in a TOML file, or raise with everything that is wrong."""
    table = read_toml(path)
    problems = Problems()
    names = {f.name for f in fields(ServerSettings)}
    problems.keys("the file", table, names)
    cascades = {}
    tables = table.pop("cascades", {})
    if not isinstance(tables, dict) or not all(isinstance(one, dict) for one in tables.values()):
        problems.add(f"the file: cascades must be tables [cascades.NAME], got {tables!r}")
        tables = {}
    for name, entry in tables.items():
        place = f"[cascades.{name}]"
        for key, reason in SET_ELSEWHERE.items():
            if key in entry:  # without its value, which may have a password
                problems.add(f"{place} must have no {key}: {reason}")
        cascades[name] = cascade_settings({"name": name, **entry}, place, problems)
    arguments = {key: value for key, value in table.items() if key in names}
    if isinstance(arguments.get("store"), str):
        url = arguments.pop("store")
        arguments |= problems.attempt("store", lambda: {"store": store_url(url)}) or {}
    settings = problems.attempt("the file", lambda: ServerSettings(**arguments, cascades=cascades))
    problems.raise_for(path)
    assert isinstance(settings, ServerSettings)
    return settings


def is_loopback(host: str) -> bool:
    """Whether an address can be reached only from this machine."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
