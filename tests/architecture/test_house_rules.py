"""Rules about the files themselves: nothing about one machine, a sentence per module, no reminders in the sources."""

import ast
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCES = sorted((ROOT / "src" / "goqueue").rglob("*.py"))

# Written in pieces so that this file does not match itself.
REGISTRY = re.compile(
    "|".join(["pypi" + r"\.org", "python" + r"hosted\.org", "--(extra-)?" + "index-url", "find" + "-links"])
)
MACHINE_PATH = re.compile(
    r"(?<![\w.$}~-])/(" + "|".join(["root", "work", r"home/\w+", r"Users/\w+", "opt/py" + "pi"]) + r")\b(?!\w)"
)
REMINDER = re.compile(r"\b(TO" + "DO|FIX" + "ME|X" + r"XX)\b")


def tracked_files() -> list[Path]:
    listing = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=False,
    )
    if listing.returncode != 0:
        pytest.skip("not a git checkout")
    return [ROOT / name for name in listing.stdout.decode().split("\0") if name and (ROOT / name).is_file()]


def matches(pattern: re.Pattern[str], files: list[Path]) -> list[str]:
    found = []
    for path in files:
        try:
            lines = path.read_text(encoding="utf-8").splitlines()
        except UnicodeDecodeError:
            continue
        found += [
            f"{path.relative_to(ROOT)}:{n}: {line.strip()}" for n, line in enumerate(lines, 1) if pattern.search(line)
        ]
    return found


def test_no_file_names_a_package_registry() -> None:
    assert matches(REGISTRY, tracked_files()) == []


def test_no_file_holds_a_path_of_one_machine() -> None:
    assert matches(MACHINE_PATH, tracked_files()) == []


def test_the_sources_hold_no_reminders() -> None:
    sources = [p for p in (ROOT / "src").rglob("*") if p.suffix in {".py", ".pyx", ".pxd", ".pyi", ".h"}]
    assert matches(REMINDER, sources) == []


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: str(p.relative_to(ROOT)))
def test_every_module_says_what_it_is_for(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert not text.strip() or ast.get_docstring(ast.parse(text)), "the module has no docstring"


def test_the_core_package_itself_holds_no_code() -> None:
    """The contract on core names the state machines inside it, so nothing may hide in the package's own file."""
    own = ROOT / "src" / "goqueue" / "core" / "__init__.py"
    body = ast.parse(own.read_text(encoding="utf-8")).body if own.exists() else []
    assert all(isinstance(node, ast.Expr) for node in body)
