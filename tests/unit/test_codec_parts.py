"""Parts of the codec that are not in its public surface."""

import ast
import random
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import goqueue.codec
from goqueue.codec import faults, record, record_py
from goqueue.codec.faults import Fault
from goqueue.model.record import Record


def test_the_crc_without_a_processor_instruction_gives_the_same_sums():
    numbers = random.Random(1)
    for size in [*range(70), 1000, 4097, 70_001]:
        data = numbers.randbytes(size)
        start = numbers.randrange(1 << 32)
        assert record._crc32c_software(data, start) == record.crc32c(data, start) == record_py.crc32c(data, start)
        assert record._crc32c_software(memoryview(data)[size // 3 :]) == record_py.crc32c(data[size // 3 :])


@pytest.fixture
def patient_threads():
    """No thread is made to give up the GIL, so that one loses it only by letting go of it."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(100)
    yield
    sys.setswitchinterval(before)


def runs_during(work) -> int:
    """How often this thread gets to run between the beginning and the end of `work` in another one."""
    moments: list[str] = []
    ticks = 0

    def other() -> None:
        moments.append("begun")
        work()
        moments.append("done")

    thread = threading.Thread(target=other)
    thread.start()
    while "done" not in moments:
        ticks += "begun" in moments
        time.sleep(0.0001)
    thread.join()
    return ticks


def test_long_work_lets_other_threads_run(patient_threads):
    stored = bytearray(record.encode([Record(value=bytes(16 << 20), offset=offset) for offset in range(4)]))
    assert not any(runs_during(lambda: record.crc32c(stored)) for _ in range(9)), "crc32c is known not to"
    for work in (
        lambda: record.scan(stored),
        lambda: record.stamp(stored, 0, 1),
        lambda: record.find_next(stored, 1, 99, 100),
    ):
        assert sum(runs_during(work) > 0 for _ in range(20)) >= 3


def test_the_package_takes_the_compiled_codec_where_there_is_one():
    assert goqueue.codec.ACTIVE == "compiled"
    assert goqueue.codec.scan is record.scan


def test_the_package_falls_back_to_the_twin_where_there_is_no_compiled_codec():
    code = (
        "import sys; sys.modules['goqueue.codec.record'] = None\n"
        "import goqueue.codec as codec, goqueue.codec.record_py as twin\n"
        "assert codec.ACTIVE == 'python', codec.ACTIVE\n"
        "assert all(getattr(codec, name) is getattr(twin, name) for name in twin.__all__)\n"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_the_package_offers_what_it_says():
    assert all(hasattr(goqueue.codec, name) for name in goqueue.codec.__all__)
    assert set(record_py.__all__) < set(goqueue.codec.__all__)


def test_the_fault_numbers_in_the_compiled_source_are_those_of_the_enum():
    source = Path(faults.__file__).with_name("record.pyx")
    if not source.exists():
        pytest.skip("installed without the source")
    found = {}
    for line in source.read_text().splitlines():
        name, _, number = line.strip().partition(" = ")
        if name.startswith("FAULT_") and number.isdigit():
            found[name.removeprefix("FAULT_")] = int(number)
    assert found == {fault.name: fault.value for fault in Fault if fault}


def test_every_fault_has_words():
    data = bytes(34)
    for fault in Fault:
        if fault:
            assert "record 3 at byte 0: " in faults.corrupt(fault, data, 3, 0).message


def test_an_arrow_batch_of_2_gib_or_more_is_refused():
    faults.check_arrow_size(2**31 - 1)
    with pytest.raises(Exception, match="do not fit one Arrow batch"):
        faults.check_arrow_size(2**31)


def test_the_codec_reads_no_environment():
    folder = Path(faults.__file__).parent
    for path in folder.rglob("*.py"):
        names = {node.attr for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Attribute)}
        assert not names & {"environ", "getenv"}, path
