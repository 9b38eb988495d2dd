"""``stopwise serve`` answers for cascades over HTTP."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from stopwise.errors import MissingExtraError, SettingError
from stopwise.lists import comma_separated
from stopwise.serve.running import Launch

_Config = Annotated[
    Path | None,
    typer.Argument(help="The server and its cascades in TOML.", show_default=False),
]
_Host = Annotated[str, typer.Option(help="The address to listen on, 127.0.0.1 by default.")]
_Port = Annotated[int, typer.Option(help="The port, 8080 by default.", show_default=False)]
_Store = Annotated[
    str, typer.Option(help="The URL of the store, sqlite:///stopwise.db by default.")
]
_Tokens = Annotated[bool, typer.Option("--tokens", help="Ask every request for a token.")]
_Name = Annotated[str, typer.Option(help="Without a file: the name of one cascade.")]
_Costs = Annotated[str, typer.Option(help="Without a file: what each test costs, as in 6,16,24.")]
_MistakeCost = Annotated[
    float,
    typer.Option(help="Without a file: what a wrong answer costs.", show_default=False),
]
_Workers = Annotated[int, typer.Option(help="Processes on one store.", show_default=False)]
_LogRequests = Annotated[bool, typer.Option("--log-requests", help="Log requests as JSON.")]
_NewToken = Annotated[
    str, typer.Option(help="Make a token for read, tell or admin, print it once, and end.")
]


def serve(
    config: _Config = None,
    host: _Host = "",
    port: _Port = -1,
    store: _Store = "",
    tokens: _Tokens = False,
    name: _Name = "",
    costs: _Costs = "",
    mistake_cost: _MistakeCost = 0.0,
    workers: _Workers = 0,
    log_requests: _LogRequests = False,
    new_token: _NewToken = "",
) -> None:
    """Serve cascades over HTTP, with a dashboard.

    stopwise serve triage.toml

    stopwise serve --name triage --costs 0,1,12 --mistake-cost 200
    """
    try:
        import starlette  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError:
        raise MissingExtraError("stopwise serve needs uvicorn: pip install '.[serve]'") from None
    given = {
        "host": host,
        "port": port if port >= 0 else None,
        "store": store,
        "tokens": tokens or None,
        "workers": workers or None,
        "log_requests": log_requests or None,
    }
    changes = {key: value for key, value in given.items() if value not in (None, "")}
    cascade = {}
    if name or costs or mistake_cost:
        if not (name and costs and mistake_cost):
            raise SettingError("--name, --costs and --mistake-cost are needed together")
        try:
            prices = [float(cost) for cost in comma_separated(costs)]
        except ValueError:
            raise SettingError(f"--costs must look like 6,16,24, got {costs!r}") from None
        cascade = {"name": name, "costs": prices, "mistake_cost": mistake_cost}
    launch = Launch("" if config is None else str(config), changes, cascade)
    if new_token:
        typer.echo(launch.new_token(new_token))
        return
    settings = launch.settings
    served = ", ".join([*settings.cascades, *filter(None, [name])]) or "what its store has"
    typer.echo(f"http://{settings.host}:{settings.port} serves {served}")
    launch.run()
