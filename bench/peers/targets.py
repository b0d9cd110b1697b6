"""Who is measured: each broker in each of its settings, through which client, for which workloads."""

from collections.abc import Callable, Sequence
from enum import StrEnum
from importlib import import_module
from pathlib import Path
from typing import Any

import msgspec

from bench.peers.port import Adapter
from bench.peers.servers.goqueue import GoQueueServer
from bench.peers.servers.nats import NatsDefault, NatsSafe
from bench.peers.servers.rabbitmq import RabbitMqServer
from bench.peers.servers.redis import RedisDefault, RedisSafe
from bench.peers.servers.server import Server

__all__ = ["OURS", "TARGETS", "Kind", "Promise", "Target", "adapter_of", "named", "struct_of", "why_not"]

OURS = "goqueue"
"""The target that ratios are about: our Python client with lists of values."""


class Promise(StrEnum):
    """What a confirmation means: synced to the disk, or whatever the broker does unless told otherwise."""

    DURABLE = "durable"
    DEFAULT = "default"


class Kind(StrEnum):
    """Groups of workloads."""

    PUBLISH = "publish"
    QUEUE = "queue"
    FANOUT = "fanout"
    LATENCY = "latency"
    MILLION = "million"


EVERYTHING = tuple(Kind)
BOTH = (Promise.DURABLE, Promise.DEFAULT)


class Target(msgspec.Struct, frozen=True):
    name: str
    label: str
    server: Callable[[Path], Server]
    adapter: str
    client: str
    """Which library, and what it does for a batch; for the table."""
    setting: str
    promises: tuple[Promise, ...]
    kinds: tuple[Kind, ...] = EVERYTHING
    address: str = "address"
    """The property of the server that has it."""
    processes: tuple[int, int] = (1, 4)
    """Over how many client processes 16 connections are spread, for small and for large batches, unless tries say."""

    @property
    def is_ours(self) -> bool:
        return self.name.startswith(OURS)

    def where(self, server: Server) -> str:
        where: str = getattr(server, self.address)
        return where


OUR_SETTING = "fsync before confirm: the default"
QUORUM_SETTING = "quorum queue: fsync before confirm, the default"
REDIS_CLIENT = "redis-py, hiredis: pipeline of XADD"
NATS_CLIENT = "nats-py: publish_async, gather"

TARGETS: tuple[Target, ...] = (
    Target(
        OURS,
        "GoQueue",
        GoQueueServer,
        "goqueue_native:GoQueueNative",
        "goqueue.client: send_many of values",
        OUR_SETTING,
        BOTH,
        processes=(1, 2),
    ),
    Target(
        "goqueue-ready",
        "GoQueue, encoded batches",
        GoQueueServer,
        "goqueue_native:GoQueueReady",
        "goqueue.client: send_batch, encoded before",
        OUR_SETTING,
        BOTH,
        (Kind.PUBLISH,),
        processes=(1, 2),
    ),
    Target(
        "goqueue-http",
        "GoQueue HTTP",
        GoQueueServer,
        "goqueue_http:GoQueueHttp",
        "aiohttp: a list in one request",
        OUR_SETTING,
        BOTH,
        (Kind.PUBLISH, Kind.QUEUE, Kind.LATENCY),
        "http_address",
        processes=(1, 4),
    ),
    Target(
        "goqueue-grpc",
        "GoQueue gRPC",
        GoQueueServer,
        "goqueue_grpc:GoQueueGrpc",
        "grpcio: a list in one message of a stream",
        OUR_SETTING,
        BOTH,
        (Kind.PUBLISH, Kind.QUEUE, Kind.LATENCY),
        "grpc_address",
        processes=(2, 4),
    ),
    Target(
        "redis-safe",
        "Redis, always synced",
        RedisSafe,
        "redis:RedisStreams",
        REDIS_CLIENT,
        "appendfsync always",
        (Promise.DURABLE,),
        processes=(1, 16),
    ),
    Target(
        "redis-default",
        "Redis",
        RedisDefault,
        "redis:RedisStreams",
        REDIS_CLIENT,
        "default: no journal, snapshots",
        (Promise.DEFAULT,),
        processes=(4, 16),
    ),
    Target(
        "nats-safe",
        "NATS, always synced",
        NatsSafe,
        "nats:NatsJetStream",
        NATS_CLIENT,
        "sync_interval always",
        (Promise.DURABLE,),
        # At its speed a million takes minutes, and lies in the same files as that of the default.
        (Kind.PUBLISH, Kind.QUEUE, Kind.FANOUT, Kind.LATENCY),
        processes=(4, 4),
    ),
    Target(
        "nats-default",
        "NATS",
        NatsDefault,
        "nats:NatsJetStream",
        NATS_CLIENT,
        "default: synced every 2 minutes",
        (Promise.DEFAULT,),
        processes=(4, 16),
    ),
    Target(
        "rabbitmq-quorum",
        "RabbitMQ quorum queue",
        RabbitMqServer,
        "rabbitmq_quorum:RabbitMqQuorum",
        "pika: publisher confirms",
        QUORUM_SETTING,
        BOTH,
        processes=(16, 4),
    ),
    Target(
        "rabbitmq-stream",
        "RabbitMQ stream",
        RabbitMqServer,
        "rabbitmq_stream:RabbitMqStream",
        "rstream: send_batch, confirms",
        "stream: never synced before confirm",
        (Promise.DEFAULT,),
        (Kind.PUBLISH, Kind.FANOUT, Kind.LATENCY),
        "stream_address",
        processes=(4, 16),
    ),
)


def adapter_of(target_adapter: str) -> type[Adapter]:
    module, _, name = target_adapter.partition(":")
    found: type[Adapter] = getattr(import_module(f"bench.peers.adapters.{module}"), name)
    return found


def why_not(target: Target) -> str | None:
    """Why its client cannot be used here; None when it can."""
    try:
        adapter_of(target.adapter)
    except ImportError as error:
        return f"{target.label}: {error} (the extra `peers` has the client libraries)"
    return None


def named(names: Sequence[str] | None) -> tuple[Target, ...]:
    """Those with one of these names or beginnings of names; ours are always among them."""
    if not names:
        return TARGETS
    return tuple(one for one in TARGETS if one.is_ours or any(one.name.startswith(name) for name in names))


def struct_of(target: Target) -> dict[str, Any]:
    return {
        "label": target.label,
        "client": target.client,
        "setting": target.setting,
        "promises": [str(one) for one in target.promises],
    }
