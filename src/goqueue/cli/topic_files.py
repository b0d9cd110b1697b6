"""Files with definitions of topics: their format, and the steps that make a broker agree with one."""

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, Literal

import msgspec

from goqueue.cli.failures import Refused
from goqueue.client import Admin
from goqueue.model.topic import Topic, TopicConfig, WantedConfig, topic_name

__all__ = ["Definition", "Step", "carry_out", "definition_of", "plan", "print_steps", "read", "written"]

VERSION = 1

_DONE = {"create": "created", "alter": "altered", "keep": "kept"}
_PLANNED = {"create": "would create", "alter": "would alter", "keep": "would keep"}


class Definition(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A topic without its records; settings that are left out have their defaults."""

    name: str
    partitions: int = 3
    config: dict[str, Any] = {}  # msgspec makes a new one each time

    def topic_config(self) -> TopicConfig:
        return msgspec.convert(self.config, WantedConfig).config()


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    version: int
    topics: list[Definition]


class Step(msgspec.Struct, frozen=True):
    """The action for one topic, with the settings that it gets, or would get with --alter."""

    topic: str
    action: Literal["create", "alter", "keep", "misfit"]
    detail: str
    partitions: int
    config: TopicConfig


def definition_of(topic: Topic) -> Definition:
    return Definition(topic.name, topic.partitions, msgspec.to_builtins(topic.config))


def written(definitions: Iterable[Definition]) -> str:
    """In the same form each time, so that version control shows what changed."""
    return json.dumps({"version": VERSION, "topics": msgspec.to_builtins(list(definitions))}, indent=2) + "\n"


def read(data: bytes, name: str) -> list[Definition]:
    """Every definition is checked before anything is done."""
    try:
        file = msgspec.json.decode(data, type=_File)
    except msgspec.MsgspecError as error:
        raise Refused(f"{name} is not a file of topics: {error}", hint="`goqueue topic export` writes one") from None
    if file.version != VERSION:
        raise Refused(f"{name} must have version {VERSION}, got {file.version}", hint="export it again")
    for one in file.topics:
        _check(one, name)
    repeated = [topic for topic, times in Counter(one.name for one in file.topics).items() if times > 1]
    if repeated:
        raise Refused(f"{name} has the topic {repeated[0]} more than once", hint="leave one of them out")
    return file.topics


def _check(one: Definition, name: str) -> None:
    topic_name(one.name)
    try:
        one.topic_config()
    except msgspec.ValidationError as error:
        known = ", ".join(TopicConfig.__struct_fields__)
        raise Refused(f"{name} has wrong settings for {one.name}: {error}", hint=f"there are {known}") from None


def plan(definitions: Sequence[Definition], existing: Iterable[Topic], *, alter: bool) -> list[Step]:
    known: dict[str, Topic] = {topic.name: topic for topic in existing}
    return [_step(one, known.get(one.name), alter=alter) for one in definitions]


def _step(one: Definition, topic: Topic | None, *, alter: bool) -> Step:
    config = one.topic_config()
    if topic is None:
        return Step(one.name, "create", f"{one.partitions} partitions", one.partitions, config)
    if topic.partitions != one.partitions:
        detail = f"{one.name} has {topic.partitions} partitions, and {one.partitions} in the file"
        return Step(one.name, "misfit", detail, one.partitions, config)
    # Settings that the file leaves out stay as they are.
    wanted = {setting: getattr(config, setting) for setting in TopicConfig.__struct_fields__ if setting in one.config}
    differing = [setting for setting, value in wanted.items() if value != getattr(topic.config, setting)]
    if not differing:
        return Step(one.name, "keep", "the same settings", one.partitions, topic.config)
    config = msgspec.structs.replace(topic.config, **wanted)
    return Step(one.name, "alter" if alter else "keep", f"differs in {', '.join(differing)}", one.partitions, config)


async def carry_out(admin: Admin, steps: Iterable[Step]) -> None:
    for step in steps:
        if step.action == "create":
            await admin.create_topic(step.topic, step.partitions, step.config)
        elif step.action == "alter":
            await admin.alter_topic(step.topic, step.config)


def print_steps(steps: Sequence[Step], *, executed: bool) -> None:
    for step in steps:
        print(f"{(_DONE if executed else _PLANNED)[step.action]} {step.topic}: {step.detail}")
    if not steps:
        print("the file has no topics")
