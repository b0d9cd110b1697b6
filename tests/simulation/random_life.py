"""A store living a random life: everything it can do, in any order, through any number of crashes."""

from goqueue.adapters.disk.compaction import CompactionWork
from goqueue.adapters.disk.store import StoreSettings
from goqueue.engine.ports import CompactionPolicy, CreateLog, DeleteLog, DropSegments, Entry, Operation, SlowWork
from goqueue.model.log import LogId
from goqueue.testing import Platter, SeededEntropy, crash_states
from tests.simulation.check import check_log
from tests.simulation.model import LogState, State, after, batch
from tests.simulation.workload import TINY, Workload

NAMES = [LogId(topic, partition) for topic in ("a", "b", "c") for partition in range(2)]


class RandomLife:
    """Goes on for a number of steps, then crashes, then goes on with what is left."""

    def __init__(self, seed: int, settings: StoreSettings = TINY, *, largest: int = 300) -> None:
        self._chance = SeededEntropy(f"life {seed}")
        self._largest = largest
        self._work = Workload(seed, settings)
        self._checkpoint: SlowWork | None = None
        self._checkpoint_ran = False
        self._compaction: CompactionWork | None = None
        self._actions = (
            [self._write] * 12
            + [self._sync] * 4
            + [self._go_on_with_checkpoint] * 4
            + [self._go_on_with_compaction] * 3
            + [self._create] * 2
            + [self._delete, self._drop, self._restart]
        )

    def live(self, steps: int) -> None:
        for _ in range(steps):
            self._chance.choice(self._actions)()

    # Crashes.

    def crash(self) -> None:
        """At any change since the last crash, by power or just the process; then check everything."""
        at = self._chance.below(len(self._work.disk.changes) + 1)
        platter = next(found for number, found in self._work.crash_points() if number == at)
        if not self._chance.chance(4):
            states = list(crash_states(platter, self._chance, singles=False, samples=3, cuts=1, sector=64))
            platter = Platter(self._chance.choice(states))
        self._checkpoint = self._compaction = None
        self._work.resume(platter, at)
        self.check()

    def check(self) -> None:
        work = self._work
        assert set(work.store.logs()) == set(work.state.logs)
        for log, expected in work.state.logs.items():
            check_log(work.store.log(log), expected, each_offset=True)
        assert work.observer.damage == []
        assert work.observer.journal_damage == []

    # What happens.

    def _write(self) -> None:
        entries: list[Entry] = []
        state = self._work.state
        for _ in range(1 + self._chance.below(3)):
            entry = self._entry(state)
            state = after(state, entry, {})
            entries.append(entry)
        self._work.write(*entries)

    def _entry(self, state: State) -> Entry:
        logs = [log for log in state.logs if self._chance.chance(2)]
        operations: list[Operation] = [self._append(log, state.logs[log]) for log in logs]
        operations += [self._work.event(self._chance.choice("xyz"), 8) for _ in range(self._chance.below(3))]
        return tuple(operations) or (self._work.event("x"),)

    def _append(self, log: LogId, state: LogState) -> Operation:
        records = []
        for _ in range(1 + self._chance.below(3)):
            key = b"key %d" % self._chance.below(5) if self._chance.chance(2) else None
            size = -1 if key and self._chance.chance(6) else self._chance.below(self._largest)
            records.append(self._work.record(size, key))
        return batch(log, state, records)

    def _sync(self) -> None:
        self._work.sync()

    def _create(self) -> None:
        free = [log for log in NAMES if log not in self._work.state.logs]
        if free:
            log = self._chance.choice(free)
            self._work.write((CreateLog(log), self._append(log, LogState()), self._work.event("x")))

    def _delete(self) -> None:
        if self._work.state.logs:
            self._work.write((DeleteLog(self._chance.choice(list(self._work.state.logs))), self._work.event("y")))

    def _drop(self) -> None:
        for log in self._work.state.logs:
            bases = [segment.base_offset for segment in self._work.store.log(log).segments]
            count = self._chance.below(len(bases) + 1)
            if count and self._chance.chance(2):
                self._work.write((DropSegments(log, tuple(bases[:count])),))

    def _restart(self) -> None:
        self._checkpoint = self._compaction = None
        if not self._chance.chance(2):
            self._work.kill_and_restart()
            return
        if self._chance.chance(2):
            self._work.checkpoint()
        self._work.restart()

    def _go_on_with_checkpoint(self) -> None:
        if self._checkpoint is None:
            self._checkpoint = self._work.begin_checkpoint()
            self._checkpoint_ran = False
        elif not self._checkpoint_ran:
            self._checkpoint.run()
            self._checkpoint_ran = True
        else:
            self._work.store.finish_checkpoint(self._checkpoint)
            self._checkpoint = None

    def _go_on_with_compaction(self) -> None:
        if self._compaction is not None:
            self._work.finish_compaction(self._compaction)
            self._compaction = None
            return
        for log, state in self._work.state.logs.items():
            compaction = self._work.store.begin_compaction(log, CompactionPolicy(state.end, 0))
            if isinstance(compaction, CompactionWork):
                self._compaction = compaction
                compaction.run()
                return
