"""Whoever installs the package has the whole console, with its licences, and the protos and stubs of gRPC."""

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CONSOLE = ROOT / "src" / "goqueue" / "gateways" / "console"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    tmp_path = tmp_path_factory.mktemp("wheel")
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
    return wheel


@pytest.mark.slow
def test_a_built_wheel_has_every_file_of_the_console(wheel: Path) -> None:
    inside = set(zipfile.ZipFile(wheel).namelist())
    needed = {
        f"goqueue/gateways/console/{file.relative_to(CONSOLE)}"
        for folder in ("templates", "static")
        for file in (CONSOLE / folder).rglob("*")
        if file.is_file()
    }
    assert len(needed) > 30
    assert needed <= inside, needed - inside


@pytest.mark.slow
def test_a_built_wheel_has_the_protos_and_stubs_that_can_be_imported(wheel: Path, tmp_path: Path) -> None:
    own = ROOT / "src" / "goqueue" / "wire" / "grpc"
    inside = set(zipfile.ZipFile(wheel).namelist())
    kept = [*own.rglob("*.proto"), *(own / "v1").glob("*_pb2*.py*")]
    needed = {f"goqueue/wire/grpc/{file.relative_to(own)}" for file in kept}
    assert len(needed) > 20
    assert needed <= inside, needed - inside
    zipfile.ZipFile(wheel).extractall(tmp_path)
    names = sorted(file.stem for file in (own / "v1").glob("*_pb2*.py"))
    code = f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n"
    code += "".join(f"import goqueue.wire.grpc.v1.{name}\n" for name in names)
    code += f"assert goqueue.__file__.startswith({str(tmp_path)!r}), goqueue.__file__\n"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
