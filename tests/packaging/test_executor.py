"""What tasks of Spark load is in the extra `executor`, and nothing of a web server or of gRPC is."""

import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

from goqueue.spark.executor import requirements

ROOT = Path(__file__).resolve().parents[2]
LOADED = """
import json, pkgutil, sys
from importlib import import_module
import goqueue.spark, pyspark_goqueue

# All of the connector; `pipelines` and the reports run on the driver.
here = [one.name for one in pkgutil.walk_packages(goqueue.spark.__path__, "goqueue.spark.")]
driver = ("goqueue.spark.pipelines", "goqueue.spark.report", "goqueue.spark.plots")
for name in here:
    if not name.startswith(driver):
        import_module(name)
import goqueue.codec.record_py, goqueue.codec.compression, lz4.block, zstandard, google_crc32c
print(json.dumps(sorted({name.partition(".")[0] for name in sys.modules} - set(sys.stdlib_module_names))))
"""
OF_SPARK = {"pyspark", "py4j", "numpy", "pandas"}
"""Spark brings it, or does without."""
OF_EACH_PYTHON = {"goqueue", "setuptools", "pip", "typing-extensions", "backports.tarfile", "cython"}


def named(requirement: str) -> str:
    return requirement.partition("==")[0].partition(">=")[0].lower().replace("_", "-")


def test_all_that_readers_and_writers_load_is_in_the_extra_for_executors():
    code = LOADED.strip()
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    owners = packages_distributions()
    modules = set(done.stdout.strip().strip("[]").replace('"', "").split(", "))
    loaded = {named(owner) for module in modules for owner in owners.get(module, ())[:1]}
    assert loaded - {named(one) for one in requirements()} - OF_SPARK - OF_EACH_PYTHON == set()


def test_the_extra_for_executors_has_nothing_of_a_web_server_or_of_grpc():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = {named(one) for one in project["optional-dependencies"]["executor"]}
    assert {named(one) for one in requirements()} == wanted
    of_servers = {"uvicorn", "uvloop", "starlette", "httptools", "jinja2", "typer", "rich", "prometheus-client"}
    assert {one for one in wanted if one.startswith("grpc")} | (wanted & of_servers) == set()
