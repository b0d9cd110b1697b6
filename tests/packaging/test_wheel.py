"""The wheel: its metadata, its tag, and a broker from it on a machine that cannot compile."""

import os
import re
import subprocess
import sys
import time
import venv
import zipfile
from pathlib import Path

import pytest

from goqueue import codec
from goqueue.client.sync import Admin, Producer, Worker
from tests.behaviour.serving import Server

ROOT = Path(__file__).resolve().parents[2]
pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]
STARTED_WITHIN_S = 20
"""It takes about one; a busy machine needs more, and one that compiles something would need minutes."""
CODEC_IN_USE = "from goqueue import codec; print(codec.ACTIVE, codec.__file__)"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The wheel, and what its build has printed."""
    folder = tmp_path_factory.mktemp("wheel")
    made = subprocess.run([ROOT / "scripts/wheel.sh", folder], capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stdout + made.stderr
    (wheel,) = folder.glob("*.whl")
    return wheel, made.stdout


def test_its_metadata_passes_the_checks_of_the_package_index(built: tuple[Path, str]):
    _, printed = built
    assert "PASSED" in printed
    assert "warning" not in printed.lower()


@pytest.mark.skipif(codec.ACTIVE != "compiled" or sys.platform != "linux", reason="nothing is compiled here")
def test_it_fits_every_linux_that_its_symbols_fit(built: tuple[Path, str]):
    wheel, _ = built
    version = f"cp{sys.version_info.major}{sys.version_info.minor}"
    assert re.fullmatch(rf"goqueue-[\d.]+-{version}-{version}-[\w.]*manylinux_\d+_\d+_\w+\.whl", wheel.name)


def test_it_holds_every_module_and_no_file_of_a_build(built: tuple[Path, str]):
    wheel, _ = built
    held = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    kept = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "src"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    sources = {name.removeprefix("src/") for name in kept.stdout.splitlines() if (ROOT / name).exists()}
    assert {name for name in sources - held if name.endswith((".py", ".html", ".css", ".js", ".proto"))} == set()
    assert {name for name in held - sources if not name.endswith((".so", "/"))} == set()


def test_a_machine_without_a_compiler_serves_from_it(built: tuple[Path, str], tmp_path: Path):
    wheel, _ = built
    venv.create(tmp_path / "venv", with_pip=True)
    bare = {"PATH": str(tmp_path / "venv/bin"), "HOME": str(tmp_path)}
    bare |= {name: value for name, value in os.environ.items() if name.startswith("PIP_")}
    python = tmp_path / "venv/bin/python"
    install = [python, "-m", "pip", "install", "--quiet", "--only-binary=:all:", "-c", ROOT / "constraints.txt", wheel]
    installed = subprocess.run(install, env=bare, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert installed.returncode == 0, installed.stderr

    active = subprocess.run([python, "-c", CODEC_IN_USE], env=bare, cwd=tmp_path, capture_output=True, check=True)
    mode, place = active.stdout.decode().split()
    assert mode == codec.ACTIVE
    assert place.startswith(str(tmp_path)), "what runs is what was installed"

    folder = tmp_path / "broker"
    folder.mkdir()
    server = Server(folder, python=python)
    began = time.monotonic()
    server.start()
    assert time.monotonic() - began < STARTED_WITHIN_S
    try:
        with Admin(server.native) as admin, Producer(server.native) as producer:
            admin.create_topic("orders", partitions=1)
            producer.send("orders", b"two coffees").result()
        with Worker("orders", bootstrap=server.native, group="kitchen") as worker:
            (job,) = worker.take(1)
            assert job.value == b"two coffees"
            worker.ack(job)
    finally:
        server.kill()
