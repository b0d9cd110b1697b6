"""HTTP as a path: requests and JSON as the API describes them."""

import secrets
from base64 import b64decode, b64encode
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import UTC, datetime
from typing import Any

import httpx

from goqueue.model.log import LogId
from goqueue.model.topic import TopicConfig
from tests.behaviour.beating import Beating, beating_consumer
from tests.behaviour.path import (
    Ability,
    Assignment,
    DelayFacts,
    Got,
    GroupFacts,
    Lent,
    Out,
    Place,
    Refused,
    TopicFacts,
    WorkerFacts,
)
from tests.behaviour.serving import Server

__all__ = ["HttpPath"]

CONFIG = TopicConfig.__struct_fields__


class HttpPath:
    """The JSON API; values go as base64, so that any bytes can."""

    abilities = frozenset(Ability) - {Ability.RELEASE}

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

    async def read(
        self,
        topic: str,
        partition: int,
        offset: int = 0,
        limit: int = 1000,
        *,
        isolation: str = "read_committed",
    ) -> list[Got]:
        found: list[Got] = []
        while len(found) < limit:
            page = await self._ask(
                "GET",
                f"/topics/{topic}/partitions/{partition}/messages",
                offset=offset,
                limit=min(limit - len(found), 1000),
                format="base64",
                isolation=isolation,
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
            found["delayed"],
            tuple(
                WorkerFacts(one["consumer"], one["address"], one["since"], one["in_flight"]) for one in found["workers"]
            ),
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

    # Delays.

    async def delayed(self, topic: str, *, skip: int = 0, limit: int = 100) -> list[DelayFacts]:
        found = await self._ask("GET", f"/topics/{topic}/delayed", skip=skip, limit=limit)
        return [_delay(one) for one in found["delayed"]]

    async def delay(self, topic: str, place: Place) -> tuple[DelayFacts, bytes | None]:
        found = await self._ask("GET", _delayed_at(topic, place), format="base64")
        return _delay(found), b64decode(found["message"]["value"]["base64"])

    async def cancel(self, topic: str, place: Place) -> DelayFacts:
        found = await self._ask("DELETE", _delayed_at(topic, place))
        assert found["cancelled"] is found["canceled"] is True
        return _delay(found)

    async def cancel_many(self, topic: str, places: Sequence[Place]) -> tuple[list[Place], dict[Place, str]]:
        body = {"records": [place._asdict() for place in places]}
        found = await self._ask("POST", f"/topics/{topic}/delayed/cancel", body)
        refused = {Place(one["partition"], one["offset"]): one["code"] for one in found["not_cancelled"]}
        return [Place(**one) for one in found["cancelled"]], refused

    async def reschedule(self, topic: str, place: Place, due_ns: int) -> DelayFacts:
        return _delay(await self._ask("PATCH", _delayed_at(topic, place), {"deliverAt": _instant(due_ns)}))

    async def delay_stats(self, topic: str) -> dict[str, int]:
        found = {one["topic"]: one for one in (await self._ask("GET", "/delay/stats"))["topics"]}
        return {name: found[topic][name] for name in ("pending", "delivered", "cancelled")}

    # Transactions.

    async def begin_transaction(self, transactional_id: str, timeout_ms: int = 60_000) -> dict[str, int]:
        body = {"transactional_id": transactional_id, "transaction_timeout_ms": timeout_ms}
        producer = await self._ask("POST", "/producers/init", body)
        begun = await self._ask("POST", "/transactions/begin", producer)
        return {name: begun[name] for name in ("transaction", "producer_id", "epoch")}

    async def publish_in(self, handle: dict[str, int], topic: str, partition: int, values: Sequence[bytes]) -> None:
        messages = [{"topic": topic, "partition": partition, "value": _base64(value)} for value in values]
        await self._ask("POST", "/transactions/publish", {**handle, "messages": messages})

    async def ack_in(self, handle: dict[str, int], lent: Lent, action: str = "ack") -> None:
        await self._ask("POST", "/transactions/add-acks", {**handle, "receipts": [lent.receipt], "action": action})

    async def offsets_in(self, handle: dict[str, int], group: str, topic: str, partition: int, offset: int) -> None:
        body = {**handle, "group": group, "offsets": {topic: {str(partition): offset}}}
        await self._ask("POST", "/transactions/add-offsets", body)

    async def commit_transaction(self, handle: dict[str, int]) -> None:
        await self._ask("POST", "/transactions/commit", handle)

    async def abort_transaction(self, handle: dict[str, int]) -> None:
        await self._ask("POST", "/transactions/abort", handle)

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
            timeout=f"{wait_ms}ms",
            limit=limit,
            format="base64",
        )
        return [_got(one["topic"], one) for one in found["messages"]], _offsets(found["next_offset"])

    async def leave(self, group: str, member_id: str) -> None:
        await self._ask("POST", f"/groups/{group}/leave", {"member_id": member_id})

    async def commit(self, group: str, offsets: Mapping[LogId, int], member: Assignment | None = None) -> None:
        body: dict[str, Any] = {"offsets": {}}
        for log, offset in offsets.items():
            body["offsets"].setdefault(log.topic, {})[str(log.partition)] = offset
        if member is not None:
            body |= {"member_id": member.member_id, "generation": member.generation}
        await self._ask("POST", f"/groups/{group}/offsets", body)

    def consumer(self, group: str, *topics: str, **options: Any) -> AbstractAsyncContextManager[Beating]:
        return beating_consumer(self, group, topics, **options)

    # Queue.

    @asynccontextmanager
    async def worker(
        self, group: str, *topics: str, visibility_ms: int | None = None, key_order: bool = False
    ) -> AsyncIterator["HttpWorking"]:
        query: dict[str, Any] = {"topics": ",".join(topics), "consumer": secrets.token_hex(8)}
        if visibility_ms is not None:
            query["visibility"] = f"{visibility_ms}ms"
        if key_order:
            query["order"] = "key"
        yield HttpWorking(self, group, query)

    def forged(self, lent: Lent) -> dict[str, Lent]:
        topic, partition, offset, count, nonce = lent.receipt.split(":")
        group, grant, token = nonce.split("/")
        other = token[:-2] + ("AA" if token[-2:] != "AA" else "BB")
        wrong = {
            "another token": f"{topic}:{partition}:{offset}:{count}:{group}/{grant}/{other}",
            "half a token": lent.receipt[:-8],
            "no token": f"{topic}:{partition}:{offset}:{count}:{group}/{grant}/",
            "the next grant": f"{topic}:{partition}:{offset}:{count}:{group}/{int(grant) + 1}/{token}",
            "another group": f"{topic}:{partition}:{offset}:{count}:{group}-other/{grant}/{token}",
            "another partition": f"{topic}:{int(partition) + 1}:{offset}:{count}:{nonce}",
            "another topic": f"{topic}-other:{partition}:{offset}:{count}:{nonce}",
            "an offset far away": f"{topic}:{partition}:{2**62}:{count}:{nonce}",
            "an offset beyond all": f"{topic}:{partition}:{2**70}:{count}:{nonce}",
            "an offset before all": f"{topic}:{partition}:-1:{count}:{nonce}",
            "one part less": lent.receipt.partition(":")[2],
            "one part more": f"{lent.receipt}:more",
            "letters for numbers": f"{topic}:{partition}:x:{count}:{nonce}",
            "something else": "receipt",
        }
        return {what: lent._replace(receipt=receipt) for what, receipt in wrong.items()}


class HttpWorking:
    """An anonymous worker, as curl would be one."""

    def __init__(self, path: HttpPath, group: str, query: dict[str, Any]) -> None:
        self._path = path
        self._group = group
        self._query = query

    async def take(self, limit: int = 100, *, wait_ms: int = 0) -> list[Lent]:
        return (await self.take_page(limit, wait_ms=wait_ms))[0]

    async def take_page(self, limit: int = 100, *, wait_ms: int = 0) -> tuple[list[Lent], dict[LogId, int]]:
        """Records, and what may be committed when they are done."""
        path = f"/groups/{self._group}/poll"
        found = await self._path._ask("GET", path, timeout=f"{wait_ms}ms", limit=limit, format="base64", **self._query)
        lent = [
            Lent(_got(one["topic"], one), one["delivery_count"], one["failure_count"], one["receipt_handle"])
            for one in found["messages"]
        ]
        return lent, _offsets(found["next_offset"])

    async def ack(self, *lent: Lent) -> None:
        await self._say("ack", lent)

    async def nack(self, *lent: Lent, reason: str = "", delay_ms: int | None = None) -> None:
        delay = {} if delay_ms is None else {"delay": delay_ms}
        await self._say("nack", lent, reason=reason, **delay)

    async def reject(self, *lent: Lent, reason: str = "") -> None:
        await self._say("reject", lent, reason=reason)

    async def extend(self, *lent: Lent, visibility_ms: int) -> None:
        await self._say("visibility", lent, extension_seconds=visibility_ms / 1000)

    async def _say(self, what: str, lent: Sequence[Lent], **more: Any) -> None:
        if len(lent) == 1:
            await self._path._ask("POST", f"/messages/{what}", {"receipt_handle": lent[0].receipt, **more})
            return
        body = {"receipt_handles": [one.receipt for one in lent], **more}
        results = (await self._path._ask("POST", f"/messages/{what}", body))["results"]
        failed = next((one for one in results if not one["success"]), None)
        if failed is not None:
            raise Refused(failed["code"], failed["error"])


def _offsets(given: Mapping[str, Mapping[str, int]]) -> dict[LogId, int]:
    return {LogId(topic, int(number)): offset for topic, some in given.items() for number, offset in some.items()}


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
    if record.delay_ms is not None:
        message["delay"] = record.delay_ms
    if record.deliver_at_ns is not None:
        message["deliverAt"] = _instant(record.deliver_at_ns)
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


def _delayed_at(topic: str, place: Place) -> str:
    return f"/topics/{topic}/delayed/{place.partition}/{place.offset}"


def _delay(found: dict[str, Any]) -> DelayFacts:
    due_ns = _nanoseconds(found["deliverAt"]) if "deliverAt" in found else None
    return DelayFacts(found["partition"], found["offset"], found["state"], due_ns)


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
