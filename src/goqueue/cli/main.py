"""Where `goqueue` begins: what is asked for most is answered without loading the rest."""

import sys
from collections.abc import Sequence

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit code."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    try:
        if given in (["version"], ["--version"]):
            # Loading Typer takes longer than everything else that this answer needs.
            from goqueue.cli.about import print_facts

            print_facts()
            return 0
        from goqueue.cli.frame import run

        return run(given)
    except KeyboardInterrupt:
        return 130
