"""Modules that are compiled with their types beside them are the same program as their sources."""

import ast
import importlib
import subprocess
import sys
from pathlib import Path

import pytest

from goqueue import codec

ROOT = Path(__file__).resolve().parents[2]
SOURCES = ROOT / "src"
TYPED = sorted(path.relative_to(SOURCES).with_suffix("") for path in SOURCES.rglob("*.pxd"))
ON_THE_WAY = [
    "tests/contract/test_storage.py",
    "tests/unit/client",
    "tests/unit/disk",
    "tests/unit/engine/test_acks_together.py",
    "tests/unit/engine/test_group_commit.py",
    "tests/unit/engine/test_joint_append.py",
    "tests/unit/engine/test_partition.py",
    "tests/unit/engine/test_tally.py",
    "tests/unit/engine/test_transactions.py",
    "tests/unit/ids/test_publish.py",
    "tests/unit/producers",
    "tests/unit/tracing",
    "tests/unit/wire",
]


def test_there_are_such_modules() -> None:
    assert len(TYPED) > 20


@pytest.mark.parametrize("module", TYPED, ids=str)
def test_no_function_is_within_a_coroutine_or_names_itself_within_another_one(module: Path) -> None:
    """Compiled, the two would hold each other, and no collector finds them: each call would leave them behind."""
    path = (SOURCES / module).with_suffix(".py")
    held = []
    for function in ast.walk(ast.parse(path.read_text())):
        if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        for inner in [one for one in ast.walk(function) if isinstance(one, ast.FunctionDef) and one is not function]:
            names = {one.id for one in ast.walk(inner) if isinstance(one, ast.Name)}
            if isinstance(function, ast.AsyncFunctionDef) or inner.name in names:
                held.append(f"{function.name}: {inner.name}")
    assert held == []


@pytest.mark.parametrize("module", TYPED, ids=str)
def test_types_stand_beside_a_source(module: Path) -> None:
    assert (SOURCES / module).with_suffix(".py").exists()


@pytest.mark.parametrize("module", TYPED, ids=str)
@pytest.mark.skipif(codec.ACTIVE != "compiled", reason="there is no compiler here")
def test_where_the_codec_is_compiled_so_are_they(module: Path) -> None:
    found = importlib.import_module(".".join(module.parts))
    assert found.__file__ is not None
    assert found.__file__.endswith(".so")


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_nothing_has_to_be_compiled() -> None:
    """The tests of what is on the way of a record, once more with the sources as they are."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "tests.plain_sources", "-p", "no:cacheprovider", *ON_THE_WAY]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-4000:]
