"""`goqueue server`: run a broker until it is told to stop."""

from pathlib import Path
from typing import Annotated

import typer

from goqueue.cli.serving import run_server

__all__ = ["server"]


def server(
    data: Annotated[str | None, typer.Option(help="Folder for everything the broker keeps.")] = None,
    http: Annotated[str | None, typer.Option(metavar="HOST:PORT", help="Where to serve HTTP.")] = None,
    native: Annotated[str | None, typer.Option(metavar="HOST:PORT", help="Where to serve native clients.")] = None,
    grpc: Annotated[
        str | None, typer.Option(metavar="HOST:PORT", help="Where to serve gRPC; empty for nowhere.")
    ] = None,
    schemas: Annotated[
        str | None, typer.Option(metavar="HOST:PORT", help="Where to serve the schema registry alone, at the root.")
    ] = None,
    config: Annotated[Path | None, typer.Option(help="TOML file with settings.")] = None,
    log_level: Annotated[str | None, typer.Option(help="debug, info, warning or error.")] = None,
    log_format: Annotated[str | None, typer.Option(help="auto, json or console.")] = None,
) -> None:
    """Run a broker until it is told to stop (Ctrl-C or SIGTERM).

    Settings come from the file, then GOQUEUE_… in the environment, then flags.

    Example: goqueue server --data /var/lib/goqueue --http 0.0.0.0:8080
    """
    run_server(
        {
            "data": data,
            "listen.http": http,
            "listen.native": native,
            "listen.grpc": grpc,
            "listen.schemas": schemas,
            "config": None if config is None else str(config),
            "log.level": log_level,
            "log.format": log_format,
        }
    )
