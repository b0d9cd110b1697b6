import asyncio
import json
from typing import Any

import pytest

from goqueue.engine.traffic import ListenerTraffic
from goqueue.gateways.http.gate import Gate
from goqueue.gateways.http.limits import HttpLimits
from goqueue.gateways.http.responses import respond
from goqueue.testing.clock import FakeClock

LIMITS = HttpLimits(requests_under_way=2, bytes_under_way=3000, body_bytes=2048, header_bytes=1024, url_bytes=1024)


HOST = {"host": "localhost"}


class Exchange:
    """One request, told by the messages a server would pass on."""

    def __init__(self, gate: Gate, path: str = "/x", headers: dict[str, str] | None = None, query: str = "") -> None:
        self.to_app: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self.sent: list[dict[str, Any]] = []
        scope = {
            "type": "http",
            "method": "POST",
            "raw_path": path.encode(),
            "http_version": "1.1",
            "query_string": query.encode(),
            "headers": [(name.encode(), value.encode()) for name, value in (HOST | (headers or {})).items()],
        }
        self.task = asyncio.ensure_future(gate(scope, self.to_app.get, self._send))

    async def _send(self, message: dict[str, Any]) -> None:
        self.sent.append(message)

    def body(self, data: bytes, *, more: bool = False) -> None:
        self.to_app.put_nowait({"type": "http.request", "body": data, "more_body": more})

    def disconnect(self) -> None:
        self.to_app.put_nowait({"type": "http.disconnect"})

    @property
    def status(self) -> int:
        return self.sent[0]["status"]

    @property
    def headers(self) -> dict[bytes, bytes]:
        return dict(self.sent[0]["headers"])

    @property
    def answer(self) -> Any:
        return json.loads(self.sent[1]["body"])


class App:
    """Answers with the body once it may."""

    def __init__(self) -> None:
        self.may_answer = asyncio.Event()
        self.may_answer.set()
        self.bodies: list[bytes] = []

    async def __call__(self, scope, receive, send) -> None:
        self.bodies.append((await receive())["body"])
        await self.may_answer.wait()
        await respond(send, 200, b"{}")


@pytest.fixture
def app() -> App:
    return App()


@pytest.fixture
def gate(app) -> Gate:
    return Gate(app, LIMITS, frozenset(["/health"]), ListenerTraffic(FakeClock()))


async def settle() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


async def test_a_body_in_pieces_arrives_whole(gate, app):
    exchange = Exchange(gate, headers={"transfer-encoding": "chunked"})
    exchange.body(b"ab", more=True)
    exchange.body(b"", more=True)
    exchange.body(b"c")
    await exchange.task
    assert (app.bodies, exchange.status) == ([b"abc"], 200)


async def test_a_body_that_is_announced_too_large_is_refused_unread(gate, app):
    exchange = Exchange(gate, headers={"content-length": "2049"})
    exchange.body(b"x", more=True)
    exchange.body(b"x")
    await exchange.task
    assert (exchange.status, exchange.answer["code"], app.bodies) == (413, "body_too_large", [])
    assert "2048" in exchange.answer["error"]
    assert exchange.headers[b"connection"] == b"close"


async def test_a_body_that_grows_too_large_is_refused(gate, app):
    exchange = Exchange(gate, headers={"transfer-encoding": "chunked"})
    exchange.body(b"x" * 2048, more=True)
    exchange.body(b"x", more=True)
    exchange.disconnect()
    await exchange.task
    assert (exchange.status, app.bodies) == (413, [])


async def test_a_body_at_the_limit_is_taken(gate, app):
    exchange = Exchange(gate, headers={"content-length": "2048"})
    exchange.body(b"x" * 2048)
    await exchange.task
    assert exchange.status == 200


async def test_a_client_that_leaves_in_the_middle_of_its_body_is_not_answered(gate, app):
    exchange = Exchange(gate, headers={"content-length": "5"})
    exchange.body(b"x", more=True)
    exchange.disconnect()
    await exchange.task
    assert (exchange.sent, app.bodies) == ([], [])


async def test_too_many_requests_are_told_to_come_back_and_health_is_still_answered(gate, app):
    app.may_answer.clear()
    waiting = [Exchange(gate), Exchange(gate)]
    await settle()
    refused = Exchange(gate)
    refused.body(b"")
    await refused.task
    assert (refused.status, refused.answer["code"], refused.headers[b"retry-after"]) == (503, "server_busy", b"1")
    health = Exchange(gate, "/health")
    await settle()
    assert len(app.bodies) == 3
    app.may_answer.set()
    await asyncio.gather(*(one.task for one in waiting), health.task)
    again = Exchange(gate)
    await again.task
    assert again.status == 200


async def test_all_bodies_together_have_a_limit_too(gate, app):
    app.may_answer.clear()
    first = Exchange(gate, headers={"content-length": "2000"})
    first.body(b"x" * 2000)
    await settle()
    announced = Exchange(gate, headers={"content-length": "2000"})
    announced.body(b"x" * 2000)
    await announced.task
    assert (announced.status, announced.answer["code"]) == (503, "server_busy")
    app.may_answer.set()
    await first.task
    third = Exchange(gate, headers={"transfer-encoding": "chunked"})
    third.body(b"x" * 2000)
    await third.task
    assert third.status == 200


async def test_a_url_that_is_too_long_is_refused(gate):
    exchange = Exchange(gate, query="q" * 1024)
    exchange.body(b"")
    await exchange.task
    assert (exchange.status, exchange.answer["code"]) == (414, "url_too_long")


async def test_headers_that_are_too_large_are_refused(gate):
    exchange = Exchange(gate, headers={"a": "x" * 1024})
    exchange.body(b"")
    await exchange.task
    assert (exchange.status, exchange.answer["code"]) == (431, "headers_too_large")


@pytest.mark.parametrize(
    ("site", "status"), [("cross-site", 403), ("same-site", 403), ("same-origin", 200), ("none", 200)]
)
async def test_a_page_of_another_site_changes_nothing(gate, app, site, status):
    """Its browser would send a form as text, or JSON that says it is text, without asking anybody."""
    exchange = Exchange(gate, headers={"sec-fetch-site": site, "content-type": "text/plain", "content-length": "2"})
    exchange.body(b"{}")
    await exchange.task
    assert exchange.status == status
    assert app.bodies == ([b"{}"] if status == 200 else [])
    if status == 403:
        assert exchange.answer["code"] == "foreign_page"
