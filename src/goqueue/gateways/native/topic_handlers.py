"""What native requests that change topics do."""

import msgspec

from goqueue.engine import topics
from goqueue.engine.broker import Broker
from goqueue.errors import InvalidRequest
from goqueue.gateways.native.routes import Answer, Route
from goqueue.model.topic import TopicConfig, WantedConfig, topic_name
from goqueue.wire.native import messages
from goqueue.wire.native.frames import Opcode

__all__ = ["topic_routes"]


def topic_routes(broker: Broker) -> list[Route]:
    """Opcode, request type and what answers it."""

    async def create(request: messages.CreateTopic) -> Answer:
        name = topic_name(request.name)
        return messages.TopicReply(
            await topics.create_topic(broker, name, request.partitions, request.config.config())
        ), []

    async def alter(request: messages.AlterTopic) -> Answer:
        def amended(config: TopicConfig) -> TopicConfig:
            try:
                return msgspec.convert(msgspec.to_builtins(config) | request.config, WantedConfig).config()
            except msgspec.ValidationError as error:
                raise InvalidRequest(f"the settings cannot be read: {error}") from None

        topic = await topics.amend_topic(broker, topic_name(request.name), amended)
        return messages.TopicReply(topic), []

    async def delete(request: messages.DeleteTopic) -> Answer:
        await topics.delete_topic(broker, topic_name(request.name))
        return messages.Done(), []

    return [
        Route(Opcode.CREATE_TOPIC, messages.CreateTopic, create),
        Route(Opcode.ALTER_TOPIC, messages.AlterTopic, alter),
        Route(Opcode.DELETE_TOPIC, messages.DeleteTopic, delete),
    ]
