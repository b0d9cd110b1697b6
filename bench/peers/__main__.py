"""`python -m bench.peers`: measure GoQueue and its peers side by side; tables, JSON, a plot and a page."""

import argparse
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
from rich.console import Console
from rich.markup import escape

from bench.peers.arena import Arena, open_arena
from bench.peers.installing import install_clients, install_servers
from bench.peers.machine import client_versions, facts
from bench.peers.measuring import Measuring
from bench.peers.million import fill_and_restart
from bench.peers.page import write_page
from bench.peers.plot import draw
from bench.peers.pool import Pool
from bench.peers.report import document_of, print_document, save
from bench.peers.rounds import find_processes, run_rounds
from bench.peers.targets import Kind, named
from bench.peers.workloads import FULL, QUICK, Plan, workloads
from bench.report import RESULTS

LATEST = RESULTS / "peers-latest.json"
QUICK_LATEST = RESULTS / "peers-quick.json"
IMAGE = Path("docs/images/peers.png")
PAGE = Path("docs/operations/peers.md")


def main() -> int:
    given = _parser().parse_args()
    console = Console(width=max(150, Console().width))
    # Ended by a signal, it still ends what it has started.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    plan = QUICK if given.quick else FULL
    if given.rounds:
        plan = msgspec.structs.replace(plan, rounds=given.rounds)
    kinds = tuple(Kind(one) for one in given.only) if given.only else tuple(Kind)
    targets = named(given.peers)
    install_clients(console.print)
    install_servers(targets, console.print)
    machine = facts()
    begun = time.monotonic()
    try:
        with console.status("starting brokers") as status, open_arena(targets, console.print) as arena:
            show = status.update if console.is_terminal else console.print
            document = _measure(arena, plan, kinds, machine, lambda text: show(_clock(begun, text)))
    except KeyboardInterrupt:
        console.print("interrupted; all brokers are ended")
        return 130
    document["took_s"] = round(time.monotonic() - begun)
    print_document(document, console)
    out = given.out or (QUICK_LATEST if given.quick else LATEST)
    save(document, out)
    console.print(f"{document['took_s']} s; saved to {out}")
    if not given.quick and not given.out and not given.only and not given.peers:
        draw(document, out.with_suffix(".png"))
        draw(document, IMAGE)
        write_page(document, PAGE)
        console.print(f"{out.with_suffix('.png')}, {IMAGE} and {PAGE} are new as well")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench.peers", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="within 4 minutes: fewer cells, rounds and records")
    kinds = ", ".join(Kind)
    parser.add_argument("--only", nargs="+", metavar="KIND", choices=list(Kind), help=f"some workloads: {kinds}")
    parser.add_argument("--peers", nargs="+", metavar="NAME", help="beside ours only these: redis, nats-safe, …")
    parser.add_argument("--rounds", type=int, help="instead of what the plan has")
    parser.add_argument("--out", type=Path, help=f"JSON file; {LATEST} unless told otherwise")
    return parser


def _clock(begun: float, text: str) -> str:
    return f"{time.monotonic() - begun:4.0f} s  {escape(text)}"


def _measure(arena: Arena, plan: Plan, kinds: Sequence[Kind], machine: Any, show: Any) -> dict[str, Any]:
    pool = Pool(arena.folder)
    try:
        measuring = Measuring(arena, pool, plan)
        processes = find_processes(measuring, arena.targets, plan, show)
        samples = run_rounds(measuring, arena, workloads(plan, kinds), plan, show)
        if Kind.MILLION in kinds:
            samples += fill_and_restart(arena, pool, measuring, plan, show)
    finally:
        pool.close()
    for target in arena.targets:
        used = [measuring.processes_for(target, batch) for batch in (1, 100)]
        processes.setdefault(target.name, {})["used"] = used
    about = {
        "command": "python -m bench.peers " + " ".join(sys.argv[1:]),
        "plan": msgspec.to_builtins(plan),
        "client_processes": processes,
        "left_out": arena.missing,
        "half_rate": measuring.half_rate,
    }
    versions = {"servers": arena.versions(), "clients": client_versions()}
    return document_of(samples, arena.targets, machine=machine, versions=versions, about=about)


if __name__ == "__main__":
    sys.exit(main())
