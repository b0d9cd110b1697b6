"""Where Spark does not run in this process: a cluster of its own master and workers, and Spark Connect."""

import os
import re
import shutil
import subprocess
import sys
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pyspark
import pytest

from goqueue.client.sync import Admin
from tests.behaviour.serving import free_port
from tests.docs.markdown import blocks_of
from tests.spark.quick_java import JAVA, PROPERTIES

ROOT = Path(__file__).parents[2]
SPARK = Path(pyspark.__file__).parent
GUIDE = ROOT / "docs" / "guides" / "spark-cluster.md"
SUBMIT = ROOT / "src" / "goqueue" / "spark" / "submit.py"
START_WITHIN_S = 120.0
RUN_WITHIN_S = 400.0


@contextmanager
def process(log, *command, env):
    """Runs until the block ends; what it says is in the file."""
    with log.open("wb") as said:
        running = subprocess.Popen(command, stdout=said, stderr=said, env=env, start_new_session=True)
    try:
        yield running
    finally:
        running.kill()
        running.wait()


def wait_for(log, said, times=1):
    deadline = time.monotonic() + START_WITHIN_S
    while len(re.findall(said, log.read_text())) < times:
        assert time.monotonic() < deadline, log.read_text()
        time.sleep(0.1)


def bare(*folders):
    """What a machine has on which nothing was set up: Java, a shell, and these folders of programs."""
    kept = {name: value for name, value in os.environ.items() if name in ("JAVA_HOME", "HOME", "TMPDIR")}
    path = os.pathsep.join((*map(str, folders), os.path.dirname(shutil.which("java") or "/usr/bin/java"), os.defpath))
    return {**kept, "PATH": path, "SPARK_LOCAL_IP": "127.0.0.1"}


@pytest.fixture(scope="module")
def building(tmp_path_factory):
    """The wheel is built while the cluster starts."""
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation", "-w", folder, ROOT]
    with process(folder / "pip.log", *command, env=dict(os.environ)) as running:
        yield folder, running


@pytest.fixture(scope="module")
def built(building):
    folder, running = building
    assert running.wait(RUN_WITHIN_S) == 0, (folder / "pip.log").read_text()
    (wheel,) = folder.glob("goqueue-*.whl")
    return wheel


@pytest.fixture(scope="module")
def wheel(built):
    """What is installed on no executor, and goes there with the job."""
    # Spark takes archives by their name.
    return shutil.copy(built, built.with_name("goqueue.zip"))


@pytest.fixture(scope="module")
def cluster(tmp_path_factory, building):
    """A master and two workers, each a process, whose Python knows what GoQueue needs but not GoQueue."""
    folder = tmp_path_factory.mktemp("cluster")
    port = free_port()
    env = {
        **bare(),
        "SPARK_NO_DAEMONIZE": "1",
        "SPARK_DAEMON_MEMORY": "256m",
        "SPARK_DAEMON_JAVA_OPTS": JAVA,
        "SPARK_WORKER_DIR": str(folder / "work"),
    }
    spark_class = str(SPARK / "bin" / "spark-class")
    address = f"spark://127.0.0.1:{port}"
    with ExitStack() as stack:
        master = (spark_class, "org.apache.spark.deploy.master.Master", "--host", "127.0.0.1", "--port", str(port))
        stack.enter_context(process(folder / "master.log", *master, "--webui-port", str(free_port()), env=env))
        wait_for(folder / "master.log", "I have been elected leader")
        for number in range(2):
            worker = (spark_class, "org.apache.spark.deploy.worker.Worker", address, "--cores", "1", "--memory", "700m")
            flags = ("--host", "127.0.0.1", "--webui-port", str(free_port()))
            stack.enter_context(process(folder / f"worker{number}.log", *worker, *flags, env=env))
        wait_for(folder / "master.log", "Registering worker", times=2)
        yield address


CONNECT = """
import sys
from pyspark.sql import SparkSession
from goqueue.spark import register

spark = SparkSession.builder.remote("local[2]").getOrCreate()
register(spark)
address, topic = sys.argv[1:]
rows = spark.createDataFrame([("a",), ("b",)], "value string")
rows.write.format("goqueue").mode("append").option("bootstrap", address).option("topic", topic).save()
found = spark.read.format("goqueue").option("bootstrap", address).option("subscribe", topic).load()
print(sorted(bytes(row.value) for row in found.where("offset >= 0").select("value").collect()))
"""


@pytest.fixture(scope="module")
def connecting(tmp_path_factory, server):
    """A program of Spark Connect, which runs beside the cluster: each waits for Java most of the time."""
    folder = tmp_path_factory.mktemp("connect")
    script = folder / "connect.py"
    script.write_text(CONNECT)
    with Admin(server.native) as admin:
        admin.create_topic("over-connect", 2)
    env = {**os.environ, "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    with process(folder / "said.log", sys.executable, script, server.native, "over-connect", env=env) as running:
        yield folder / "said.log", running


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_pipeline_runs_under_spark_submit_on_a_cluster_that_gets_the_wheel(
    cluster, wheel, connecting, server, producer, table, topic, tmp_path
):
    producer.send_many(topic, [b"%d" % number for number in range(1000)], keys=[b"k%d" % (n % 7) for n in range(1000)])
    site_packages = str(SPARK.parent)
    env = {
        **os.environ,
        # An editable installation is found through the environment alone, so this Python does not have it.
        "PYSPARK_PYTHON": sys._base_executable,
        "PYSPARK_DRIVER_PYTHON": sys.executable,
        "PYTHONPATH": site_packages,
        "SPARK_LOCAL_IP": "127.0.0.1",
    }
    command = [
        *(SPARK / "bin" / "spark-submit", "--master", cluster, "--py-files", wheel, "--properties-file", PROPERTIES),
        *("--conf", "spark.executor.memory=512m", "--conf", "spark.ui.enabled=false"),
        *("--conf", f"spark.executor.extraJavaOptions={JAVA}"),
        *("--conf", f"spark.executorEnv.PYTHONPATH={site_packages}"),
        *(SUBMIT, "replay", topic, "--into", f"{topic}-copy", "--server", server.native),
    ]
    with_target = subprocess.run(
        [sys.executable, "-m", "goqueue", "topic", "create", f"{topic}-copy", "--partitions", "2", "-s", server.native],
        check=False,
        capture_output=True,
        text=True,
    )
    assert with_target.returncode == 0, with_target.stderr
    done = subprocess.run(
        command, env=env, cwd=tmp_path, check=False, capture_output=True, text=True, timeout=RUN_WITHIN_S
    )
    assert done.returncode == 0, done.stdout + done.stderr[-4000:]
    assert table(subscribe=f"{topic}-copy").load().count() == 1000


@pytest.mark.slow
@pytest.mark.timeout(1500)
def test_a_job_runs_on_executors_that_have_only_the_packed_environment_of_the_guide(
    cluster, built, server, admin, producer, table, topic, tmp_path
):
    """The blocks of the page, as printed, in a shell without any variable of this one."""
    admin.create_topic(f"{topic}-copy", 2)
    producer.send_many(topic, [b"%d" % number for number in range(1000)])
    recipe, job, submit, *_ = [block for block in blocks_of(GUIDE) if block.language in ("sh", "python")]
    assert (recipe.language, job.language, "--archives" in submit.text) == ("sh", "python", True)
    text = job.text.replace("127.0.0.1:7171", server.native).replace('"orders', f'"{topic}')
    (tmp_path / "job.py").write_text(text)
    shutil.copy(built, tmp_path)
    (tmp_path / "bin").mkdir()
    for name, target in (("python", sys.executable), ("python3", sys._base_executable)):
        (tmp_path / "bin" / name).write_text(f'#!/bin/sh\nexec {target} "$@"\n')
        (tmp_path / "bin" / name).chmod(0o755)
    env = bare(tmp_path / "bin", SPARK / "bin", Path(sys.executable).parent)
    pip = {name: value for name, value in os.environ.items() if name.startswith("PIP_")}
    small = f"--properties-file {PROPERTIES} --conf spark.executor.memory=512m --conf spark.ui.enabled=false"
    submitted = submit.text.replace("spark://127.0.0.1:7077", f"{cluster} {small}")
    for script, more in ((recipe.text, pip), (submitted, {})):
        done = subprocess.run(
            ["bash", "-e", "-u", "-c", script],
            env=env | more,
            cwd=tmp_path,
            check=False,
            capture_output=True,
            text=True,
            timeout=RUN_WITHIN_S,
        )
        assert done.returncode == 0, script + done.stdout[-2000:] + done.stderr[-4000:]
    assert table(subscribe=f"{topic}-copy").load().count() == 1000
    packed = {path.name for path in tmp_path.glob("executor/lib/python*/site-packages/*")}
    assert "msgspec" in packed
    assert packed & {"grpc", "grpc_tools", "starlette", "uvicorn", "jinja2", "typer", "pyspark"} == set()


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_the_connector_works_over_spark_connect(connecting):
    log, running = connecting
    assert running.wait(RUN_WITHIN_S) == 0, log.read_text()[-4000:]
    assert "\n[b'a', b'b']\n" in "\n" + log.read_text()
