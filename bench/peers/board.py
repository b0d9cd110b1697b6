"""What client processes tell each other while they work: how many records each has published and acknowledged."""

import mmap
from pathlib import Path
from types import TracebackType
from typing import Self

__all__ = ["Board"]

PUBLISHED, ACKNOWLEDGED, PUBLISHING = range(3)
FIELDS = 3
WORD = 8


class Board:
    """A file that all of them have in memory; each process writes its own row only."""

    def __init__(self, path: Path, rows: int, row: int = 0) -> None:
        size = rows * FIELDS * WORD
        if not path.exists():
            path.write_bytes(bytes(size))
        with path.open("r+b") as file:
            self._memory = mmap.mmap(file.fileno(), size)
        self._words = memoryview(self._memory).cast("q")
        self._at = row * FIELDS

    def clear(self) -> None:
        for at in range(len(self._words)):
            self._words[at] = 0

    def publishing(self, connections: int) -> None:
        self._words[self._at + PUBLISHING] += connections

    def published(self, records: int) -> None:
        self._words[self._at + PUBLISHED] += records

    def acknowledged(self, records: int) -> None:
        self._words[self._at + ACKNOWLEDGED] += records

    def total_published(self) -> int:
        return sum(self._words[PUBLISHED::FIELDS])

    def total_acknowledged(self) -> int:
        return sum(self._words[ACKNOWLEDGED::FIELDS])

    def is_publishing(self) -> bool:
        return any(self._words[PUBLISHING::FIELDS])

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._words.release()
        self._memory.close()
