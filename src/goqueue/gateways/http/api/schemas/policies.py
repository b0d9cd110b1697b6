"""Compatibility levels and modes, globally and for single subjects."""

from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, UnsetType

from goqueue.core.schemas.policies import Config, Level, Mode
from goqueue.engine.broker import Broker
from goqueue.engine.schemas import changing
from goqueue.engine.schemas.looking import settled_registry
from goqueue.errors import InvalidRequest
from goqueue.gateways.http.api.schemas.dialect import endpoint
from goqueue.gateways.http.api.schemas.shapes import NoMembers, SubjectParams, subject_in
from goqueue.gateways.http.endpoint import Nothing

__all__ = ["ENDPOINTS"]

LevelText = Annotated[str, Meta(extra_json_schema={"enum": [one.value for one in Level]})]
ModeText = Annotated[str, Meta(extra_json_schema={"enum": [one.value for one in Mode]})]
Empty = Annotated[str, Meta(extra_json_schema={"maxLength": 0})]
Params = SubjectParams | Nothing


class PolicyQuery(msgspec.Struct, frozen=True):
    default_to_global: Annotated[bool, Meta(description="what is in effect, if the subject has none of its own")] = (
        msgspec.field(default=False, name="defaultToGlobal")
    )


class ModeQuery(msgspec.Struct, frozen=True):
    force: Annotated[bool, Meta(description="import mode although there are schemas")] = False


class ConfigIn(msgspec.Struct, frozen=True, rename="camel"):
    """What is left out stays as it was. Of all that registries may have, these two can be set."""

    compatibility: LevelText | None = None
    compatibility_level: LevelText | None = None
    normalize: bool | None = None
    alias: Empty | None = None
    compatibility_group: Empty | None = None
    default_metadata: NoMembers | None = None
    override_metadata: NoMembers | None = None
    default_rule_set: NoMembers | None = None
    override_rule_set: NoMembers | None = None


class ConfigSetOut(msgspec.Struct, frozen=True):
    """What was set."""

    compatibility: str | UnsetType = UNSET
    normalize: bool | UnsetType = UNSET


class ConfigOut(msgspec.Struct, frozen=True, rename="camel"):
    """The compatibility level and whether schemas are normalized."""

    compatibility_level: str | UnsetType = UNSET
    normalize: bool | UnsetType = UNSET


class ModeShape(msgspec.Struct, frozen=True):
    """READWRITE, READONLY, READONLY_OVERRIDE or IMPORT."""

    mode: ModeText


async def show_config(broker: Broker, params: Params, query: PolicyQuery, _: None) -> ConfigOut:
    policies, subject = (await settled_registry(broker)).policies, _subject(params)
    return _config_out(policies.config_in_effect(subject) if query.default_to_global else policies.config(subject))


async def set_config(broker: Broker, params: Params, _: Nothing, body: ConfigIn) -> ConfigSetOut:
    level = body.compatibility if body.compatibility is not None else body.compatibility_level
    beyond = (body.alias, body.compatibility_group, body.default_metadata, body.override_metadata)
    if any((*beyond, body.default_rule_set, body.override_rule_set)):
        raise InvalidRequest(
            "this registry has neither aliases, compatibility groups, metadata nor rules",
            hint="set compatibility and normalize only",
        )
    config = Config(None if level is None else Level.named(level), body.normalize)
    await changing.set_config(broker, _subject(params), config)
    return ConfigSetOut(_or_unset(config.compatibility), _or_unset(config.normalize))


async def remove_config(broker: Broker, params: Params, _: Nothing, __: None) -> ConfigOut:
    return _config_out(await changing.remove_config(broker, _subject(params)))


async def show_mode(broker: Broker, params: Params, query: PolicyQuery, _: None) -> ModeShape:
    policies, subject = (await settled_registry(broker)).policies, _subject(params)
    return ModeShape(policies.mode_in_effect(subject) if query.default_to_global else policies.mode(subject))


async def set_mode(broker: Broker, params: Params, query: ModeQuery, body: ModeShape) -> ModeShape:
    mode = Mode.named(body.mode)
    await changing.set_mode(broker, _subject(params), mode, force=query.force)
    return ModeShape(mode)


async def remove_mode(broker: Broker, params: Params, _: Nothing, __: None) -> ModeShape:
    return ModeShape(await changing.remove_mode(broker, _subject(params)))


def _subject(params: Params) -> str | None:
    return subject_in(params.subject) if isinstance(params, SubjectParams) else None


def _config_out(config: Config) -> ConfigOut:
    return ConfigOut(_or_unset(config.compatibility), config.normalize if config.normalize else UNSET)


def _or_unset(value: Any) -> Any:
    return UNSET if value is None else value


def _endpoints(path: str, whose: str, params: type) -> tuple[Any, ...]:
    config, mode = f"/config{path}", f"/mode{path}"
    return (
        endpoint("GET", config, f"The {whose} compatibility", show_config, ConfigOut, params=params, query=PolicyQuery),
        endpoint(
            "PUT", config, f"Set the {whose} compatibility", set_config, ConfigSetOut, params=params, body=ConfigIn
        ),
        endpoint("DELETE", config, f"Remove the {whose} compatibility", remove_config, ConfigOut, params=params),
        endpoint("GET", mode, f"The {whose} mode", show_mode, ModeShape, params=params, query=PolicyQuery),
        endpoint(
            "PUT", mode, f"Set the {whose} mode", set_mode, ModeShape, params=params, query=ModeQuery, body=ModeShape
        ),
        endpoint("DELETE", mode, f"Remove the {whose} mode", remove_mode, ModeShape, params=params),
    )


ENDPOINTS = (*_endpoints("", "global", Nothing), *_endpoints("/{subject}", "subject's", SubjectParams))
