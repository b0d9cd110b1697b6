"""Makes a data folder whose broker was stopped: `python -m tests.docs.data_folder FOLDER TOPIC VALUE…`."""

import shutil
import sys
import tempfile
from pathlib import Path

from goqueue.client.sync import Admin, Producer
from tests.behaviour.serving import running_server


def main(target: str, topic: str, *values: str) -> None:
    with tempfile.TemporaryDirectory() as folder, running_server(Path(folder) / "broker") as server:
        with Admin(server.native) as admin, Producer(server.native) as producer:
            admin.create_topic(topic, 1)
            for value in values:
                producer.send(topic, value.encode(), key=b"customer-7").result()
        server.stop()
        shutil.copytree(server.folder / "data", target)


if __name__ == "__main__":
    main(*sys.argv[1:])
