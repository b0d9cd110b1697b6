"""Third-party packages: what is imported is declared where it is imported, and what is declared is imported."""

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from importlib.metadata import distributions
from pathlib import Path, PurePosixPath

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ROOT / "src"
OWN = {"goqueue", "pyspark_goqueue"}
BROKER = ""
HOMES = {
    "arrow": ("goqueue/codec/arrow.py",),
    "otlp": ("goqueue/adapters/telemetry/otlp_spans.py", "goqueue/adapters/telemetry/span_export.py"),
    "spark": ("goqueue/spark/", "goqueue/cli/pipelines/", "pyspark_goqueue/"),
}
"""Where the packages of an extra may be imported: modules that are loaded only for what it brings."""
NOT_IMPORTED = {
    "httptools": "uvicorn's parser of HTTP, imported through uvicorn by gateways/http/connection.py",
    "tzdata": "zones of schedules, on machines that have none of their own: read by zoneinfo",
}
WITH_OTHERS = {
    "opentelemetry-api": "comes with opentelemetry-sdk",
    "py4j": "comes with pyspark",
    "pandas": "comes with Spark's own extras",
    "click": "comes with typer",
    "numpy": "comes with pyarrow and with matplotlib",
}


def declared() -> dict[str, set[str]]:
    """Names of distributions: those of the broker under "", those of an extra under its name."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    groups = {BROKER: project["dependencies"], **project["optional-dependencies"]}
    return {group: {name_of(requirement) for requirement in listed} for group, listed in groups.items()}


def name_of(requirement: str) -> str:
    return re.match(r"[\w.-]+", requirement).group().lower().replace("_", "-").replace(".", "-")


def group_of(module: str) -> str:
    """The extra that a module of ours is part of; none for most."""
    return next((extra for extra, homes in HOMES.items() if module.startswith(homes)), BROKER)


@cache
def imported() -> dict[str, dict[str, list[str]]]:
    """By the extra that they are part of: distributions that modules of ours import, and which modules do."""
    found: dict[str, dict[str, list[str]]] = {group: {} for group in (BROKER, *HOMES)}
    for path in sorted(PACKAGES.rglob("*.py")):
        module = path.relative_to(PACKAGES).as_posix()
        for name in sorted(set(names_in(ast.parse(path.read_text())))):
            if name.partition(".")[0] not in sys.stdlib_module_names | OWN:
                found[group_of(module)].setdefault(distribution_of(name), []).append(module)
    return found


def names_in(tree: ast.Module) -> Iterator[str]:
    """Full names of modules; `from google import protobuf` names `google.protobuf`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module is not None:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def distribution_of(name: str) -> str:
    """Several may share a namespace, such as google or opentelemetry: the nearest package of only one of them tells."""
    parts = name.split(".")
    for length in range(len(parts), 0, -1):
        found = owners().get("/".join(parts[:length]), set())
        if len(found) == 1:
            return next(iter(found))
    return parts[0]


@cache
def owners() -> dict[str, set[str]]:
    """Distributions by the modules, packages and namespaces in which they have files."""
    found: dict[str, set[str]] = {}
    for distribution in distributions():
        name = name_of(distribution.metadata["Name"])
        for path in map(PurePosixPath, distribution.files or ()):
            if path.suffix in {".py", ".so", ".pyd"}:
                for place in (path.with_name(path.name.partition(".")[0]), *path.parents):
                    found.setdefault(str(place), set()).add(name)
    return found


@pytest.mark.parametrize("group", [BROKER, *HOMES])
def test_what_is_imported_is_declared_by_the_broker_or_by_the_extra_that_it_is_part_of(group):
    known = declared()[BROKER] | declared()[group] | WITH_OTHERS.keys()
    assert {name: users[:3] for name, users in imported()[group].items() if name not in known} == {}


@pytest.mark.parametrize("group", [BROKER, *HOMES])
def test_what_is_declared_is_imported_by_what_declares_it(group):
    used = set(imported()[group]) | NOT_IMPORTED.keys()
    if group == BROKER:
        used = used.union(*imported().values())
    assert declared()[group] - used == set()


def test_what_others_import_for_us_is_declared():
    assert NOT_IMPORTED.keys() - declared()[BROKER] == set()


def test_each_extra_of_the_package_is_looked_at():
    # What executors load is looked at by tests/packaging/test_executor.py.
    assert declared().keys() - {"dev", "test", "peers", "executor"} == {BROKER, *HOMES}
