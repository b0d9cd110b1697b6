"""The documentation as a site: built once for each process that runs tests."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.console.conftest import browser  # noqa: F401  # a fixture

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    built = subprocess.run(
        [sys.executable, "-m", "scripts.site", str(folder)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (built.returncode, built.stdout, built.stderr) == (0, "", ""), built.stdout + built.stderr
    return folder
