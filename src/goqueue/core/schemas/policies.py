"""Registry policies: the compatibility level and the mode, globally and per subject."""

from enum import StrEnum

import msgspec

from goqueue.core.schemas.schema import check_subject
from goqueue.errors import (
    CompatibilityNotSet,
    InvalidCompatibilityLevel,
    InvalidMode,
    InvalidRequest,
    ModeNotSet,
    OperationNotPermitted,
    UnknownSubject,
)

__all__ = [
    "Config",
    "ConfigRemoved",
    "ConfigSet",
    "Level",
    "Mode",
    "ModeRemoved",
    "ModeSet",
    "Policies",
    "PolicyEvent",
    "PolicySnapshot",
]

MOST_POLICIES = 100_000


class Level(StrEnum):
    """Compatibility promise of a new schema towards earlier ones."""

    NONE = "NONE"
    BACKWARD = "BACKWARD"
    BACKWARD_TRANSITIVE = "BACKWARD_TRANSITIVE"
    FORWARD = "FORWARD"
    FORWARD_TRANSITIVE = "FORWARD_TRANSITIVE"
    FULL = "FULL"
    FULL_TRANSITIVE = "FULL_TRANSITIVE"

    @classmethod
    def named(cls, name: str) -> "Level":
        try:
            return cls(name.upper())
        except ValueError:
            raise InvalidCompatibilityLevel(
                f"Invalid compatibility level {name[:40]!r}. Valid values are {', '.join(cls)}",
                hint=f"one of {', '.join(cls)}",
            ) from None


class Mode(StrEnum):
    """Allowed changes."""

    READWRITE = "READWRITE"
    READONLY = "READONLY"
    READONLY_OVERRIDE = "READONLY_OVERRIDE"
    """Set globally: read-only, whatever the modes of single subjects."""
    IMPORT = "IMPORT"
    """Schemas are registered with their ids and versions from elsewhere, and are not compared."""

    @classmethod
    def named(cls, name: str) -> "Mode":
        try:
            return cls(name.upper())
        except ValueError:
            raise InvalidMode(f"Invalid mode {name[:40]!r}. Valid values are {', '.join(cls)}") from None


class Config(msgspec.Struct, frozen=True):
    """None means unset: the global configuration applies, or else the default."""

    compatibility: Level | None = None
    normalize: bool | None = None

    def over(self, other: "Config") -> "Config":
        return Config(
            other.compatibility if self.compatibility is None else self.compatibility,
            other.normalize if self.normalize is None else self.normalize,
        )


DEFAULT = Config(Level.BACKWARD, False)


class ConfigSet(msgspec.Struct, frozen=True, tag="schema_config_set"):
    """`subject` is None for the global configuration, here and below."""

    subject: str | None
    config: Config


class ConfigRemoved(msgspec.Struct, frozen=True, tag="schema_config_removed"):
    subject: str | None


class ModeSet(msgspec.Struct, frozen=True, tag="schema_mode_set"):
    subject: str | None
    mode: Mode


class ModeRemoved(msgspec.Struct, frozen=True, tag="schema_mode_removed"):
    subject: str | None


PolicyEvent = ConfigSet | ConfigRemoved | ModeSet | ModeRemoved


class PolicySnapshot(msgspec.Struct, frozen=True):
    configs: tuple[tuple[str | None, Config], ...] = ()
    modes: tuple[tuple[str | None, Mode], ...] = ()


class Policies:
    """Configurations and modes by subject; the global ones under None."""

    def __init__(self) -> None:
        self._configs: dict[str | None, Config] = {}
        self._modes: dict[str | None, Mode] = {}

    # Queries

    def config(self, subject: str | None) -> Config:
        """The subject's own configuration; the global configuration always exists."""
        if subject is None:
            return self._configs.get(None, DEFAULT).over(DEFAULT)
        try:
            return self._configs[subject]
        except KeyError:
            raise CompatibilityNotSet(
                f"Subject {subject!r:.270} does not have subject-level compatibility configured"
            ) from None

    def config_in_effect(self, subject: str | None) -> Config:
        return self._configs.get(subject, Config()).over(self.config(None))

    def level(self, subject: str) -> Level:
        level = self.config_in_effect(subject).compatibility
        assert level is not None
        return level

    def mode(self, subject: str | None) -> Mode:
        if subject is None:
            return self._modes.get(None, Mode.READWRITE)
        try:
            return self._modes[subject]
        except KeyError:
            raise ModeNotSet(f"Subject {subject!r:.270} does not have subject-level mode configured") from None

    def mode_in_effect(self, subject: str | None) -> Mode:
        whole = self.mode(None)
        return whole if whole is Mode.READONLY_OVERRIDE else self._modes.get(subject, whole)

    def check_writable(self, subject: str | None) -> None:
        if self.mode_in_effect(subject) in (Mode.READONLY, Mode.READONLY_OVERRIDE):
            whose = "the registry" if subject is None else f"the subject {subject!r:.270}"
            raise OperationNotPermitted(f"{whose} is in read-only mode")

    # Commands of operators

    def set_config(self, subject: str | None, config: Config) -> ConfigSet:
        """Fields that are None in `config` stay unchanged."""
        self.check_writable(subject)
        self._check_room(subject, self._configs)
        return ConfigSet(subject, config.over(self._configs.get(subject, Config())))

    def remove_config(self, subject: str | None) -> ConfigRemoved:
        self.check_writable(subject)
        if subject is not None and subject not in self._configs:
            raise UnknownSubject(f"Subject {subject!r:.270} not found.")
        return ConfigRemoved(subject)

    def set_mode(self, subject: str | None, mode: Mode) -> ModeSet:
        self._check_room(subject, self._modes)
        return ModeSet(subject, mode)

    def remove_mode(self, subject: str | None) -> ModeRemoved:
        if subject is not None and subject not in self._modes:
            raise UnknownSubject(f"Subject {subject!r:.270} not found.")
        return ModeRemoved(subject)

    # Snapshots

    def apply(self, event: PolicyEvent) -> None:
        match event:
            case ConfigSet(subject, config):
                self._configs[subject] = config
            case ConfigRemoved(subject):
                self._configs.pop(subject, None)
            case ModeSet(subject, mode):
                self._modes[subject] = mode
            case ModeRemoved(subject):
                self._modes.pop(subject, None)

    def forget(self, subject: str) -> None:
        """Called when the subject is permanently deleted."""
        self._configs.pop(subject, None)
        self._modes.pop(subject, None)

    def snapshot(self) -> PolicySnapshot:
        return PolicySnapshot(tuple(self._configs.items()), tuple(self._modes.items()))

    def restore(self, snapshot: PolicySnapshot) -> None:
        self._configs = dict(snapshot.configs)
        self._modes = dict(snapshot.modes)

    def _check_room(self, subject: str | None, kept: dict[str | None, Config] | dict[str | None, Mode]) -> None:
        if subject is not None:
            check_subject(subject)
        if subject not in kept and len(kept) >= MOST_POLICIES:
            raise InvalidRequest(
                f"{MOST_POLICIES} subjects have settings of their own, and there can be no more",
                hint="remove some, or set it globally",
            )
