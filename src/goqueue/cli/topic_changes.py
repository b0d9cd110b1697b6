"""What the flags of `goqueue topic create` and `alter` make of a topic's settings."""

from collections.abc import Sequence

import msgspec

from goqueue.cli.amounts import parse_limit_ms, parse_size, parse_size_limit
from goqueue.cli.failures import Refused
from goqueue.model.durations import parse_duration_ms
from goqueue.model.topic import Cleanup, Durability, TopicConfig, WantedConfig

__all__ = ["SettingChange", "TopicChanges", "changed", "differences"]


class TopicChanges(msgspec.Struct, frozen=True):
    """Settings as they were typed; None, or nothing, for those that were not."""

    retention: str | None = None
    retention_bytes: str | None = None
    cleanup: Cleanup | None = None
    durability: Durability | None = None
    max_value: str | None = None
    delete_retention: str | None = None
    dedup_window: str | None = None
    by_name: Sequence[str] = ()

    def require_any(self) -> None:
        if self == TopicChanges():
            raise Refused("nothing to change", hint="name a setting, such as --retention 7d")

    def settings(self) -> dict[str, object]:
        """Names and values as the broker knows them."""
        found: dict[str, object] = {}
        if self.retention is not None:
            found["retention_ms"] = parse_limit_ms(self.retention)
        if self.retention_bytes is not None:
            found["retention_bytes"] = parse_size_limit(self.retention_bytes)
        if self.cleanup is not None:
            found["cleanup"] = self.cleanup
        if self.durability is not None:
            found["durability"] = self.durability
        if self.max_value is not None:
            found["max_value_bytes"] = parse_size(self.max_value)
        if self.delete_retention is not None:
            found["delete_retention_ms"] = parse_duration_ms(self.delete_retention)
        if self.dedup_window is not None:
            found["dedup_window_ms"] = parse_duration_ms(self.dedup_window)
        return found | dict(map(_named, self.by_name))


class SettingChange(msgspec.Struct, frozen=True):
    setting: str
    before: object
    after: object


def changed(config: TopicConfig, changes: TopicChanges) -> TopicConfig:
    """The settings with these changes, checked as far as that can be done here."""
    try:
        wanted = msgspec.structs.asdict(config) | changes.settings()
        return msgspec.convert(wanted, WantedConfig, strict=False).config()
    except msgspec.ValidationError as error:
        known = ", ".join(msgspec.structs.asdict(config))
        raise Refused(f"settings are wrong: {error}", hint=f"there are {known}") from None


def differences(before: TopicConfig, after: TopicConfig) -> list[SettingChange]:
    old, new = msgspec.to_builtins(before), msgspec.to_builtins(after)
    return [SettingChange(name, old[name], new[name]) for name in old if old[name] != new[name]]


def _named(text: str) -> tuple[str, object]:
    name, equals, value = text.partition("=")
    if not equals:
        raise Refused(f"--set {text} has no value", hint="write it as NAME=VALUE, such as retention_ms=3600000")
    return name.strip(), None if value.strip().lower() == "none" else value.strip()
