"""What has to be here first: Debian's packages of the brokers, never as services, and their Python clients."""

import importlib
import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from bench.peers.targets import Target

__all__ = ["install_clients", "install_servers"]

PACKAGES = {"redis": "redis-server", "nats": "nats-server", "rabbitmq": "rabbitmq-server"}
FOUND_ALSO = {"rabbitmq": Path("/usr/lib/rabbitmq"), "nats": Path(sys.executable).parent / "nats-server"}


def install_servers(targets: Sequence[Target], say: Callable[[str], None]) -> None:
    wanted = {one.name.partition("-")[0] for one in targets}
    missing = [name for broker, name in PACKAGES.items() if broker in wanted and not _is_here(broker, name)]
    if not missing:
        return
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        say(f"not installed, and only root can on Debian: apt-get install {' '.join(missing)}")
        return
    _apt("update")
    for name in missing:
        say(f"apt-get install {name}")
        if _apt("install", "-y", "--no-install-recommends", name):
            _keep_from_starting(name)
        else:
            say(f"{name} could not be installed; it is left out")


def _is_here(broker: str, program: str) -> bool:
    return shutil.which(program) is not None or (broker in FOUND_ALSO and FOUND_ALSO[broker].exists())


def _apt(*arguments: str) -> bool:
    # At this run level the scripts of a package start no service.
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive", "RUNLEVEL": "1"}
    done = subprocess.run(["apt-get", "-qq", *arguments], env=environment, capture_output=True, check=False)
    return done.returncode == 0


def _keep_from_starting(name: str) -> None:
    if Path("/run/systemd/system").is_dir():
        subprocess.run(["systemctl", "disable", "--now", name], capture_output=True, check=False)


def install_clients(say: Callable[[str], None]) -> None:
    """The extra `peers`, in the versions that were tested."""
    extras = tomllib.loads(Path("pyproject.toml").read_text())["project"]["optional-dependencies"]
    missing = [name for name in extras["peers"] if not _is_installed(name)]
    if not missing:
        return
    say(f"pip install {' '.join(missing)}")
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "-q", "-c", "constraints.txt"]
    if subprocess.run([*command, *missing], check=False).returncode != 0:
        say("some client libraries could not be installed; their brokers are left out")
    importlib.invalidate_caches()


def _is_installed(name: str) -> bool:
    try:
        version(name)
    except PackageNotFoundError:
        return False
    return True
