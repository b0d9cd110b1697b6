"""`goqueue server`: run a broker until it is told to stop."""

import asyncio
import gc
import resource
import signal
import sys
from pathlib import Path
from typing import Annotated

import typer
import uvloop

from goqueue import __version__, codec
from goqueue.adapters.telemetry.logs import configure_logs, get_logger
from goqueue.app.build import running_broker
from goqueue.app.settings import Origins, Settings, load_settings

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
    flags = {
        "data": data,
        "listen.http": http,
        "listen.native": native,
        "listen.grpc": grpc,
        "listen.schemas": schemas,
        "log.level": log_level,
        "log.format": log_format,
    }
    settings, origins = load_settings(config, flags=flags)
    configure_logs(settings.log.format, settings.log.level)
    uvloop.run(_serve(settings, origins))


async def _serve(settings: Settings, origins: Origins) -> None:
    logger = get_logger()
    _allow_many_files()
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    async with running_broker(settings, origins) as running:
        _avoid_pauses()
        logger.info(
            "goqueue is serving",
            http=f"http://{running.http}",
            native=running.native,
            **({"grpc": running.grpc} if running.grpc else {}),
            **({"schemas": f"http://{running.schemas}"} if running.schemas else {}),
            data=str(Path(settings.data).resolve()),
            version=__version__,
            codec=codec.ACTIVE,
        )
        await stop.wait()
        logger.info("stopping")
    logger.info("stopped")


def _avoid_pauses() -> None:
    """What is loaded by now stays, so the collector need not walk it; and a sync that is done is not to wait long."""
    gc.collect()
    gc.freeze()
    sys.setswitchinterval(0.0005)


def _allow_many_files() -> None:
    """Each partition keeps a file open and each connection a socket: take what the system grants."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
