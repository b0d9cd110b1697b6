"""What every index of ids promises: the one on disk and its twin in memory answer alike."""

import hashlib
import threading

import pytest

from goqueue.adapters.ids.sqlite_index import SqliteIdIndex
from goqueue.adapters.memory.ids import MemoryIdIndex
from goqueue.engine.ports import FoundId, IndexedIds

NO_ID = bytes(16)
LATE = 1 << 62


class Driver:
    """An index that can be opened again as after a stop."""

    def __init__(self, make) -> None:
        self._make = make
        self.index = make()
        self.number = self.index.open()

    def reopen(self) -> int:
        self.index.close()
        self.index = self._make()
        self.number = self.index.open()
        return self.number


@pytest.fixture(params=["sqlite", "memory"])
def driver(request, tmp_path):
    if request.param == "sqlite":
        made = Driver(lambda: SqliteIdIndex(str(tmp_path / "data" / "ids")))
    else:
        kept = MemoryIdIndex()
        made = Driver(lambda: kept)
    yield made
    made.index.close()


@pytest.fixture
def index(driver):
    return driver.index


def digest(name: object) -> bytes:
    return hashlib.blake2b(str(name).encode(), digest_size=16).digest()


def ids(*names: object, space: int = 1, partition: int = 0, base: int = 0, time: int = 100) -> IndexedIds:
    digests = b"".join(NO_ID if name is None else digest(name) for name in names)
    return IndexedIds(space, partition, base, time, digests)


def found(index, *names: object, space: int = 1) -> dict[object, tuple[int, int, int]]:
    answer = index.find(space, b"".join(map(digest, names)))
    assert all(isinstance(one, FoundId) for one in answer)
    return {names[one.step]: (one.partition, one.offset, one.timestamp_ns) for one in answer}


def forget_all(index, space: int, before: int, most: int = 3) -> int:
    steps, after = 1, b""
    while (after := index.forget(space, before, after, most)) is not None:
        steps += 1
    return steps


# --- adding and finding


def test_a_new_index_is_empty(driver):
    assert driver.number == 0
    assert found(driver.index, "a", "b") == {}
    assert driver.index.spaces() == []


def test_each_id_is_found_at_the_place_of_its_record(index):
    index.add([ids("a", "b", "c", partition=2, base=40, time=7)], 1)
    assert found(index, "c", "x", "a") == {"c": (2, 42, 7), "a": (2, 40, 7)}


def test_one_id_alone_is_found_as_well(index):
    index.add([ids("a", "b")], 1)
    assert found(index, "b") == {"b": (0, 1, 100)}
    assert found(index, "x") == {}


def test_nothing_is_found_for_nothing(index):
    index.add([ids("a")], 1)
    assert index.find(1, b"") == []


def test_records_without_an_id_take_their_offset_and_are_not_found(index):
    index.add([ids(None, "b", None, None, "e", base=10)], 1)
    assert found(index, "b", "e") == {"b": (0, 11, 100), "e": (0, 14, 100)}
    assert index.find(1, NO_ID) == []


def test_batches_are_added_together(index):
    index.add([ids("a", base=5), ids("b", "c", partition=1, base=9, time=3), ids("a", space=2, base=77)], 3)
    assert found(index, "a", "b", "c") == {"a": (0, 5, 100), "b": (1, 9, 3), "c": (1, 10, 3)}
    assert found(index, "a", space=2) == {"a": (0, 77, 100)}


def test_the_same_id_in_two_spaces_is_two_ids(index):
    index.add([ids("a", space=1)], 1)
    assert found(index, "a", space=2) == {}


def test_a_later_place_takes_the_place_of_an_earlier_one(index):
    index.add([ids("a", base=1, time=1)], 1)
    index.add([ids("a", base=2, time=2), ids("a", base=3, time=3)], 3)
    assert found(index, "a") == {"a": (0, 3, 3)}


def test_large_numbers_survive(index):
    index.add([ids("a", space=2**31, partition=9_999, base=2**62, time=1_700_000_000_123_456_789)], 2**40)
    assert found(index, "a", space=2**31) == {"a": (9_999, 2**62, 1_700_000_000_123_456_789)}


def test_thousands_are_added_and_found_at_once(index):
    names = [f"order-{n}" for n in range(5000)]
    index.add([ids(*names[n : n + 100], base=n) for n in range(0, 5000, 100)], 50)
    assert found(index, *names) == {name: (0, n, 100) for n, name in enumerate(names)}


# --- surviving


def test_an_index_opened_again_has_what_was_added_and_the_last_number(driver):
    driver.index.add([ids("a")], 1)
    driver.index.add([ids("b", base=1)], 12)
    assert driver.reopen() == 12
    assert found(driver.index, "a", "b") == {"a": (0, 0, 100), "b": (0, 1, 100)}


def test_a_number_is_kept_also_without_ids(driver):
    driver.index.add([], 4)
    assert driver.reopen() == 4


def test_after_a_reset_it_is_empty_and_goes_on(driver):
    driver.index.add([ids("a")], 7)
    driver.index.reset()
    assert found(driver.index, "a") == {}
    driver.index.add([ids("b")], 2)
    assert driver.reopen() == 2
    assert found(driver.index, "a", "b") == {"b": (0, 0, 100)}


# --- forgetting


def test_older_ids_are_forgotten_and_newer_ones_stay(index):
    index.add([ids(*range(20), time=10), ids(*range(20, 40), base=20, time=20)], 2)
    forget_all(index, 1, 20)
    assert set(found(index, *range(40))) == set(range(20, 40))


def test_a_step_looks_at_no_more_than_it_is_told(index):
    index.add([ids(*range(10))], 1)
    assert forget_all(index, 1, 0, most=3) == 4
    after = index.forget(1, LATE, b"", 3)
    assert after is not None
    assert len(found(index, *range(10))) == 7
    index.forget(1, LATE, after, 100)
    assert found(index, *range(10)) == {}


def test_forgetting_in_one_space_leaves_the_others(index):
    index.add([ids("a", "b", space=1), ids("a", space=2), ids("a", space=5)], 1)
    assert index.spaces() == [1, 2, 5]
    forget_all(index, 2, LATE)
    assert index.spaces() == [1, 5]
    assert found(index, "a", space=5) != {}


def test_there_is_nothing_to_forget_in_an_unknown_space(index):
    assert index.forget(3, LATE, b"", 10) is None


def test_a_forgotten_id_can_be_added_again(index):
    index.add([ids("a", time=1)], 1)
    forget_all(index, 1, 2)
    index.add([ids("a", base=9, time=5)], 2)
    assert found(index, "a") == {"a": (0, 9, 5)}


def test_finding_goes_on_while_another_thread_adds_and_forgets(index):
    index.add([ids("a", time=1000)], 1)
    failures: list[BaseException] = []

    def work() -> None:
        try:
            for number in range(20):
                index.add([ids(*range(number * 100, number * 100 + 100), time=number)], number)
                forget_all(index, 1, number, most=1000)
        except BaseException as error:
            failures.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    while thread.is_alive():
        assert found(index, "a", "x") == {"a": (0, 0, 1000)}
    thread.join()
    assert failures == []
