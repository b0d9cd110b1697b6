"""Requirements of executors: `python -m goqueue.spark.executor` prints them in the versions that are installed here.

They are the extra `executor`. An extra adds to what a package needs, and a broker needs much more than tasks do: so
executors install GoQueue without its dependencies, and these.
"""

import re
import sys
from importlib.metadata import PackageNotFoundError, requires, version

__all__ = ["requirements"]

_OF_EXECUTORS = re.compile(r"""(?P<name>[\w.-]+)[^;]*;\s*extra\s*==\s*["']executor["']""")


def requirements() -> list[str]:
    """One for each package, for pip."""
    found = (_OF_EXECUTORS.match(one) for one in requires("goqueue") or ())
    return sorted(_pinned(one["name"]) for one in found if one is not None)


def _pinned(name: str) -> str:
    try:
        return f"{name}=={version(name)}"
    except PackageNotFoundError:
        return name


if __name__ == "__main__":
    sys.stdout.write("\n".join(requirements()) + "\n")
