"""Choices have the same names in the protocol as in the broker, and settings are read as they are meant."""

from enum import Enum
from typing import get_args

import pytest

from goqueue.core.delay.states import DelayState
from goqueue.core.groups.assignment.assignors import Assignor
from goqueue.core.groups.state.members import Protocol
from goqueue.core.schedules.cron import Gap, Overlap
from goqueue.core.schedules.events import Outcome
from goqueue.core.schedules.schedule import Misfire, ScheduleConfig
from goqueue.core.schedules.state import Status
from goqueue.engine.group_views import ShownState
from goqueue.engine.tracing.journey import Found
from goqueue.engine.transactions.pledging import Action
from goqueue.errors import InvalidRequest
from goqueue.gateways.grpc.api.schedules import CLEARABLE as CLEARABLE_IN_SCHEDULES
from goqueue.gateways.grpc.api.topics import CLEARABLE
from goqueue.gateways.grpc.forms.asking import given, limited, read, without
from goqueue.gateways.grpc.forms.enums import number_of, text_of
from goqueue.gateways.grpc.forms.showing import show
from goqueue.model.span import Operation
from goqueue.model.topic import Cleanup, Durability, Expired, LaneMode, SchemaValidation, TopicConfig
from goqueue.wire.grpc.v1 import (
    delays_pb2,
    groups_pb2,
    records_pb2,
    schedules_pb2,
    topics_pb2,
    traces_pb2,
    transactions_pb2,
)

SAME = {
    "durability": (Durability, records_pb2.Durability),
    "cleanup": (Cleanup, topics_pb2.Cleanup),
    "expired": (Expired, topics_pb2.Expired),
    "lane mode": (LaneMode, topics_pb2.LaneMode),
    "schema validation": (SchemaValidation, topics_pb2.SchemaValidation),
    "delay state": (DelayState, delays_pb2.DelayState),
    "group state": (ShownState, groups_pb2.GroupState),
    "protocol": (Protocol, groups_pb2.GroupProtocol),
    "assignor": (Assignor, groups_pb2.Assignor),
    "misfire": (Misfire, schedules_pb2.Misfire),
    "gap": (Gap, schedules_pb2.DstGap),
    "overlap": (Overlap, schedules_pb2.DstOverlap),
    "status": (Status, schedules_pb2.ScheduleStatus),
    "outcome": (Outcome, schedules_pb2.FiringOutcome),
    "operation": (Operation, traces_pb2.SpanOperation),
    "found": (Found, traces_pb2.RecordFound),
    "action": (Action, transactions_pb2.SettleAction),
}


@pytest.mark.parametrize(("ours", "theirs"), SAME.values(), ids=list(SAME))
def test_every_choice_of_the_broker_is_one_of_the_protocol_and_the_other_way_round(ours, theirs):
    names = [one.value for one in ours] if isinstance(ours, type) and issubclass(ours, Enum) else get_args(ours)
    numbers = [number_of(theirs.DESCRIPTOR, name) for name in names]
    assert sorted(numbers) == list(range(1, len(theirs.values())))
    # Those that are only told, and never asked for, may be capitalised.
    assert [text_of(theirs.DESCRIPTOR, number) for number in numbers] == [name.lower() for name in names]


def test_every_setting_of_a_topic_can_be_set_and_shown():
    shown = show(topics_pb2.TopicSettings, TopicConfig(), cleared=())
    assert {field.name for field in shown.DESCRIPTOR.fields} == {*TopicConfig.__struct_fields__, "cleared"}
    assert read(shown, TopicConfig, retention_bytes=None) == TopicConfig()


def test_what_can_be_cleared_are_the_settings_that_may_have_no_value():
    nothing = {name for name in TopicConfig.__struct_fields__ if type(None) in get_args(_type_of(TopicConfig, name))}
    assert nothing == CLEARABLE
    renamed = {name.removesuffix("_ns") for name in CLEARABLE_IN_SCHEDULES}
    optional = {
        name for name in ScheduleConfig.__struct_fields__ if type(None) in get_args(_type_of(ScheduleConfig, name))
    }
    # One of cron and every_s takes the place of the other; headers may be none at all.
    assert renamed == (optional - {"cron", "every_s"}) | {"headers"}


def _type_of(kind, name):
    return kind.__annotations__[name]


def test_zero_is_a_value_where_a_field_may_be_left_out():
    settings = topics_pb2.TopicSettings(dedup_window_ms=0, retry_jitter=0.0)
    assert given(settings) == {"dedup_window_ms": 0, "retry_jitter": 0.0}


def test_a_choice_that_there_is_not_is_refused_with_those_that_there_are():
    with pytest.raises(InvalidRequest) as refusal:
        given(topics_pb2.TopicSettings(cleanup=9))
    assert "CLEANUP_COMPACT" in refusal.value.hint


@pytest.mark.parametrize("cleared", [["name"], ["durability"], ["retention_ms"]])
def test_only_what_may_have_no_value_and_is_given_none_can_be_cleared(cleared):
    with pytest.raises(InvalidRequest):
        without({"retention_ms": 5, "cleared": cleared}, CLEARABLE)


def test_a_limit_that_is_left_out_is_the_usual_one():
    assert limited(None, 100, 1000) == 100
    assert limited(1000, 100, 1000) == 1000
    for wrong in (0, -1, 1001):
        with pytest.raises(InvalidRequest):
            limited(wrong, 100, 1000)
