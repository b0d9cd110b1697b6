"""Schedules over HTTP."""

from goqueue.engine.placement import Placement
from goqueue.engine.schedules import fire_due

DAILY = {
    "id": "daily",
    "topic": "reports",
    "cron": "0 9 * * MON-FRI",
    "zone": "Europe/Berlin",
    "value": {"kind": "daily"},
    "key": "all",
    "priority": "high",
    "jitter": "5s",
    "max_firings": 100,
}


async def created(http, **more):
    await http.post("/topics", json={"name": "reports", "num_partitions": 1})
    return await http.post("/schedules", json=DAILY | more)


async def test_a_schedule_is_made_shown_changed_and_deleted(http):
    made = await created(http)
    assert made.status_code == 201
    assert made.json()["status"] == "active"
    assert (made.json()["value"], made.json()["priority"], made.json()["jitter_ms"]) == ('{"kind":"daily"}', 1, 5000)
    assert (await http.get("/schedules/daily")).json() == made.json()
    assert [one["id"] for one in (await http.get("/schedules")).json()["schedules"]] == ["daily"]
    changed = (await http.patch("/schedules/daily", json={"every": "1m", "paused": True})).json()
    assert (changed["cron"], changed["every_seconds"], changed["status"]) == (None, 60, "paused")
    assert (changed["next_due"], changed["key"]) == (None, "all")
    assert (await http.delete("/schedules/daily")).json() == {"id": "daily", "deleted": True}
    gone = await http.get("/schedules/daily")
    assert (gone.status_code, gone.json()["code"]) == (404, "unknown_schedule")


async def test_a_firing_stands_in_the_history_with_where_its_record_is(http, broker, clock):
    await http.post("/topics", json={"name": "reports"})
    every = {"topic": "reports", "every": "10s", "value": "ping", "key": "k"}
    schedule = (await http.post("/schedules", json=every)).json()["id"]
    clock.advance_ms(10_000)
    assert await fire_due(broker, Placement()) == 1
    (firing,) = (await http.get(f"/schedules/{schedule}")).json()["history"]
    assert (firing["outcome"], firing["count"], firing["offset"]) == ("fired", 1, 0)
    where = f"/topics/reports/partitions/{firing['partition']}/messages"
    (message,) = (await http.get(where)).json()["messages"]
    assert (message["value"], message["key"]) == ("ping", "k")


async def test_what_cannot_be_is_refused_with_a_hint_and_changes_nothing(http):
    assert (await created(http)).status_code == 201
    again = await created(http)
    assert (again.status_code, again.json()["code"]) == (409, "schedule_exists")
    wrong = [
        {"cron": "61 * * * *"},
        {"cron": "* * * * *", "every": "10s"},
        {"zone": "Mars/Olympus"},
        {"every": "1500ms", "cron": None},
        {"value": None},
        {"id": "no spaces"},
    ]
    for one in wrong:
        body = {
            name: value
            for name, value in (DAILY | {"id": "other"} | one).items()
            if value is not None or name == "value"
        }
        answer = await http.post("/schedules", json=body)
        assert (answer.status_code, answer.json()["code"]) == (400, "invalid_request"), one
    over = await http.post("/schedules", json=DAILY | {"id": "other", "end": "2001-01-01T00:00:00Z"})
    assert (over.status_code, over.json()["code"]) == (409, "state_conflict")
    unknown = await http.post("/schedules", json=DAILY | {"id": "other", "topic": "none"})
    assert (unknown.status_code, unknown.json()["code"]) == (404, "unknown_topic")
    assert len((await http.get("/schedules")).json()["schedules"]) == 1
