import asyncio

import pytest

from goqueue.gateways.http.responses import HttpRefusal
from goqueue.gateways.http.waiting import ClientGone, Waiting


class Work:
    """Waits to be told what to return, and knows how it ended."""

    def __init__(self) -> None:
        self.result: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self.was_cancelled = False

    async def run(self) -> str:
        try:
            return await self.result
        except asyncio.CancelledError:
            self.was_cancelled = True
            raise


@pytest.fixture
def messages() -> asyncio.Queue:
    return asyncio.Queue()


async def start(waiting: Waiting, work: Work, messages: asyncio.Queue) -> asyncio.Future:
    task = asyncio.ensure_future(waiting.result_of(work.run(), messages.get))
    await asyncio.sleep(0.001)
    return task


async def test_what_happens_ends_the_wait(messages):
    waiting, work = Waiting(), Work()
    task = await start(waiting, work, messages)
    work.result.set_result("news")
    assert await task == "news"
    assert len(waiting) == 0


async def test_an_error_of_the_work_is_passed_on(messages):
    waiting, work = Waiting(), Work()
    task = await start(waiting, work, messages)
    work.result.set_exception(KeyError("x"))
    with pytest.raises(KeyError):
        await task


async def test_a_client_that_goes_away_ends_the_work(messages):
    waiting, work = Waiting(), Work()
    task = await start(waiting, work, messages)
    messages.put_nowait({"type": "http.request", "body": b"", "more_body": False})
    messages.put_nowait({"type": "http.disconnect"})
    with pytest.raises(ClientGone):
        await task
    assert work.was_cancelled
    assert len(waiting) == 0


async def test_a_broker_that_stops_ends_the_work_and_says_so(messages):
    waiting, work = Waiting(), Work()
    task = await start(waiting, work, messages)
    waiting.stop()
    with pytest.raises(HttpRefusal) as refusal:
        await task
    assert (refusal.value.body.status, refusal.value.body.code) == (503, "not_ready")
    assert work.was_cancelled


async def test_no_wait_begins_once_the_broker_stops(messages):
    waiting, work = Waiting(), Work()
    waiting.stop()
    with pytest.raises(HttpRefusal):
        await waiting.result_of(work.run(), messages.get)


async def test_a_request_that_is_cancelled_takes_its_work_along(messages):
    waiting, work = Waiting(), Work()
    task = await start(waiting, work, messages)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert work.was_cancelled


async def test_a_result_that_came_as_the_client_went_is_taken_back(messages):
    waiting, work, back = Waiting(), Work(), []

    async def take_back(result: str) -> None:
        back.append(result)

    task = asyncio.ensure_future(waiting.result_of(work.run(), messages.get, take_back))
    await asyncio.sleep(0.001)
    work.result.set_result("news")
    messages.put_nowait({"type": "http.disconnect"})
    with pytest.raises(ClientGone):
        await task
    assert back == ["news"]


async def test_a_result_that_is_given_is_not_taken_back(messages):
    waiting, work, back = Waiting(), Work(), []

    async def take_back(result: str) -> None:
        back.append(result)

    task = asyncio.ensure_future(waiting.result_of(work.run(), messages.get, take_back))
    await asyncio.sleep(0.001)
    work.result.set_result("news")
    assert await task == "news"
    assert back == []
