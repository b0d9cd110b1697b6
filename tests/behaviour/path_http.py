"""HTTP as a path: requests and JSON as the API describes them."""

import asyncio
import contextlib
from base64 import b64decode, b64encode
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any

import httpx

from goqueue.model.log import LogId
from tests.behaviour.path import Ability, Assignment, Got, GroupFacts, Out, Place, Refused, TopicFacts
from tests.behaviour.serving import Server

__all__ = ["HttpPath"]

CONFIG = (
    "durability",
    "cleanup",
    "retention_ms",
    "retention_bytes",
    "delete_retention_ms",
    "max_value_bytes",
    "dedup_window_ms",
)


class HttpPath:
    """The JSON API; values go as base64, so that any bytes can."""

    abilities = frozenset(Ability)

    def __init__(self, server: Server) -> None:
        # Without certificates, which take longer to load than most tests run.
        self._http = httpx.AsyncClient(base_url=f"http://{server.http}", timeout=70, verify=False, trust_env=False)

    async def close(self) -> None:
        await self._http.aclose()

    async def _ask(self, method: str, path: str, body: Any = None, **query: Any) -> Any:
        answer = await self._http.request(method, path, json=body, params=query)
        content = answer.json()
        if answer.status_code >= 400:
            assert content["status"] == answer.status_code, content
            assert answer.status_code < 500 or content["code"] in ("storage_busy", "disk_full"), content
            raise Refused(content["code"], content["error"])
        return content

    # Topics.

    async def create_topic(self, name: str, partitions: int = 3, **config: Any) -> TopicFacts:
        return _facts(await self._ask("POST", "/topics", {"name": name, "num_partitions": partitions, **config}))

    async def topic(self, name: str) -> TopicFacts:
        return _facts(await self._ask("GET", f"/topics/{name}"))

    async def topics(self) -> list[str]:
        return [one["name"] for one in (await self._ask("GET", "/topics"))["topics"]]

    async def alter_topic(self, name: str, **config: Any) -> TopicFacts:
        return _facts(await self._ask("PATCH", f"/topics/{name}", config))

    async def delete_topic(self, name: str) -> None:
        await self._ask("DELETE", f"/topics/{name}")

    async def ends(self, topic: str) -> list[tuple[int, int]]:
        found = await self._ask("GET", f"/topics/{topic}")
        return [(one["earliest"], one["latest"]) for one in found["partitions"]]

    # Records.

    async def publish(self, topic: str, records: Sequence[Out], *, durability: str | None = None) -> list[Place]:
        body: dict[str, Any] = {"messages": [_message(record) for record in records]}
        if durability is not None:
            body["durability"] = durability
        results = (await self._ask("POST", f"/topics/{topic}/messages", body))["results"]
        failed = next((one for one in results if "error" in one), None)
        if failed is not None:
            raise Refused(failed["code"], failed["error"])
        return [Place(one["partition"], one["offset"]) for one in results]

    async def read(self, topic: str, partition: int, offset: int = 0, limit: int = 1000) -> list[Got]:
        found: list[Got] = []
        while len(found) < limit:
            page = await self._ask(
                "GET",
                f"/topics/{topic}/partitions/{partition}/messages",
                offset=offset,
                limit=min(limit - len(found), 1000),
                format="base64",
            )
            found += [_got(topic, one) for one in page["messages"]]
            if page["next_offset"] == offset:
                break
            offset = page["next_offset"]
        return found

    # Groups.

    async def group(self, name: str) -> GroupFacts:
        found = await self._ask("GET", f"/groups/{name}")
        return GroupFacts(
            found["state"],
            {one["member_id"]: _logs(one["partitions"]) for one in found["members"]},
            {LogId(one["topic"], one["partition"]): one["lag"] for one in found["partitions"]},
            found["paused"],
        )

    async def groups(self) -> list[str]:
        return [one["group"] for one in (await self._ask("GET", "/groups"))["groups"]]

    async def committed(self, group: str) -> dict[LogId, int]:
        found = (await self._ask("GET", f"/groups/{group}/offsets"))["offsets"]
        return {LogId(topic, int(number)): offset for topic, some in found.items() for number, offset in some.items()}

    async def reset(
        self, group: str, to: str, value: int | None = None, *, topics: list[str], dry_run: bool = False
    ) -> dict[LogId, int]:
        body = {"to": to, "topics": topics, "dry_run": dry_run}
        if to == "offset":
            body["offset"] = value
        if to == "timestamp":
            assert value is not None
            body["timestamp"] = _instant(value)
        changes = (await self._ask("POST", f"/groups/{group}/offsets/reset", body))["changes"]
        return {LogId(one["topic"], one["partition"]): one["after"] for one in changes}

    async def pause_group(self, group: str, *, paused: bool) -> None:
        await self._ask("POST", f"/groups/{group}/{'pause' if paused else 'resume'}")

    async def delete_group(self, group: str) -> None:
        await self._ask("DELETE", f"/groups/{group}")

    # Members.

    async def join(self, group: str, topics: Sequence[str], **options: Any) -> Assignment:
        if "session_ms" in options:
            options["session"] = options.pop("session_ms")
        body = {"client_id": "tester", "topics": list(topics), **options}
        found = await self._ask("POST", f"/groups/{group}/join", body)
        return Assignment(found["member_id"], found["generation"], _logs(found["partitions"]))

    async def heartbeat(
        self, group: str, member: Assignment, owned: frozenset[LogId] | None = None, *, wait_ms: int = 0
    ) -> Assignment:
        body: dict[str, Any] = {"member_id": member.member_id, "generation": member.generation, "wait_ms": wait_ms}
        if owned is not None:
            body["owned"] = _by_topic(owned)
        found = await self._ask("POST", f"/groups/{group}/heartbeat", body)
        return Assignment(member.member_id, found["generation"], _logs(found["partitions"]), _logs(found["revoke"]))

    async def poll(self, group: str, member: Assignment, *, wait_ms: int = 0, limit: int = 1000) -> list[Got]:
        return (await self.poll_page(group, member, wait_ms, limit))[0]

    async def poll_page(
        self, group: str, member: Assignment, wait_ms: int, limit: int
    ) -> tuple[list[Got], dict[LogId, int]]:
        """Records, and where each partition goes on behind them."""
        found = await self._ask(
            "GET",
            f"/groups/{group}/poll",
            member_id=member.member_id,
            generation=member.generation,
            timeout=wait_ms,
            limit=limit,
            format="base64",
        )
        after = {
            LogId(topic, int(number)): offset
            for topic, some in found["next_offset"].items()
            for number, offset in some.items()
        }
        return [_got(one["topic"], one) for one in found["messages"]], after

    async def leave(self, group: str, member_id: str) -> None:
        await self._ask("POST", f"/groups/{group}/leave", {"member_id": member_id})

    async def commit(self, group: str, offsets: Mapping[LogId, int], member: Assignment | None = None) -> None:
        body: dict[str, Any] = {"offsets": {}}
        for log, offset in offsets.items():
            body["offsets"].setdefault(log.topic, {})[str(log.partition)] = offset
        if member is not None:
            body |= {"member_id": member.member_id, "generation": member.generation}
        await self._ask("POST", f"/groups/{group}/offsets", body)

    @asynccontextmanager
    async def consumer(self, group: str, *topics: str, **options: Any) -> AsyncIterator["HttpConsuming"]:
        member = HttpConsuming(self, group, await self.join(group, topics, **options))
        beating = asyncio.create_task(member.stay())
        try:
            yield member
        finally:
            beating.cancel()
            await asyncio.wait([beating])
            with contextlib.suppress(Refused):
                await self.leave(group, member.told.member_id)


class HttpConsuming:
    """What a program in another language would do: beat, poll, commit."""

    BEAT_S = 0.05

    def __init__(self, path: HttpPath, group: str, told: Assignment) -> None:
        self._path = path
        self._group = group
        self._after: dict[LogId, int] = {}
        self.told = told

    async def stay(self) -> None:
        while True:
            await asyncio.sleep(self.BEAT_S)
            self.told = await self._path.heartbeat(self._group, self.told, self.told.partitions)

    async def poll(self, *, wait_ms: int = 1000, limit: int = 500) -> list[Got]:
        found, after = await self._path.poll_page(self._group, self.told, wait_ms, limit)
        self._after |= after
        return found

    async def commit(self) -> None:
        await self._path.commit(self._group, self._after, self.told)

    async def assigned(self) -> frozenset[LogId]:
        return self.told.partitions


def _message(record: Out) -> dict[str, Any]:
    message: dict[str, Any] = {"value": _base64(record.value), "priority": record.priority}
    if record.key is not None:
        message["key"] = _base64(record.key)
    headers: dict[str, list[Any]] = {}
    for name, value in record.headers:
        headers.setdefault(name, []).append(_base64(value))
    if headers:
        message["headers"] = headers
    if record.partition is not None:
        message["partition"] = record.partition
    if record.id is not None:
        message["id"] = record.id
    return message


def _got(topic: str, message: dict[str, Any]) -> Got:
    headers = [
        (name, one.encode() if isinstance(one, str) else b64decode(one["base64"]))
        for name, given in message["headers"].items()
        for one in (given if isinstance(given, list) else [given])
    ]
    return Got(
        topic,
        message["partition"],
        message["offset"],
        _nanoseconds(message["timestamp"]),
        b64decode(message["key"]["base64"]) if "key" in message else None,
        None if message["value"] is None else b64decode(message["value"]["base64"]),
        tuple(headers),
        message["priority"],
    )


def _base64(data: bytes | None) -> dict[str, str] | None:
    return None if data is None else {"base64": b64encode(data).decode()}


def _nanoseconds(text: str) -> int:
    whole, _, rest = text.removesuffix("Z").partition(".")
    seconds = int(datetime.fromisoformat(whole + "+00:00").timestamp())
    return seconds * 1_000_000_000 + int(rest.ljust(9, "0"))


def _instant(timestamp_ns: int) -> str:
    seconds, rest = divmod(timestamp_ns, 1_000_000_000)
    return f"{datetime.fromtimestamp(seconds, tz=UTC):%Y-%m-%dT%H:%M:%S}.{rest:09d}Z"


def _facts(found: dict[str, Any]) -> TopicFacts:
    ranges = tuple((one["start"], one["stop"]) for one in found["ranges"])
    config = {name: found[name] for name in CONFIG}
    return TopicFacts(found["name"], found["num_partitions"], found["epoch"], ranges, config)


def _logs(partitions: Mapping[str, Sequence[int]]) -> frozenset[LogId]:
    return frozenset(LogId(topic, number) for topic, numbers in partitions.items() for number in numbers)


def _by_topic(logs: frozenset[LogId]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for log in sorted(logs):
        found.setdefault(log.topic, []).append(log.partition)
    return found
