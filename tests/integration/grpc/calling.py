"""Services as tests call them: requests from keywords, errors as their codes, and none of the methods forgotten."""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

import grpc
import pytest
from google.protobuf.message_factory import GetMessageClass

from tests.integration.grpc.talking import WITHIN_S, Stubs, detail_of

__all__ = ["SERVICES", "Service", "every_method", "service_of"]

SERVICES = {
    "QueueService": "queue",
    "GroupService": "groups",
    "OffsetService": "offsets",
    "TransactionService": "transactions",
    "TopicService": "topics",
    "DeadLetterService": "dead_letters",
    "DelayService": "delays",
    "ScheduleService": "schedules",
    "SchemaService": "schemas",
    "TraceService": "traces",
    "AdminService": "admin",
}
"""By the proto they are in."""


class Service:
    """`service.GetTopic(name="orders")` asks and answers with a message."""

    def __init__(self, stubs: Stubs, name: str) -> None:
        module = f"goqueue.wire.grpc.v1.{SERVICES[name]}_pb2"
        self.methods = import_module(module).DESCRIPTOR.services_by_name[name].methods_by_name
        self.called: set[str] = set()
        self._stub = getattr(import_module(f"{module}_grpc"), f"{name}Stub")(stubs.channel)

    def __getattr__(self, name: str) -> Any:
        request = GetMessageClass(self.methods[name].input_type)
        call = getattr(self._stub, name)

        def ask(**fields: Any) -> Any:
            self.called.add(name)
            return call(request(**fields), timeout=WITHIN_S)

        return ask

    def refusal(self, method: str, **fields: Any) -> str:
        """The code with which a request is refused."""
        with pytest.raises(grpc.RpcError) as error:
            getattr(self, method)(**fields)
        return detail_of(error.value).code


def service_of(stubs: Stubs, name: str) -> Any:
    return Service(stubs, name)


@contextmanager
def every_method(stubs: Stubs, name: str) -> Iterator[Any]:
    """Inside, every method has to be called at least once."""
    service = Service(stubs, name)
    yield service
    assert service.called == set(service.methods), set(service.methods) - service.called
