"""Where `goqueue` begins: what is asked for most is answered without loading the rest."""

import gc
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
        if given[:1] == ["server"]:
            return _serve(given)
        from goqueue.cli.frame import run

        return run([*given[1:], "--help"] if given[:1] == ["help"] else given)
    except KeyboardInterrupt:
        return 130


def _serve(given: Sequence[str]) -> int:
    # What is loaded stays: looking through all of it for garbage, again and again, takes a tenth of the start.
    gc.disable()
    try:
        from goqueue.cli.serving import plain_flags, run_server
    finally:
        gc.freeze()
        gc.enable()
    flags = plain_flags(given[1:])
    if flags is None:
        from goqueue.cli.frame import run

        return run(given)
    try:
        run_server(flags)
    except Exception as error:
        from goqueue.cli.failures import exit_code_of, is_failure, print_failure

        if not is_failure(error):
            raise
        print_failure(error)
        return exit_code_of(error)
    return 0
