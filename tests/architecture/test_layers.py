"""The import contracts hold, and they can fail."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def lint_imports(folder: Path) -> subprocess.CompletedProcess[str]:
    """Runs the contracts of `folder`/pyproject.toml on the sources in `folder`/src, wherever goqueue is installed."""
    code = (
        "import sys; sys.path.insert(0, 'src')\n"
        "from importlinter.cli import lint_imports_command\n"
        "lint_imports_command(['--no-cache'])"
    )
    return subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=False)


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__", "*.so", "*.egg-info"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def add(copy: Path, module: str, code: str) -> None:
    path = copy / "src" / "goqueue" / module
    path.parent.mkdir(parents=True, exist_ok=True)
    for folder in (path.parent, path.parent.parent):
        (folder / "__init__.py").touch()
    path.write_text(code)


def test_every_contract_is_kept() -> None:
    result = lint_imports(ROOT)
    assert result.returncode == 0, result.stdout + result.stderr


def test_an_untouched_copy_keeps_every_contract(copy: Path) -> None:
    result = lint_imports(copy)
    assert result.returncode == 0, result.stdout + result.stderr


@pytest.mark.parametrize(
    ("module", "code", "contract"),
    [
        ("model/wrong.py", "import goqueue.adapters.wrong", "imports point down"),
        ("engine/wrong.py", "import goqueue.adapters.wrong", "imports point down"),
        ("gateways/wrong.py", "import goqueue.adapters.wrong", "imports point down"),
        ("newcomer.py", "", "imports point down"),
        ("app/wrong.py", "import goqueue.offline.wrong", "imports point down"),
        ("offline/wrong.py", "import goqueue.app.wrong", "imports point down"),
        ("offline/wrong.py", "import goqueue.spark.wrong", "imports point down"),
        ("adapters/wrong.py", "import goqueue.offline.wrong", "imports point down"),
        ("client/wrong.py", "import goqueue.engine.wrong", "client knows no server code"),
        ("client/wrong.py", "import goqueue.offline.wrong", "client knows no server code"),
        ("spark/wrong.py", "import goqueue.core.wrong", "Spark knows no server code"),
        ("spark/wrong.py", "import goqueue.app.wrong", "Spark knows no server code"),
        ("spark/wrong.py", "import goqueue.offline.repair.repair", "Spark knows no server code"),
        ("core/wrong.py", "import goqueue.core.other", "State machines do not know each other"),
        ("gateways/wrong.py", "import goqueue.gateways.other", "Gateways do not know each other"),
        ("adapters/wrong.py", "import goqueue.adapters.other", "Adapters do not know each other"),
        ("core/wrong.py", "import time", "Core has no clock"),
        ("core/delivery/wrong.py", "from os import path", "Core has no clock"),
        ("core/wrong.py", "def f() -> None:\n    import asyncio", "Core has no clock"),
    ],
)
def test_a_wrong_import_is_caught(copy: Path, module: str, code: str, contract: str) -> None:
    for package in ("core", "engine", "gateways", "adapters", "app", "offline", "spark"):
        add(copy, f"{package}/other.py", "")
        add(copy, f"{package}/wrong.py", "")
    add(copy, module, code)
    result = lint_imports(copy)
    assert result.returncode == 1, result.stdout + result.stderr
    broken = [line for line in result.stdout.splitlines() if " BROKEN" in line]
    assert any(contract in line for line in broken), result.stdout
