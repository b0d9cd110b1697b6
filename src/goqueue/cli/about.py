"""Which GoQueue this is, found out with as few imports as possible."""

import platform

from goqueue import __version__

__all__ = ["facts", "print_facts"]


def facts() -> dict[str, str]:
    from goqueue.codec import ACTIVE

    return {"version": __version__, "python": platform.python_version(), "codec": ACTIVE}


def print_facts() -> None:
    for name, value in facts().items():
        print(f"{'goqueue' if name == 'version' else name:8} {value}")
