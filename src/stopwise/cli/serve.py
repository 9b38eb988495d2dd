"""``stopwise serve`` answers for cascades over HTTP."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from stopwise.checks import finite_number
from stopwise.cli.number_options import numbers
from stopwise.errors import SettingError
from stopwise.extras import load_extra

_option = partial(typer.Option, show_default=False)


def serve(
    config: Annotated[
        Path | None,
        typer.Argument(help="The server and its cascades in TOML.", show_default=False),
    ] = None,
    host: Annotated[str, _option(help="The address to listen on, 127.0.0.1 by default.")] = "",
    port: Annotated[int | None, _option(help="The port, 8080 by default.")] = None,
    store: Annotated[
        str, _option(help="The URL of the store, sqlite:///stopwise.db by default.")
    ] = "",
    tokens: Annotated[bool, _option("--tokens", help="Ask every request for a token.")] = False,
    name: Annotated[str, _option(help="Without a file: the name of one cascade.")] = "",
    costs: Annotated[
        str, _option(help="Without a file: what each test costs, as in 6,16,24.")
    ] = "",
    mistake_cost: Annotated[
        float | None,
        _option(help="Without a file: what a wrong answer costs."),
    ] = None,
    workers: Annotated[int | None, _option(help="Processes on one store.")] = None,
    log_requests: Annotated[bool, _option("--log-requests", help="Log requests as JSON.")] = False,
    new_token: Annotated[
        str, _option(help="Make a token for read, tell or admin, print it once, and end.")
    ] = "",
) -> None:
    """Serve cascades over HTTP, with a dashboard.

    stopwise serve triage.toml

    stopwise serve --name triage --costs 0,1,12 --mistake-cost 200
    """
    for module in ("starlette", "msgspec", "uvicorn"):
        load_extra(module, extra="serve", purpose="stopwise serve")
    from stopwise.serve.launch import Launch

    options = {
        "host": host,
        "port": port,
        "store": store,
        "tokens": tokens or None,
        "workers": workers,
        "log_requests": log_requests or None,
    }
    changes = {key: value for key, value in options.items() if value not in (None, "")}
    cascade: dict[str, Any] = {}
    if name or costs or mistake_cost is not None:
        if not (name and costs and mistake_cost is not None):
            raise SettingError("--name, --costs and --mistake-cost are needed together")
        cascade = {
            "name": name,
            "costs": numbers("--costs", costs),
            "mistake_cost": finite_number("--mistake-cost", mistake_cost, SettingError, zero=False),
        }
    launch = Launch("" if config is None else str(config), changes, cascade)
    if new_token:
        typer.echo(launch.new_token(new_token))
        return
    launch.run(typer.echo)
