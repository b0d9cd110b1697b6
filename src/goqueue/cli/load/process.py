"""One process of a load: connects, says so, waits for the word, then tells how far it is until it is done."""

import asyncio
import sys

import msgspec
import uvloop

from goqueue.cli.load.kinds import LOADS, parties
from goqueue.cli.load.plan import Plan
from goqueue.cli.load.run import Run
from goqueue.cli.waiting import in_thread
from goqueue.errors import GoQueueError

__all__ = ["main"]

TELL_EVERY_S = 0.25
LOOK_EVERY_S = 0.01


async def _run(plan: Plan) -> None:
    run = Run(plan)
    work = asyncio.ensure_future(LOADS[plan.kind](run))
    while not work.done() and run.waiting < parties(plan):
        await asyncio.wait([work], timeout=LOOK_EVERY_S)
    if not work.done():
        _tell({"ready": True})
        await in_thread(sys.stdin.readline)
    run.begin()
    while not work.done():
        await asyncio.wait([work], timeout=TELL_EVERY_S)
        _tell({"progress": run.progress})
    await work
    _tell({"summary": run.summary})


def _tell(what: object) -> None:
    sys.stdout.buffer.write(msgspec.json.encode(what) + b"\n")
    sys.stdout.buffer.flush()


def main() -> int:
    plan = msgspec.json.decode(sys.argv[1], type=Plan)
    try:
        uvloop.run(_run(plan))
    except GoQueueError as error:
        _tell({"error": error.code, "message": error.message, "hint": error.hint})
        return 1
    except (KeyboardInterrupt, BrokenPipeError):
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
