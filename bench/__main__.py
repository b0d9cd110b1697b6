"""`python -m bench`: run the groups of measurements, print tables, save JSON."""

import argparse
import importlib
import sys

from rich.console import Console

from bench.report import Row, machine_facts, print_rows, save_rows

USUAL = ("codec", "storage", "broker", "grpc", "groups", "queue", "single", "delays", "transactions", "schemas")
GROUPS = (*USUAL, "tracing", "growth", "state", "spark")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument(
        "groups",
        nargs="*",
        metavar="GROUP",
        help=f"which to run: {', '.join(GROUPS)}; all but tracing, growth, state and spark when none is named",
    )
    parser.add_argument("--quick", action="store_true", help="smaller inputs, fewer rounds")
    parser.add_argument(
        "--against", metavar="SOURCES", help="single, state: the `src` of another version, measured beside it"
    )
    arguments = parser.parse_args()
    unknown = set(arguments.groups) - set(GROUPS)
    if unknown:
        parser.error(f"no such group: {', '.join(sorted(unknown))}; there are {', '.join(GROUPS)}")
    console = Console(width=max(120, Console().width))
    facts = machine_facts()
    results: dict[str, list[Row]] = {}
    for group in arguments.groups or USUAL:
        console.print(f"[dim]measuring {group} …")
        beside = {"against": arguments.against} if group in ("single", "state") else {}
        results[group] = importlib.import_module(f"bench.bench_{group}").run(quick=arguments.quick, **beside)
        print_rows(group, results[group], console)
    if not arguments.quick:
        console.print(f"saved to {save_rows(results, facts)}")
    missed = [one["name"] for rows in results.values() for one in rows if one.get("ok") is False]
    if missed:
        console.print(f"[red]{len(missed)} target(s) missed: {', '.join(missed)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
