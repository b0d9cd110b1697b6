"""What a schedule may ask for."""

import msgspec
import pytest

from goqueue.core.schedules.checks import check_config
from goqueue.core.schedules.schedule import ScheduleConfig, SchedulePatch, patched
from goqueue.errors import InvalidRequest
from tests.unit.schedules.scene import at, config


@pytest.mark.parametrize(
    "wrong",
    [
        {"id": ""},
        {"id": "a b"},
        {"id": "x" * 201},
        {"topic": "no/topic"},
        {"cron": None},
        {"cron": "0 * * * *", "every_s": 5},
        {"cron": "hourly"},
        {"zone": "Nowhere"},
        {"every_s": 0},
        {"start": at("2026-06-02 00:00"), "end": at("2026-06-01 00:00")},
        {"start": -1},
        {"end": 1 << 63},
        {"priority": 5},
        {"value": bytes(256 * 1024 + 1)},
        {"key": bytes(65_536)},
        {"headers": (("h", bytes(32 * 1024)),)},
        {"headers": (("\ud800", b""),)},
        {"misfire_after_ms": -1},
        {"catch_up_most": 0},
        {"catch_up_most": 1001},
        {"jitter_ms": -1},
        {"max_firings": 0},
        {"description": "x" * 1001},
    ],
    ids=str,
)
def test_what_cannot_be_carried_out_is_refused(wrong):
    with pytest.raises(InvalidRequest) as refusal:
        check_config(config(**wrong))
    assert refusal.value.message
    assert refusal.value.hint or "surrogate" in refusal.value.message


def test_a_refusal_says_what_to_do():
    with pytest.raises(InvalidRequest) as refusal:
        check_config(config(cron="0 25 * * *"))
    assert refusal.value.message == "'0 25 * * *' is not a cron expression: bad hour"
    assert "five fields" in refusal.value.hint


def test_the_largest_of_everything_is_allowed():
    check_config(config(value=bytes(256 * 1024), key=bytes(65_535), catch_up_most=1000, priority=4, id="x" * 200))


def test_a_config_survives_being_written_and_refuses_fields_it_does_not_know():
    full = config(key=b"k", headers=(("h", b"v"),), zone="Europe/Berlin", start=at("2026-06-02 00:00"), max_firings=3)
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(full), type=ScheduleConfig) == full
    with pytest.raises(msgspec.ValidationError):
        msgspec.json.decode(b'{"id": "a", "topic": "t", "crom": "* * * * *"}', type=ScheduleConfig)


def test_a_patch_changes_what_it_names_and_nothing_else():
    before = config(key=b"k", max_firings=3)
    after = patched(before, msgspec.json.decode(b'{"max_firings": null, "jitter_ms": 5}', type=SchedulePatch))
    assert after == config(key=b"k", jitter_ms=5)


def test_naming_a_fixed_rate_takes_the_place_of_the_expression_and_the_other_way_round():
    by_rate = patched(config(cron="0 * * * *"), SchedulePatch(every_s=5))
    assert (by_rate.cron, by_rate.every_s) == (None, 5)
    by_cron = patched(by_rate, SchedulePatch(cron="@daily"))
    assert (by_cron.cron, by_cron.every_s) == ("@daily", None)
