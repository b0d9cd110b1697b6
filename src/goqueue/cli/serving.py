"""Running a broker until it is told to stop, with what `goqueue server` was given."""

import asyncio
import gc
import os
import shutil
import signal
import sys
from collections.abc import Mapping, Sequence

import uvloop

from goqueue import __version__, codec
from goqueue.adapters.telemetry.logs import configure_logs, get_logger
from goqueue.app.build import running_broker
from goqueue.app.settings import ListenSettings, Origins, Settings, load_settings

__all__ = ["FLAGS", "plain_flags", "run_server", "welcome"]

LOOPBACKS = {"0.0.0.0": "127.0.0.1", "[::]": "[::1]", "::": "[::1]"}

FLAGS: Mapping[str, str] = {
    "--data": "data",
    "--http": "listen.http",
    "--native": "listen.native",
    "--grpc": "listen.grpc",
    "--schemas": "listen.schemas",
    "--log-level": "log.level",
    "--log-format": "log.format",
    "--config": "config",
}
"""Which setting each flag is for; `config` is none, but the file with the others."""


def plain_flags(arguments: Sequence[str]) -> dict[str, str] | None:
    """The arguments when they are nothing but known flags with their values; None for Typer to look at them.

    Typer, with all that it loads, takes longer to start than the broker itself, and stays in memory as long.
    """
    found: dict[str, str] = {}
    rest = iter(arguments)
    for argument in rest:
        name, equals, value = argument.partition("=")
        if not equals:
            value = next(rest, "-")
        if name not in FLAGS or value.startswith("-"):
            return None
        found[FLAGS[name]] = value
    return found


def run_server(flags: Mapping[str, str | None]) -> None:
    """Returns when the broker was told to stop, and has."""
    given = dict(flags)
    config = given.pop("config", None)
    settings, origins = load_settings(config, flags=given)
    configure_logs(settings.log.format, settings.log.level)
    uvloop.run(_serve(settings, origins))


async def _serve(settings: Settings, origins: Origins) -> None:
    logger = get_logger()
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
            **({"schemas": f"http://{running.schemas}"} if running.schemas else {}),
            data=os.path.realpath(settings.data),
            version=__version__,
            codec=codec.ACTIVE,
        )
        if sys.stderr.isatty():
            sys.stderr.write(welcome(running.http, running.native))
        await stop.wait()
        logger.info("stopping")
    logger.info("stopped")


def welcome(http: str, native: str) -> str:
    """What to open and what to try, for a person at a terminal."""
    at = f"http://{_reachable(http)}"
    name = "goqueue" if shutil.which("goqueue") else sys.argv[0]
    where = "" if _reachable(native) == ListenSettings().native else f" --server {_reachable(native)}"
    return (
        f"\n  open   {at}/console   and {at}/docs for the HTTP API\n"
        f"  try    {name}{where} topic create orders\n"
        f"         {name}{where} produce orders hello\n"
        f"         {name}{where} consume orders\n"
        f"  stop   Ctrl-C\n\n"
    )


def _reachable(address: str) -> str:
    """An address to connect to: one that listens everywhere is reached on this machine's loopback."""
    host, _, port = address.rpartition(":")
    return f"{LOOPBACKS.get(host, host)}:{port}"


def _avoid_pauses() -> None:
    """What is loaded by now stays, so the collector need not walk it; and a sync that is done is not to wait long."""
    gc.collect()
    gc.freeze()
    sys.setswitchinterval(0.0005)
