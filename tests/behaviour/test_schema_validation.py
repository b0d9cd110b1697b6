"""Values fit the schemas of their topic whichever way they are published, and those that do not leave no trace."""

import json
import time

import httpx
import pytest

from tests.behaviour.path import Ability, Out, Refused
from tests.behaviour.paths import PATHS, able, over, refused
from tests.behaviour.serving import running_server

ORDER = {"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]}
LATER_ORDER = ORDER | {"properties": {"id": {"type": "integer"}, "note": {"type": "string"}}}
AVRO_ORDER = {"type": "record", "name": "Order", "fields": [{"name": "id", "type": "int"}]}
GOOD, BAD = b'{"id": 1}', b'{"id": "one"}'
VIOLATION = "schema_violation"


class Registry:
    """As an existing serializer speaks to it."""

    def __init__(self, server):
        self._http = httpx.Client(base_url=f"http://{server.http}/schemas", verify=False, trust_env=False)

    def register(self, subject, schema, kind="JSON"):
        body = {"schema": json.dumps(schema), "schemaType": kind}
        return self._ask("POST", f"/subjects/{subject}/versions", json=body)["id"]

    def set_level(self, subject, level):
        self._ask("PUT", f"/config/{subject}", json={"compatibility": level})

    def delete(self, subject, version):
        self._ask("DELETE", f"/subjects/{subject}/versions/{version}")

    def _ask(self, method, path, **more):
        answer = self._http.request(method, path, **more)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def close(self):
        self._http.close()


@pytest.fixture
def registry(shared_broker):
    made = Registry(shared_broker)
    yield made
    made.close()


def framed(schema_id, payload):
    return b"\0" + schema_id.to_bytes(4, "big") + payload


async def put(path, topic, *values, **more):
    return await path.publish(topic, [Out(value, partition=0, **more) for value in values])


async def kept(path, topic):
    return [one.value for one in await path.read(topic, 0)]


@over(Ability.TOPICS, Ability.RECORDS)
async def test_before_there_is_a_schema_anything_passes_and_afterwards_what_fits(path, topic, registry):
    await put(path, topic, b"anything")
    number = registry.register(topic, ORDER)
    await put(path, topic, GOOD, framed(number, GOOD), None)
    for wrong in (BAD, b"{}", b"not JSON", framed(number, BAD), framed(999_999, GOOD), b"", b"\0"):
        with refused(VIOLATION):
            await put(path, topic, wrong)
    assert await kept(path, topic) == [b"anything", GOOD, framed(number, GOOD), None]


@over(Ability.TOPICS, Ability.RECORDS)
async def test_a_refusal_says_where_and_why(path, topic, registry):
    number = registry.register(topic, ORDER)
    with pytest.raises(Refused) as refusal:
        await put(path, topic, BAD)
    reason = f'at /id: "one" is not of type "integer" (schema {number} of the subject {topic})'
    assert str(refusal.value).endswith(reason)


@over(Ability.TOPICS, Ability.RECORDS)
async def test_after_a_refusal_the_same_producer_goes_on(path, topic, registry):
    registry.register(topic, ORDER)
    values = []
    for step in range(5):
        values.append(b'{"id": %d}' % step)
        await put(path, topic, values[-1])
        with refused(VIOLATION):
            await put(path, topic, BAD, BAD)
    assert await kept(path, topic) == values


@over(Ability.TOPICS, Ability.RECORDS)
async def test_schemas_may_evolve_and_a_deleted_version_is_used_no_more(path, topic, registry):
    registry.set_level(topic, "NONE")
    first, second = registry.register(topic, ORDER), registry.register(topic, LATER_ORDER)
    noted = b'{"id": 1, "note": 5}'
    await put(path, topic, framed(first, noted), framed(second, GOOD))
    with refused(VIOLATION):
        await put(path, topic, framed(second, noted))
    registry.delete(topic, 1)
    with refused(VIOLATION):
        await put(path, topic, framed(first, GOOD))
    registry.delete(topic, 2)
    await put(path, topic, b"anything")
    assert await kept(path, topic) == [framed(first, noted), framed(second, GOOD), b"anything"]


@over(Ability.TOPICS, Ability.RECORDS)
async def test_a_topic_says_whether_values_are_checked_and_by_which_subject(path, name, registry):
    subject = f"{name[-200:]}-value"
    made = await path.create_topic(name, schema_validation="on", schema_subject=subject)
    assert (made.config["schema_validation"], made.config["schema_subject"]) == ("on", subject)
    with refused(VIOLATION):
        await put(path, name, GOOD)
    registry.register(subject, ORDER)
    await put(path, name, GOOD)
    await path.alter_topic(name, schema_validation="off")
    await put(path, name, BAD)
    await path.alter_topic(name, schema_validation="auto")
    with refused(VIOLATION):
        await put(path, name, BAD)
    await path.alter_topic(name, schema_subject=None)
    await put(path, name, BAD)
    assert await kept(path, name) == [GOOD, BAD, BAD]


@over(Ability.TOPICS, Ability.RECORDS)
async def test_avro_values_name_their_schema(path, topic, registry):
    number = registry.register(topic, AVRO_ORDER, "AVRO")
    await put(path, topic, framed(number, b"\x02"))
    for wrong in (b"\x02", GOOD, framed(number, b""), framed(number, b"\x02\x02")):
        with refused(VIOLATION):
            await put(path, topic, wrong)
    assert await kept(path, topic) == [framed(number, b"\x02")]


@over(Ability.TOPICS, Ability.DELAYS)
async def test_a_record_for_later_is_checked_at_once(path, topic, registry):
    registry.register(topic, ORDER)
    with refused(VIOLATION):
        await put(path, topic, BAD, delay_ms=3_600_000)
    await put(path, topic, GOOD, delay_ms=3_600_000)
    assert len(await path.delayed(topic)) == 1


@over(Ability.TOPICS, Ability.TRANSACTIONS)
async def test_in_a_transaction_values_have_to_fit_too(path, topic, registry):
    registry.register(topic, ORDER)
    begun = await path.begin_transaction(topic)
    with refused(VIOLATION):
        await path.publish_in(begun, topic, 0, [GOOD, BAD])
    await path.abort_transaction(begun)
    begun = await path.begin_transaction(topic)
    await path.publish_in(begun, topic, 0, [GOOD])
    await path.commit_transaction(begun)
    assert await kept(path, topic) == [GOOD]


async def test_a_restarted_broker_goes_on_to_check_and_is_not_stopped_by_evil_values(tmp_path):
    tree = {"type": "record", "name": "N", "fields": [{"name": "next", "type": ["null", "N"]}]}
    with running_server(tmp_path / "broker") as server:
        registry = Registry(server)
        path = PATHS["native"](server)
        await path.create_topic("orders", 1)
        await path.create_topic("trees", 1)
        registry.register("orders", ORDER)
        number = registry.register("trees", tree, "AVRO")
        await put(path, "orders", GOOD)
        await path.close()
        server.crash_and_restart()
        for kind in able(Ability.RECORDS):
            path = PATHS[kind](server)
            with refused(VIOLATION):
                await put(path, "orders", BAD)
            await put(path, "orders", GOOD)
            with refused(VIOLATION):
                await put(path, "trees", framed(number, b"\x02" * 1_000_000 + b"\0"))
            await path.close()
        registry.close()
        server.stop()


async def test_large_batches_are_checked_in_order(tmp_path):
    with running_server(tmp_path / "broker") as server:
        registry, path = Registry(server), PATHS["asyncio"](server)
        await path.create_topic("orders", 1)
        registry.register("orders", ORDER)
        values = [b'{"id": %d, "text": "%s"}' % (number, b"x" * 200) for number in range(10_000)]
        began = time.monotonic()
        await put(path, "orders", *values)
        assert time.monotonic() - began < 30
        assert [one.value for one in await path.read("orders", 0, limit=20_000)] == values
        await path.close()
        registry.close()
