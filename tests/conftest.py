"""Settings shared by every test."""

import signal
from pathlib import Path

import pytest
from hypothesis import settings

# Shared machines stall for longer than any useful deadline; pytest-timeout ends what really hangs.
settings.register_profile("goqueue", deadline=None, print_blob=True)
settings.load_profile("goqueue")

SOURCES = Path(__file__).resolve().parents[1] / "src"


def pytest_configure() -> None:
    """Python takes a compiled module in place of its source, also when that was changed since."""
    for compiled in SOURCES.rglob("*.so"):
        stem = compiled.with_name(compiled.name.partition(".")[0])
        sources = [source for suffix in (".py", ".pyx", ".pxd") if (source := stem.with_suffix(suffix)).exists()]
        if any(source.stat().st_mtime > compiled.stat().st_mtime for source in sources):
            pytest.exit(f"{stem.relative_to(SOURCES)} was changed after it was compiled: run `make setup`", 2)


# A shell that runs the tests in the background has them ignore SIGINT, and every process that they start as well: those
# that are interrupted as by Ctrl-C would go on for ever.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
