"""Whoever installs the package has the whole console: templates, scripts, styles, fonts and their licences."""

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CONSOLE = ROOT / "src" / "goqueue" / "gateways" / "console"


@pytest.mark.slow
def test_a_built_wheel_has_every_file_of_the_console(tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    copy.mkdir()
    for name in ("pyproject.toml", "setup.py", "MANIFEST.in", "LICENSE", "README.md"):
        if (ROOT / name).exists():
            shutil.copy(ROOT / name, copy)
    # Without the compiled codec, which takes long to build and has nothing to do with this.
    shutil.copytree(
        ROOT / "src", copy / "src", ignore=shutil.ignore_patterns("*.pyx", "*.so", "*.egg-info", "__pycache__")
    )
    command = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", tmp_path, copy]
    built = subprocess.run(command, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stdout + built.stderr
    (wheel,) = tmp_path.glob("*.whl")
    inside = set(zipfile.ZipFile(wheel).namelist())
    needed = {
        f"goqueue/gateways/console/{file.relative_to(CONSOLE)}"
        for folder in ("templates", "static")
        for file in (CONSOLE / folder).rglob("*")
        if file.is_file()
    }
    assert len(needed) > 30
    assert needed <= inside, needed - inside
