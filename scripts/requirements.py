"""Requirements of the broker, and of the extras that are named, as pyproject.toml has them: one a line, for pip.

Installing them without the project itself lets its modules be compiled meanwhile, and only once.
"""

import re
import sys
import tomllib
from pathlib import Path

OWN_EXTRAS = re.compile(r"goqueue\[(.+)\]")


def requirements(project: dict[str, dict[str, list[str]]], extras: list[str]) -> list[str]:
    found = list(project["dependencies"])
    waiting = list(extras)
    while waiting:
        for requirement in project["optional-dependencies"][waiting.pop()]:
            own = OWN_EXTRAS.fullmatch(requirement)
            if own:
                waiting += own.group(1).split(",")
            else:
                found.append(requirement)
    return found


if __name__ == "__main__":
    project = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))["project"]
    print("\n".join(requirements(project, sys.argv[1:])))
