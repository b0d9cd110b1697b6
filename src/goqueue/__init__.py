"""GoQueue: one durable log, used as a stream, as a queue and as a table.

The clients whose calls block are here by name; they are loaded when they are first used:

    from goqueue import Admin, Consumer, Producer, Worker

`goqueue.client` has the same for asyncio.
"""

from importlib import import_module

__all__ = ["Admin", "Consumer", "Job", "Message", "Producer", "Topic", "TopicConfig", "Worker", "__version__"]  # noqa: F822

__version__ = "0.1.0"


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module("goqueue.client.sync"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
