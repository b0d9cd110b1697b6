"""Whatever a crash leaves on the disk, everything acknowledged is there, in order and whole, and writing goes on.

Each test records what a store did to a simulated disk, then takes every prefix of it with the unsynced changes
lost, torn, reordered or kept, opens a new store on that, and compares all logs and streams with a model.
"""

from collections.abc import Callable

import pytest

from goqueue.engine.ports import CreateLog, DeleteLog
from goqueue.testing import Image, Platter, SeededEntropy, SimulatedFileSystem, crash_states
from goqueue.testing.power_cut import KEPT, LOST
from goqueue.testing.simulated_disk import Step
from tests.simulation.check import Reopened, Sweep, check_log
from tests.simulation.random_life import RandomLife
from tests.simulation.workload import Workload
from tests.simulation.workloads import ALL, BIG, DEAD, ORDERS, moves_between_logs

CRASHES_PER_LIFE = 12


@pytest.mark.parametrize("life", ALL)
def test_every_prefix_of_the_writes_recovers_to_what_was_acknowledged(life: str) -> None:
    sweep = Sweep(ALL[life](), exhaustive=3, samples=2, cuts=1, sector=64, singles_every=8)
    sweep.run(cut_recovery_every=400)
    print(f"{sweep.states} crash states")
    assert sweep.states > 300


@pytest.mark.slow
@pytest.mark.parametrize("life", ALL)
def test_every_prefix_recovers_with_each_unsynced_change_lost_or_kept_alone(life: str) -> None:
    sweep = Sweep(ALL[life](), "alone", exhaustive=5, samples=2, cuts=2, sector=64, singles_every=2)
    print(f"{sweep.run()} crash states")
    assert sweep.states > 800


@pytest.mark.slow
@pytest.mark.parametrize("life", ALL)
def test_a_crash_during_recovery_loses_nothing_either(life: str) -> None:
    sweep = Sweep(ALL[life](), "recovery", exhaustive=2, samples=1, cuts=1, sector=64, singles_every=40)
    sweep.run(cut_recovery_every=80)
    print(f"{sweep.states} crash states")
    assert sweep.recoveries_cut > 3


@pytest.mark.slow
def test_every_write_torn_at_every_byte_recovers() -> None:
    sweep = Sweep(moves_between_logs(), "bytes", exhaustive=0, samples=0, cuts=0, singles_every=1000)
    print(f"{sweep.run()} crash states")
    assert sweep.states > 5000


@pytest.mark.parametrize("block", range(8))
def test_a_random_life_survives_crash_after_crash(block: int) -> None:
    """Each crash comes at any point, by power or by kill, with any mixture of what was unsynced."""
    for number in range(block * 10, block * 10 + 10):
        live_and_crash(number)


@pytest.mark.slow
@pytest.mark.parametrize("block", range(8, 40))
def test_many_more_random_lives_survive(block: int) -> None:
    for number in range(block * 10, block * 10 + 10):
        live_and_crash(number)


def live_and_crash(number: int) -> None:
    life = RandomLife(number, BIG, largest=3000) if number % 4 == 3 else RandomLife(number)
    for crash in range(CRASHES_PER_LIFE):
        try:
            life.live(steps=12)
            life.crash()
        except Exception as error:
            error.add_note(f"life {number}, crash {crash}")
            raise


# Crashes that need more than one to do harm, each found by a random life or by thought.


def killed(work: Workload) -> None:
    """The process dies after the last change, and a new one goes on with the page cache."""
    changes, platter = list(work.crash_points())[-1]
    work.resume(platter.copy(), changes)


def power_fails(work: Workload, *, losing: str = "") -> None:
    """Everything unsynced is lost; or, with `losing`, only what is in files or folders with that in their path."""
    changes, platter = list(work.crash_points())[-1]
    paths = {node: path for path, node in platter.image({}, KEPT).tree().items()}
    kept = {p.number: KEPT for p in platter.pending() if losing and losing not in paths.get(p.change[0], "")}
    work.resume(Platter(platter.image(kept, LOST)), changes)


class Stopped(Exception):
    """Ends a step half-way, as a crash would."""


def stops_before(work: Workload, step: Step, matching: str, action: Callable[[], object]) -> None:
    def stop() -> None:
        raise Stopped

    work.disk.before(step, stop, matching=matching)
    with pytest.raises(Stopped):
        action()


def is_whole(work: Workload) -> None:
    for log, expected in work.state.logs.items():
        check_log(work.store.log(log), expected, each_offset=True)
    assert work.observer.damage == []
    assert work.observer.journal_damage == []


def write_until_it_rolls(work: Workload) -> None:
    for size in (4100, 2500, 3000):
        work.write((work.append(ORDERS, size),))


@pytest.mark.parametrize(
    "when", ["after the sync of a checkpoint that does not get done", "before a checkpoint begun earlier is done"]
)
def test_an_index_never_tells_of_records_that_a_crash_took_back(when: str) -> None:
    work = Workload("stale index", BIG)
    work.create(ORDERS)
    work.write((work.append(ORDERS, 3000, 3000),))
    work.checkpoint()
    if when == "after the sync of a checkpoint that does not get done":
        write_until_it_rolls(work)
        stops_before(work, "open", "*/checkpoint.copy.tmp", work.checkpoint)
    else:
        work.write((work.append(ORDERS, 10),))
        under_way = work.begin_checkpoint()
        write_until_it_rolls(work)
        under_way.run()
    power_fails(work, losing="/journal")
    for _ in range(8):
        work.write((work.append(ORDERS, 700),))
    work.sync()
    work.checkpoint()
    work.restart()
    is_whole(work)


def test_entries_that_a_killed_process_left_unsynced_are_durable_once_a_new_one_builds_on_them() -> None:
    work = Workload("unsynced")
    work.create(ORDERS, DEAD)
    work.write((work.append(ORDERS, 100), work.event("a")))
    killed(work)
    work.write((work.append(ORDERS, 50), work.append(DEAD, 10)))
    work.sync()
    power_fails(work)
    is_whole(work)


def test_a_checkpoint_that_a_killed_process_had_just_renamed_stays() -> None:
    work = Workload("renamed checkpoint")
    work.create(ORDERS)
    work.write((work.append(ORDERS, 100), work.event("a")))
    stops_before(work, "sync_dir", "data", work.checkpoint)
    killed(work)
    work.write((work.append(ORDERS, 50), work.event("a")))
    work.sync()
    power_fails(work)
    is_whole(work)


def test_a_folder_that_a_killed_process_had_just_made_stays() -> None:
    work = Workload("folders")
    made = (CreateLog(ORDERS), work.append(ORDERS, 1))
    stops_before(work, "sync_dir", "data/logs", lambda: work.store.write([made]))
    killed(work)
    work.write(made)
    work.checkpoint()
    power_fails(work)
    is_whole(work)


def test_files_go_only_when_the_entry_that_removes_them_is_certain_also_in_recovery() -> None:
    work = Workload("removal")
    work.create(ORDERS, DEAD)
    work.write((work.append(ORDERS, 100), work.append(DEAD, 100)))
    work.checkpoint()
    entropy = SeededEntropy("removal")
    stops_before(work, "sync", "*.journal", lambda: work.write((DeleteLog(ORDERS),)))
    changes, platter = list(work.crash_points())[-1]
    # A second process finds the entry in the page cache and does it again; the power fails in the middle of that.
    second = platter.page_cache()
    Reopened(second, work.settings)
    for change in second.changes:
        platter.apply(change)
        for image in crash_states(platter, entropy, samples=4):
            is_one_of(image, work, changes)


def is_one_of(image: Image, work: Workload, changes: int) -> None:
    promised, asked = work.bounds(changes)
    reopened = Reopened(SimulatedFileSystem(image), work.settings)
    assert promised <= reopened.store.written_lsn <= asked
    reopened.is_exactly(work.states[reopened.store.written_lsn])
