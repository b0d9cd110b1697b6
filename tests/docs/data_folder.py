"""A data folder whose broker was stopped."""

import shutil
import tempfile
from pathlib import Path

from goqueue.client.sync import Admin, Producer
from tests.behaviour.serving import running_server

__all__ = ["stopped_data_folder"]


def stopped_data_folder(target: Path, topic: str, *values: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder, running_server(Path(folder) / "broker") as server:
        with Admin(server.native) as admin, Producer(server.native) as producer:
            admin.create_topic(topic, 1)
            for value in values:
                producer.send(topic, value, key=b"customer-7").result()
        server.stop()
        shutil.copytree(server.folder / "data", target)
