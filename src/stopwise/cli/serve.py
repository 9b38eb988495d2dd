"""``stopwise serve`` answers for cascades over HTTP."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from stopwise.errors import MissingExtraError, SettingError
from stopwise.lists import comma_separated
from stopwise.serve.settings import ServerSettings, load_settings

_Config = Annotated[
    Path | None,
    typer.Argument(help="The server and its cascades in TOML.", show_default=False),
]
_Host = Annotated[str, typer.Option(help="The address to listen on.")]
_Port = Annotated[int, typer.Option(help="The port.")]
_Store = Annotated[str, typer.Option(help="The URL of the store.")]
_Name = Annotated[str, typer.Option(help="Without a file: the name of one cascade.")]
_Costs = Annotated[str, typer.Option(help="Without a file: what each test costs, as in 6,16,24.")]
_MistakeCost = Annotated[float, typer.Option(help="Without a file: what a wrong answer costs.")]
_NewToken = Annotated[
    str, typer.Option(help="Make a token for read, tell or admin, print it once, and end.")
]


def serve(
    config: _Config = None,
    host: _Host = "",
    port: _Port = -1,
    store: _Store = "",
    name: _Name = "",
    costs: _Costs = "",
    mistake_cost: _MistakeCost = 0.0,
    new_token: _NewToken = "",
) -> None:
    """Serve cascades over HTTP, with a dashboard.

    stopwise serve triage.toml

    stopwise serve --name triage --costs 0,1,12 --mistake-cost 200
    """
    try:
        import uvicorn
    except ImportError:
        raise MissingExtraError("stopwise serve needs uvicorn: pip install '.[serve]'") from None
    given = {"host": host, "port": port if port >= 0 else None, "store": store}
    changes = {key: value for key, value in given.items() if value not in (None, "")}
    settings = replace(load_settings(config) if config else ServerSettings(), **changes)  # type: ignore[arg-type]
    from stopwise.serve.app import create_app
    from stopwise.serve.hosting import Host

    hosted = Host(settings.store, settings.cascades)
    if new_token:
        typer.echo(hosted.tokens.create(new_token))
        return
    if name and name not in hosted.names:
        if not costs or mistake_cost <= 0:
            raise SettingError("--name needs --costs and --mistake-cost")
        prices = [float(cost) for cost in comma_separated(costs)]
        hosted.create(name, costs=prices, mistake_cost=mistake_cost)
    served = ", ".join(hosted.names) or "no cascade yet"
    typer.echo(f"http://{settings.host}:{settings.port} serves {served}")
    app = create_app(hosted, needs_token=settings.tokens)
    uvicorn.run(
        app,
        host=settings.host,
        port=settings.port,
        log_level="warning",
        access_log=False,
        timeout_graceful_shutdown=10,
    )
