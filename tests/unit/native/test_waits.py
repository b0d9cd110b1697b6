"""Requests that wait are answered at once when the broker stops."""

import asyncio

import pytest

from goqueue.gateways.native.waits import Waits


async def something_else() -> str:
    return "what there is"


async def test_what_comes_is_the_answer():
    assert await Waits().wait(asyncio.sleep(0, "it"), something_else) == "it"


async def test_whoever_waits_is_answered_with_what_there_is_when_waiting_is_over():
    waits, forever = Waits(), asyncio.Event()
    waiting = [asyncio.create_task(waits.wait(forever.wait(), something_else)) for _ in range(3)]
    await asyncio.sleep(0)
    waits.end()
    assert await asyncio.gather(*waiting) == ["what there is"] * 3
    assert waits.are_over


async def test_a_request_whose_client_is_gone_is_not_answered():
    waits, forever = Waits(), asyncio.Event()
    waiting = asyncio.create_task(waits.wait(forever.wait(), something_else))
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    waits.end()
