"""Kill −9 at any moment, again and again on the same folder: everything acknowledged is there, and nothing in part."""

import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from goqueue import codec
from goqueue.engine.ports import Log
from goqueue.model.log import LogId
from goqueue.testing import RecordingObserver
from tests.integration.storage_writer import LOGS, Count, open_store, records_of, value

ROOT = Path(__file__).resolve().parents[2]


def run_and_kill(folder: Path, chance: random.Random) -> int:
    """Let the writer work for a while, kill it, and return the last entry it was promised."""
    command = [sys.executable, "-m", "tests.integration.storage_writer", str(folder)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as writer:
        assert writer.stdout is not None
        assert writer.stderr is not None
        first = ""
        if chance.random() < 0.8:
            first = writer.stdout.readline()
            time.sleep(chance.uniform(0.0, 0.25))
        else:
            # In the middle of recovery, or even before it.
            time.sleep(chance.uniform(0.1, 0.4))
        writer.kill()
        output, errors = writer.communicate()
    assert writer.returncode == -9, errors
    whole = (first + output).rpartition("\n")[0].split()
    return int(whole[-1]) if whole else 0


class Folder:
    """Opened after a kill and compared with what the number of the last entry tells."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._counted = 0
        self._ends = dict.fromkeys(LOGS, 0)

    def check(self, promised: int) -> int:
        count, observer = Count(), RecordingObserver()
        store = open_store(str(self._folder), count, observer)
        try:
            assert count.value >= max(promised, self._counted)
            for number in range(self._counted + 1, count.value + 1):
                for log, records in records_of(number):
                    self._ends[log] += records
            self._counted = count.value
            if store.logs():
                for log in LOGS:
                    check_log(log, store.log(log), self._ends[log])
            assert observer.damage == []
            assert observer.journal_damage == []
        finally:
            store.close()
        return count.value


def check_log(name: LogId, log: Log, end: int) -> None:
    assert log.next_offset == end
    offset = log.start_offset
    while offset < end:
        chunk = log.read(offset, 1 << 20, end)
        for record in codec.decode(bytes(chunk.records)):
            assert (record.offset, record.value) == (offset, value(name, offset))
            offset += 1


def kill_again_and_again(folder: Path, rounds: int, seed: int) -> int:
    chance = random.Random(seed)
    opened = Folder(folder)
    entries = 0
    for number in range(rounds):
        promised = run_and_kill(folder, chance)
        try:
            entries = opened.check(promised)
        except Exception as error:
            error.add_note(f"round {number}, promised {promised}")
            raise
    return entries


def test_everything_acknowledged_survives_thirty_kills(tmp_path: Path) -> None:
    assert kill_again_and_again(tmp_path / "data", rounds=30, seed=1) > 1000


@pytest.mark.slow
def test_everything_acknowledged_survives_a_hundred_kills(tmp_path: Path) -> None:
    assert kill_again_and_again(tmp_path / "data", rounds=100, seed=2) > 4000
