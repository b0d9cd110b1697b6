"""Third-party packages: what is imported is declared, and what is declared is imported."""

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import packages_distributions
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ROOT / "src"
OWN = {"goqueue", "pyspark_goqueue"}
NOT_IMPORTED = {
    "httptools": "uvicorn's parser of HTTP, imported through uvicorn by gateways/http/connection.py",
    "tzdata": "zones of schedules, on machines that have none of their own: read by zoneinfo",
}
WITH_OTHERS = {
    "google": "namespace of protobuf, and of googleapis-common-protos, which comes with what uses it",
    "py4j": "comes with pyspark",
    "pandas": "comes with Spark's own extras",
    "click": "comes with uvicorn and with typer",
    "numpy": "comes with matplotlib and with pyspark",
}


def declared() -> dict[str, set[str]]:
    """Names of distributions: those of the broker under "", those of an extra under its name."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    groups = {"": project["dependencies"], **project["optional-dependencies"]}
    return {group: {name_of(requirement) for requirement in listed} for group, listed in groups.items()}


def name_of(requirement: str) -> str:
    return re.match(r"[\w.-]+", requirement).group().lower().replace("_", "-").replace(".", "-")


def imported() -> dict[str, set[str]]:
    """Top-level names of third parties, and the modules that import them."""
    found: dict[str, set[str]] = {}
    for path in PACKAGES.rglob("*.py"):
        for name in names_in(ast.parse(path.read_text())):
            top = name.partition(".")[0]
            if top not in sys.stdlib_module_names and top not in OWN:
                found.setdefault(top, set()).add(str(path.relative_to(PACKAGES)))
    return found


def names_in(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module is not None:
            yield node.module


def distributions(name: str) -> set[str]:
    return {name_of(one) for one in packages_distributions().get(name, [name])}


def test_what_is_imported_is_declared():
    known = set().union(*(listed for group, listed in declared().items() if group not in {"dev", "test", "peers"}))
    missing = {name: users for name, users in imported().items() if not distributions(name) & known}
    assert {name: sorted(users)[:3] for name, users in missing.items() if name not in WITH_OTHERS} == {}


def test_what_is_declared_is_imported():
    used = {one for name in imported() for one in distributions(name)}
    unused = {one for group in ("", "arrow", "otlp", "spark") for one in declared()[group] - used}
    assert unused - NOT_IMPORTED.keys() == set()
