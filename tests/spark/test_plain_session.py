"""Programs that open a session of Spark as any other program does, and call nothing of GoQueue before they read."""

import os
import subprocess
import sys

import pytest

PROGRAM = """
import sys
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

address, topic, folder = sys.argv[1:]
spark = SparkSession.builder.master("local[1]").config("spark.sql.warehouse.dir", folder).getOrCreate()


def says(name, frame):
    print(name, sorted(bytes(row.value).decode() for row in frame.collect()), "Filter (" in plan(frame), flush=True)


def plan(frame):
    return frame._jdf.queryExecution().executedPlan().toString()


def table():
    return spark.read.format("goqueue").option("bootstrap", address).option("subscribe", topic).load()


assert not any(name.startswith("goqueue") for name in sys.modules)
says("all", table())
says("filtered", table().where("partition = 0 and offset >= 2"))
options = f"USING goqueue OPTIONS (bootstrap '{address}', subscribe '{topic}')"
spark.sql(f"CREATE TEMPORARY VIEW records {options}")
says("sql", spark.sql("SELECT value FROM records WHERE partition = 0 AND offset >= 3"))
try:
    spark.sql(f"CREATE TABLE kept {options}")
except PySparkException as error:
    print("table", "use CREATE TEMPORARY VIEW" in str(error))
spark.sql("SET spark.sql.python.filterPushdown.enabled = true")
says("pushed", table().where("partition = 0 and offset >= 2"))
says("pushed-sql", spark.sql("SELECT value FROM records WHERE partition = 0 AND offset >= 3"))
says("pushed-all", table())
"""


@pytest.fixture(scope="module")
def said(server, tmp_path_factory) -> dict[str, str]:
    """What the program prints, by its first word."""
    from goqueue.client.sync import Admin, Producer

    with Admin(server.native) as admin, Producer(server.native) as producer:
        admin.create_topic("plain", 2)
        producer.send_many("plain", [b"%d" % number for number in range(5)], partition=0)
        producer.send_many("plain", [b"other"], partition=1)
    folder = tmp_path_factory.mktemp("plain")
    command = [sys.executable, "-c", PROGRAM, server.native, "plain", str(folder / "warehouse")]
    done = subprocess.run(
        command, env=dict(os.environ), cwd=folder, capture_output=True, text=True, timeout=200, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr[-4000:]
    lines = (line.partition(" ") for line in done.stdout.splitlines())
    return {name: rest for name, _, rest in lines}


def test_a_session_that_registers_nothing_reads_topics(said):
    assert said["all"] == "['0', '1', '2', '3', '4', 'other'] False"


def test_such_a_session_filters_without_push_down_and_with_it(said):
    """Without push-down Spark evaluates the filters itself."""
    assert said["filtered"] == "['2', '3', '4'] True"
    assert said["pushed"] == "['2', '3', '4'] False"
    assert said["pushed-all"] == "['0', '1', '2', '3', '4', 'other'] False"


def test_sql_reads_a_topic_through_a_view(said):
    assert said["sql"] == "['3', '4'] True"
    assert said["pushed-sql"] == "['3', '4'] False"


def test_create_table_says_that_a_view_is_needed(said):
    assert said["table"] == "True"
