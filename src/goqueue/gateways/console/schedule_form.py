"""A new schedule as a form: what is asked, and what it makes of the answers."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

import msgspec

from goqueue.core.schedules.schedule import Misfire, ScheduleConfig
from goqueue.errors import InvalidRequest
from goqueue.gateways.console.forms import PRIORITIES, header_lines, instant_ns
from goqueue.model.durations import parse_duration_ms

__all__ = ["BLANK", "NewSchedule", "config_from"]

Short = Annotated[str, msgspec.Meta(max_length=1000)]


class NewSchedule(msgspec.Struct, frozen=True):
    """As it stands in the form; what is empty has its default."""

    id: Short = ""
    topic: Short = ""
    kind: Literal["cron", "every"] = "cron"
    cron: Short = ""
    every: Short = ""
    zone: Short = "UTC"
    start: Short = ""
    end: Short = ""
    misfire: Misfire = Misfire.ONCE
    jitter: Short = ""
    max_firings: Annotated[int, msgspec.Meta(ge=1)] | None = None
    priority: Literal["critical", "high", "normal", "low", "background"] = "normal"
    key: str = ""
    value: str = ""
    headers: str = ""
    description: Short = ""


BLANK: Mapping[str, str] = {
    name: "" if value is None else str(value) for name, value in msgspec.structs.asdict(NewSchedule()).items()
}


def config_from(form: NewSchedule) -> ScheduleConfig:
    if not form.id:
        raise InvalidRequest("the schedule has no name", hint="letters, digits, dots, underscores and hyphens")
    if not form.topic:
        raise InvalidRequest("there is no topic to publish to", hint="name one that is there")
    times: dict[str, Any] = {"cron": form.cron} if form.kind == "cron" else {"every_s": _seconds(form.every)}
    return ScheduleConfig(
        id=form.id,
        topic=form.topic,
        value=form.value.replace("\r\n", "\n").encode(),
        key=form.key.encode() if form.key else None,
        headers=header_lines(form.headers),
        priority=PRIORITIES.index(form.priority),
        zone=form.zone,
        start=instant_ns(form.start, "Starts") if form.start else None,  # type: ignore[arg-type]
        end=instant_ns(form.end, "Ends") if form.end else None,  # type: ignore[arg-type]
        misfire=form.misfire,
        jitter_ms=parse_duration_ms(form.jitter, "Jitter") if form.jitter else 0,
        max_firings=form.max_firings,
        description=form.description,
        **times,
    )


def _seconds(text: str) -> int:
    milliseconds = parse_duration_ms(text, "Every")
    if milliseconds < 1000 or milliseconds % 1000:
        raise InvalidRequest(f"Every: {text[:60]!r}", hint="give whole seconds, at least one")
    return milliseconds // 1000
