"""`python -m examples.shop`: the whole day, then the console until Ctrl-C."""

import argparse
import os
import signal
import sys
import threading
from contextlib import ExitStack, suppress
from pathlib import Path

from examples.shop import opening
from examples.shop.analyst import Analyst
from examples.shop.showing import Screen
from examples.shop.story import Story
from goqueue.errors import GoQueueError

FEWEST = 200
INTERRUPTED = 130


def main() -> int:
    wish = _wish()
    screen = Screen()
    # As Ctrl-C: what was started is stopped.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        _run(wish, screen)
    except KeyboardInterrupt:
        screen.bye(wish.folder)
        return INTERRUPTED
    except GoQueueError as error:
        screen.complain(f"{error.message}{f' ({error.hint})' if error.hint else ''}")
        return 1
    return 0


def _wish() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m examples.shop", description="A day at a shop, on a broker of its own."
    )
    parser.add_argument("--orders", type=int, default=2000, help=f"how many, at least {FEWEST}; 2000")
    parser.add_argument("--folder", type=Path, default=Path("demo-data"), help="for everything; ./demo-data")
    parser.add_argument("--no-wait", action="store_true", help="end when the report is written (or DEMO_WAIT=0)")
    parser.add_argument("--no-spark", action="store_true", help="leave out what Spark does")
    parser.add_argument("--free-ports", action="store_true", help="do not use 8080 and 7171, even if they are free")
    wish = parser.parse_args()
    if wish.orders < FEWEST:
        parser.error(f"--orders {wish.orders}: at least {FEWEST}, so that everything happens")
    wish.no_wait = wish.no_wait or os.environ.get("DEMO_WAIT") == "0"
    return wish


def _run(wish: argparse.Namespace, screen: Screen) -> None:
    folder = opening.fresh_folder(wish.folder)
    without_spark = "it was not wanted" if wish.no_spark else _why_no_spark()
    with ExitStack() as started:
        screen.begin(folder)
        with screen.act("Opening", "a broker of its own") as act:
            shop = started.enter_context(opening.running_broker(folder, usual_ports=not wish.free_ports))
            opening.open_shop(shop)
            act.tell(f"a broker at {shop.native}, 3 topics, 1 schema")
        with ExitStack() as spark:
            analyst = None if without_spark else spark.enter_context(Analyst(shop, folder))
            if without_spark:
                screen.complain(f"Spark is left out: {without_spark}")
            day, page = Story(shop, folder, screen, wish.orders).tell(analyst, without_spark)
        screen.end(day, shop, page)
        if not wish.no_wait:
            screen.wait()
            with suppress(KeyboardInterrupt):
                threading.Event().wait()
    screen.bye(folder)


def _why_no_spark() -> str:
    """Empty when nothing is in its way."""
    try:
        from goqueue.spark.session import check_java

        check_java()
    except ImportError as error:
        return f"{error.name} is not installed; pip install 'goqueue[spark]'"
    except GoQueueError as error:
        return f"{error.message}; {error.hint}"
    return ""


if __name__ == "__main__":
    sys.exit(main())
