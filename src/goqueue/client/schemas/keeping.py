"""Answers that stay true: asked for once, however many ask at the same time, and kept while there is room."""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from threading import Lock
from typing import Generic, TypeVar

__all__ = ["Kept"]

Answer = TypeVar("Answer")


class Kept(Generic[Answer]):
    """For any number of threads. A failure is told to all who wait for it, and not kept."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._lock = Lock()
        self._answers: OrderedDict[Hashable, Answer] = OrderedDict()
        self._under_way: dict[Hashable, Future[Answer]] = {}

    def known(self, key: Hashable) -> Answer | None:
        """Without waiting."""
        return self._answers.get(key)

    def get(self, key: Hashable, ask: Callable[[], Answer]) -> Answer:
        with self._lock:
            if key in self._answers:
                self._answers.move_to_end(key)
                return self._answers[key]
            other = self._under_way.get(key)
            mine: Future[Answer] = self._under_way.setdefault(key, Future())
        if other is not None:
            return other.result()
        try:
            answer = ask()
        except BaseException as error:
            self._finish(key)
            mine.set_exception(error)
            raise
        self.put(key, answer)
        self._finish(key)
        mine.set_result(answer)
        return answer

    def put(self, key: Hashable, answer: Answer) -> None:
        with self._lock:
            self._answers[key] = answer
            while len(self._answers) > self._most:
                self._answers.popitem(last=False)

    def clear(self) -> None:
        with self._lock:
            self._answers.clear()

    def _finish(self, key: Hashable) -> None:
        with self._lock:
            self._under_way.pop(key, None)
