"""Whatever a crash or a failing disk leaves of transactions: each is there wholly or not at all, as was promised.

A life with many transactions is recorded on a simulated disk. A broker is opened on every prefix of what was written,
with the unsynced changes lost, torn, reordered or kept, and compared with what the clients had been told by then.
"""

import errno
from collections.abc import Awaitable, Callable

import pytest

from goqueue.adapters.disk.store import StoreSettings
from goqueue.errors import GoQueueError
from goqueue.testing import Image, Platter, SeededEntropy, SimulatedFileSystem, crash_states
from goqueue.testing.power_cut import KEPT
from goqueue.testing.simulated_disk import Step
from tests.simulation.transaction_check import Survivor, shown
from tests.simulation.transaction_life import LOGS, SMALL, Life, lived, opened


class Sweep:
    """Crashes a life at every change it made to the disk, and looks into one of so many of the states there are."""

    def __init__(self, life: Life, seed: str, *, one_in: int = 1, **plan: int | bool) -> None:
        self.life = life
        self.states = 0
        self._one_in = one_in
        self._plan = plan
        self._entropy = SeededEntropy(f"transactions {seed}")
        self._seen: set[int] = set()

    async def run(self) -> None:
        for number, platter in self.life.crash_points():
            for image in crash_states(platter, self._entropy, **self._plan):  # type: ignore[arg-type]
                if self._entropy.chance(self._one_in) and self._is_new(image, number):
                    await self._look_into(image, number)

    def _is_new(self, image: Image, number: int) -> bool:
        key = hash((frozenset((path, image.files.get(node)) for path, node in image.tree().items()), number))
        new = key not in self._seen
        self._seen.add(key)
        return new

    async def _look_into(self, image: Image, number: int) -> None:
        self.states += 1
        await look_into(self.life, number, Platter(image), SimulatedFileSystem(image))


async def look_into(life: Life, number: int, platter: Platter, disk: SimulatedFileSystem) -> None:
    """Compare what is found on the disk, go on, cut the power and compare once more."""
    survivor = Survivor(life, number, disk)
    try:
        await survivor.is_right()
        for change in disk.changes:
            platter.apply(change)
        await survivor.is_still_the_same(SimulatedFileSystem(platter.image({})))
    except Exception as error:
        error.add_note(f"after {number} changes of {len(life.disk.changes)}")
        raise


async def test_every_prefix_of_the_writes_recovers_to_what_was_promised() -> None:
    sweep = Sweep(await lived(), "prefixes", one_in=9, exhaustive=2, singles=False, samples=1, cuts=1, sector=64)
    await sweep.run()
    print(f"{sweep.states} crash states")
    assert sweep.states > 200


@pytest.mark.slow
async def test_every_prefix_recovers_whatever_the_power_cut_left() -> None:
    sweep = Sweep(await lived(), "whatever", one_in=4, exhaustive=2, singles=False, samples=1, cuts=1, sector=64)
    await sweep.run()
    print(f"{sweep.states} crash states")
    assert sweep.states > 500


async def test_what_a_killed_broker_left_in_the_page_cache_is_certain_once_another_one_has_shown_it() -> None:
    """The second broker confirms what the first did not come to confirm; then the power fails."""
    life = await lived()
    for number, platter in life.crash_points():
        if number % 6 == 0:
            twin = platter.copy()
            await look_into(life, number, twin, platter.page_cache())


async def test_a_crash_while_a_crash_is_being_mended_leaves_no_halves_either() -> None:
    life = await lived()
    entropy = SeededEntropy("mending")
    for number, platter in life.crash_points():
        if number % 40 == 0:
            image = entropy.choice(list(crash_states(platter, entropy, singles=False, samples=2, cuts=1, sector=64)))
            first = Survivor(life, number, SimulatedFileSystem(image))
            await first.is_right()
            await cut_again(first, image, entropy)


async def cut_again(first: Survivor, image: Image, entropy: SeededEntropy) -> None:
    platter = Platter(image)
    for count, change in enumerate(first.disk.changes):
        platter.apply(change)
        if count % 7 == 0:
            states = list(crash_states(platter, entropy, singles=False, samples=1, cuts=1, sector=64))
            second = Survivor(first.life, first.changes, SimulatedFileSystem(entropy.choice(states)), after=first)
            await second.is_right()


# A disk that fails.

FAILURES: list[tuple[Step, int]] = [
    ("write", errno.ENOSPC),
    ("write", errno.EIO),
    ("sync", errno.EIO),
]


class Failing(Life):
    """A life in which the disk fails at some step of what it does last."""

    def __init__(self, step: Step, code: int, skip: int, settings: StoreSettings = SMALL) -> None:
        super().__init__(settings)
        self._step: Step = step
        self._code = code
        self._skip = skip
        self.has_failed = False

    def arm(self) -> None:
        self.disk.before(self._step, self._fail, skip=self._skip)

    def _fail(self) -> None:
        self.has_failed = True
        raise OSError(self._code, "the disk fails")

    async def start(self) -> None:
        await self.create()
        await self.publish(LOGS[0], b"p1", b"p2", b"p3")
        await self.publish(LOGS[1], b"q1")
        await self.enlist("a")
        await self.take()

    async def shows(self, *names: str) -> bool:
        """Whether readers see all of these transactions, or nothing of them."""
        signs = set()
        for log in LOGS:
            visible = await shown(self.broker, log)
            signs |= {value in visible for name in names for value in self.told[name].values.get(log, ())}
        assert len(signs) == 1, "readers see a half"
        return signs.pop()


async def commits(life: Failing) -> None:
    await life.begin("failing", "a")
    for log in LOGS:
        await life.write("failing", log, f"failing-{log}".encode())
    await life.settle("failing", b"p1", "ack")
    await life.settle("failing", b"p2", "reject")
    await life.settle("failing", b"q1", "nack")
    await life.move("failing", LOGS[2], 1)
    life.arm()
    confirmed = await life.tries("failing", "commit")
    life.disk.heal()
    assert await life.shows("failing") == confirmed
    if not confirmed and await life.tries("failing", "abort"):
        assert not await life.shows("failing")


async def writes(life: Failing) -> None:
    """Whatever was refused on the way: a commit that is confirmed is what was not refused, and nothing else."""
    await life.begin("failing", "a")
    await life.write("failing", LOGS[0], b"first")
    life.arm()
    is_whole = await accepted(life.write("failing", LOGS[1], b"second"))
    await accepted(life.settle("failing", b"p1", "ack"))
    await accepted(life.settle("failing", b"p2", "reject"))
    await accepted(life.move("failing", LOGS[2], 1))
    is_whole &= await accepted(life.write("failing", LOGS[0], b"third"))
    await accepted(life.settle("failing", b"q1", "nack"))
    life.disk.heal()
    if await life.tries("failing", "commit"):
        assert is_whole, "committed without some of its records"
        assert await life.shows("failing")
    else:
        await life.tries("failing", "abort")


async def accepted(request: Awaitable[None]) -> bool:
    try:
        await request
    except GoQueueError:
        return False
    return True


async def prepares(life: Failing) -> None:
    await life.begin_part("failing", "query")
    await life.write("failing", LOGS[0], b"failing-0")
    await life.write("failing", LOGS[2], b"failing-2")
    await life.settle("failing", b"p1", "ack")
    life.arm()
    confirmed = await life.tries_to_prepare("failing")
    life.disk.heal()
    if not confirmed:
        await life.tries_to_prepare("failing")
    life.intend("query", "failing")
    assert not await life.shows("failing")


async def decides(life: Failing) -> None:
    for name, log in (("one", LOGS[0]), ("two", LOGS[2]), ("out", LOGS[0])):
        await life.begin_part(name, "query")
        await life.write(name, log, name.encode())
        await life.prepare(name)
    life.arm()
    confirmed = await life.tries_to_decide("query", "one", "two")
    life.disk.heal()
    assert await life.shows("one", "two") == confirmed
    if not confirmed and await life.tries_to_decide("query", "one", "two"):
        assert await life.shows("one", "two")


@pytest.mark.parametrize("act", [commits, writes, prepares, decides])
@pytest.mark.parametrize(("step", "code"), FAILURES)
async def test_wherever_the_disk_fails_a_transaction_is_whole_or_can_be_aborted(
    act: Callable[[Failing], Awaitable[None]], step: Step, code: int
) -> None:
    for skip in range(60):
        life = Failing(step, code, skip)
        await fails(life, act)
        if not life.has_failed:
            # There were no more steps than that, and all was well.
            return
    pytest.fail("nothing takes so many steps")


async def test_a_part_whose_preparation_was_refused_does_not_seem_prepared_when_that_is_asked_for_again() -> None:
    life = Failing("allocate", errno.ENOSPC, 0, StoreSettings(segment_bytes=1500, journal_file_bytes=2000))
    names = [f"part-{number}" for number in range(60)]
    async with opened(life.disk, life.clock, life.settings) as life.broker:
        await life.start()
        for name in names:
            await life.begin_part(name, name)
            await life.write(name, LOGS[0], name.encode())
            life.intend(name, name)
        life.disk.fail("allocate", errno.ENOSPC, times=1000)
        refused = [name for name in names if not await life.tries_to_prepare(name)]
        life.disk.heal()
        assert refused
        for name in refused:
            await life.tries_to_prepare(name)
        end = life.now
    del life.disk.changes[end:]
    platter = Platter()
    for change in life.disk.changes:
        platter.apply(change)
    await Survivor(life, end, SimulatedFileSystem(platter.image({}))).is_right()


@pytest.mark.parametrize("act", [commits, writes, decides])
async def test_wherever_there_is_no_room_for_the_next_file_a_transaction_is_whole_or_can_be_aborted(
    act: Callable[[Failing], Awaitable[None]],
) -> None:
    failed = 0
    for padding in range(0, 2000, 250):
        life = Failing("allocate", errno.ENOSPC, 0, StoreSettings(segment_bytes=1500, journal_file_bytes=2000))
        await fails(life, act, padding)
        failed += life.has_failed
    assert failed


async def fails(life: Failing, act: Callable[[Failing], Awaitable[None]], padding: int = 0) -> None:
    async with opened(life.disk, life.clock, life.settings) as life.broker:
        await life.start()
        if padding:
            await life.publish(LOGS[1], bytes(padding))
        await act(life)
        end = life.now
    del life.disk.changes[end:]
    if not life.has_failed:
        return
    platter = Platter()
    for change in life.disk.changes:
        platter.apply(change)
    for image in (platter.image({}), platter.image({}, KEPT)):
        await Survivor(life, end, SimulatedFileSystem(image)).is_right()
    await look_into(life, end, platter.copy(), platter.page_cache())
