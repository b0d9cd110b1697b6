"""What calls about compatibility levels and modes of the schema registry do, globally and for single subjects."""

from goqueue.core.schemas.policies import Config, Level, Mode
from goqueue.engine.broker import Broker
from goqueue.engine.schemas import changing
from goqueue.engine.schemas.looking import settled_registry
from goqueue.gateways.grpc.forms.asking import optional
from goqueue.gateways.grpc.forms.showing import show
from goqueue.gateways.grpc.service import Call, Handler
from goqueue.wire.grpc.v1 import schemas_pb2 as wire

__all__ = ["policy_methods"]


def policy_methods(broker: Broker) -> dict[str, Handler]:
    async def show_config(request: wire.GetSchemaConfigRequest, _: Call) -> wire.GetSchemaConfigResponse:
        policies, subject = (await settled_registry(broker)).policies, optional(request, "subject")
        found = policies.config_in_effect(subject) if request.default_to_global else policies.config(subject)
        return wire.GetSchemaConfigResponse(config=_config(found))

    async def set_config(request: wire.SetSchemaConfigRequest, _: Call) -> wire.SetSchemaConfigResponse:
        level = optional(request.config, "compatibility")
        config = Config(None if level is None else Level.named(level), optional(request.config, "normalize"))
        await changing.set_config(broker, optional(request, "subject"), config)
        return wire.SetSchemaConfigResponse(config=_config(config))

    async def remove_config(request: wire.DeleteSchemaConfigRequest, _: Call) -> wire.DeleteSchemaConfigResponse:
        before = await changing.remove_config(broker, optional(request, "subject"))
        return wire.DeleteSchemaConfigResponse(config=_config(before))

    async def show_mode(request: wire.GetSchemaModeRequest, _: Call) -> wire.GetSchemaModeResponse:
        policies, subject = (await settled_registry(broker)).policies, optional(request, "subject")
        found = policies.mode_in_effect(subject) if request.default_to_global else policies.mode(subject)
        return wire.GetSchemaModeResponse(mode=found)

    async def set_mode(request: wire.SetSchemaModeRequest, _: Call) -> wire.SetSchemaModeResponse:
        mode = Mode.named(request.mode)
        await changing.set_mode(broker, optional(request, "subject"), mode, force=request.force)
        return wire.SetSchemaModeResponse(mode=mode)

    async def remove_mode(request: wire.DeleteSchemaModeRequest, _: Call) -> wire.DeleteSchemaModeResponse:
        return wire.DeleteSchemaModeResponse(mode=await changing.remove_mode(broker, optional(request, "subject")))

    return {
        "GetSchemaConfig": show_config,
        "SetSchemaConfig": set_config,
        "DeleteSchemaConfig": remove_config,
        "GetSchemaMode": show_mode,
        "SetSchemaMode": set_mode,
        "DeleteSchemaMode": remove_mode,
    }


def _config(config: Config) -> wire.SchemaConfig:
    return show(wire.SchemaConfig, config)
