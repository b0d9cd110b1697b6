"""Read what is committed over HTTP, again and again: a transaction is seen as a whole or not at all."""

import asyncio
import json
import random
import time
from collections.abc import Mapping
from typing import Any

import httpx
import msgspec

__all__ = ["CommittedReader", "Entry", "Picture", "Place"]

PAGE = 500
PAUSE_S = 0.1
ANSWER_WITHIN_S = 20.0
WHOLE_WITHIN_S = 90.0
"""The time that a transaction may take, and some for the broker to end it and to be killed meanwhile."""

Place = tuple[str, int]


class Entry(msgspec.Struct, frozen=True):
    """What each record of a transaction says of it: its name, how many records it has, and what else it does."""

    transaction: str
    size: int
    index: int
    acks: tuple[str, ...] = ()
    dead: tuple[str, ...] = ()
    group: str = ""
    offset: int = 0
    amount: int = 0
    account: int = 0

    @property
    def name(self) -> str:
        return f"{self.transaction}/{self.index}"


class Picture:
    """All that was seen so far, by transaction."""

    def __init__(self) -> None:
        self.entries: dict[str, dict[int, Entry]] = {}
        self.jobs: set[str] = set()
        self.letters: list[str] = []
        self.places: dict[tuple[Place, int], str] = {}

    def add(self, place: Place, offset: int, value: str | bytes, *, jobs: str) -> None:
        entry = msgspec.json.decode(value, type=Entry)
        assert (place, offset) not in self.places, f"{place} has two records at {offset}"
        self.places[place, offset] = entry.name
        if place[0] == f"{jobs}.dlq":
            self.letters.append(entry.name)
            return
        seen = self.entries.setdefault(entry.transaction, {})
        assert entry.index not in seen, f"{entry.name} is there twice"
        seen[entry.index] = entry
        if place[0] == jobs:
            self.jobs.add(entry.name)

    def incomplete(self) -> set[str]:
        return {name for name, seen in self.entries.items() if len(seen) != next(iter(seen.values())).size}

    def plans(self) -> list[Entry]:
        """One entry of each transaction: they all say the same of it."""
        return [next(iter(seen.values())) for seen in self.entries.values()]


class CommittedReader:
    """Goes over all partitions in any order.

    A committed transaction may be seen in one partition and not yet in another one, where a transaction that is still
    open lies in front of it. So whatever is missing must lie there, behind the place where readers have to wait; and
    that ends by its timeout at the latest, so by then whatever was seen in part is whole.
    """

    def __init__(self, http: str, partitions: Mapping[str, int], jobs: str, chance: random.Random) -> None:
        self.picture = Picture()
        self.passes = 0
        self.longest_wait_s = 0.0
        self._positions = {(topic, number): 0 for topic, count in partitions.items() for number in range(count)}
        self._jobs = jobs
        self._chance = chance
        self._client = httpx.AsyncClient(base_url=f"http://{http}", timeout=ANSWER_WITHIN_S)
        self._partial: dict[str, float] = {}
        """Since when these transactions were seen in part."""

        self._passing = asyncio.Lock()

    async def run(self, stop: asyncio.Event) -> None:
        """Until told to stop. A broker that is away is asked again."""
        since = time.monotonic()
        while not stop.is_set():
            if await self.look():
                since = time.monotonic()
            self.longest_wait_s = max(self.longest_wait_s, time.monotonic() - since)
            await asyncio.sleep(PAUSE_S)

    async def look(self) -> bool:
        """One pass; whether there was something new."""
        async with self._passing:
            seen = len(self.picture.places)
            places = list(self._positions)
            self._chance.shuffle(places)
            try:
                for place in places:
                    await self._read(place)
                before, now = set(self._partial), self.picture.incomplete()
                if before & now:
                    await self._explain(before & now)
            except httpx.TransportError:
                return len(self.picture.places) > seen
            self.passes += 1
            self._check_partial()
            return len(self.picture.places) > seen

    async def _explain(self, partial: set[str]) -> None:
        """Nothing that is missing after a whole pass is missing in the log: it is where nobody may look yet."""
        waiting: set[str] = set()
        for place, offset in self._positions.items():
            while (page := await self._page(place, offset, isolation="read_uncommitted"))["next_offset"] > offset:
                offset = page["next_offset"]
                if place[0] != f"{self._jobs}.dlq":
                    waiting |= {msgspec.json.decode(one["value"], type=Entry).name for one in page["messages"]}
        for place in list(self._positions):
            # What was let through meanwhile is not waiting any more.
            await self._read(place)
        for name in partial & self.picture.incomplete():
            seen = self.picture.entries[name]
            size = next(iter(seen.values())).size
            missing = {f"{name}/{index}" for index in range(size) if index not in seen}
            assert missing <= waiting, f"{name} is committed without {missing - waiting}"

    def _check_partial(self) -> None:
        now = time.monotonic()
        self._partial = {name: self._partial.get(name, now) for name in self.picture.incomplete()}
        late = [name for name, since in self._partial.items() if now - since > WHOLE_WITHIN_S]
        assert not late, f"seen in part for more than {WHOLE_WITHIN_S} s: {late}"

    async def _read(self, place: Place) -> None:
        while True:
            offset = self._positions[place]
            page = await self._page(place, offset)
            for message in page["messages"]:
                self.picture.add(place, message["offset"], message["value"], jobs=self._jobs)
            self._positions[place] = page["next_offset"]
            if page["next_offset"] == offset:
                return

    async def _page(self, place: Place, offset: int, isolation: str = "read_committed") -> dict[str, Any]:
        topic, number = place
        params = {"offset": offset, "limit": PAGE, "isolation": isolation}
        response = await self._client.get(f"/topics/{topic}/partitions/{number}/messages", params=params)
        if response.status_code == 503:
            raise httpx.ConnectError("it is starting or stopping")
        assert response.status_code == 200, response.text
        page: dict[str, Any] = json.loads(response.text)
        return page

    async def close(self) -> None:
        await self._client.aclose()
