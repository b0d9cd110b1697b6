"""The command line of a module of loads, `python -m bench.MODULE LOAD ARGUMENTS`, as `put_load` calls it."""

import argparse
import json
from collections.abc import Callable, Coroutine
from typing import Any

import uvloop

__all__ = ["Load", "run_load"]

Load = Callable[..., Coroutine[Any, Any, Any]]


def run_load(*loads: Load) -> None:
    """Run the one that is asked for by its name, and print its figures as JSON."""
    by_name = {one.__name__: one for one in loads}
    parser = argparse.ArgumentParser()
    parser.add_argument("load", choices=by_name)
    parser.add_argument("arguments", help="JSON object with the load's arguments")
    given = parser.parse_args()
    print(json.dumps(uvloop.run(by_name[given.load](**json.loads(given.arguments)))))
