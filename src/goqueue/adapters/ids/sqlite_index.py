"""Index of record ids in an SQLite database: one table for all topics, ordered by space and digest.

Each call executes a few statements over many rows. SQLite releases the interpreter lock meanwhile, so a thread that
adds or removes a hundred thousand ids does not block the event loop. Writes have a connection of their own: with the
write-ahead log, the other connection can read at the same time.

The file has its kind in `application_id` and its version in `user_version`. To change the layout raise VERSION:
a file of another version counts as damaged, and the index is rebuilt from the logs.
"""

import contextlib
import errno
import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Literal

import msgspec

from goqueue.engine.ports import FoundId, IdIndexDamaged, IndexedIds
from goqueue.errors import DiskFull

__all__ = ["SqliteIdIndex"]

KIND = 0x47514944
VERSION = 1
CACHE_KIB = 16 * 1024
"""Page cache of each of the two connections."""
PRIMARY_CODE = 0xFF
"""Bits of an error code with the primary code."""
SHARED_MEMORY_BYTES = 64 * 1024
"""Disk space below which SQLite may fail to open an intact file."""
WRITE_AHEAD_BYTES = 64 * 1024 * 1024
"""Size to which a longer write-ahead log is truncated."""

_SCHEMA = """
CREATE TABLE ids (
    space INTEGER NOT NULL, digest BLOB NOT NULL,
    partition INTEGER NOT NULL, offset INTEGER NOT NULL, timestamp_ns INTEGER NOT NULL,
    PRIMARY KEY (space, digest)
) WITHOUT ROWID;
CREATE TABLE added (number INTEGER NOT NULL);
INSERT INTO added VALUES (0);
"""

_FIND_ONE = "SELECT 0, partition, offset, timestamp_ns FROM ids WHERE space = ?1 AND digest = ?2"

_FIND_MANY = """
WITH RECURSIVE wanted (position) AS (
    SELECT 1 UNION ALL SELECT position + 16 FROM wanted WHERE position + 16 < length(?2)
)
SELECT (position - 1) / 16, partition, offset, timestamp_ns
FROM wanted CROSS JOIN ids ON space = ?1 AND digest = substr(?2, position, 16)
"""

_ADD = """
WITH RECURSIVE row (space, partition, offset, timestamp_ns, position, remaining) AS (
    SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]'), json_extract(value, '$[2]'),
        json_extract(value, '$[3]'), json_extract(value, '$[4]'), json_extract(value, '$[5]')
    FROM json_each(:batches)
    UNION ALL
    SELECT space, partition, offset + 1, timestamp_ns, position + 16, remaining - 1 FROM row WHERE remaining > 1
)
INSERT OR REPLACE INTO ids
SELECT space, substr(:digests, position, 16) AS digest, partition, offset, timestamp_ns FROM row
WHERE digest <> zeroblob(16) ORDER BY space, digest, position
"""

_LAST_OF_STEP = "SELECT digest FROM ids WHERE space = ? AND digest > ? ORDER BY digest LIMIT 1 OFFSET ?"

_FORGET = "DELETE FROM ids WHERE space = ? AND digest > ? AND digest <= ? AND timestamp_ns < ?"

_SPACES = """
WITH RECURSIVE found (space) AS (
    SELECT min(space) FROM ids UNION ALL SELECT (SELECT min(space) FROM ids WHERE space > found.space) FROM found
    WHERE found.space IS NOT NULL
)
SELECT space FROM found WHERE space IS NOT NULL
"""

_BEHIND_ALL = b"\xff" * 17


class SqliteIdIndex:
    """See `goqueue.engine.ports.IdIndex`."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._path = f"{folder}/index.db"
        self._reader: sqlite3.Connection
        self._writer: sqlite3.Connection
        self._connections = contextlib.ExitStack()

    # Life cycle.

    def open(self) -> int:
        with self._faults():
            if not os.path.exists(self._path):
                self._make()
            self._connect()
            head = tuple(self._number(f"PRAGMA {name}") for name in _HEAD)
            if head != (KIND, VERSION):
                raise IdIndexDamaged(f"{self._path} is of another kind or version")
            number = self._number("SELECT number FROM added")
        if number is None:
            raise IdIndexDamaged(f"{self._path} does not say what is in it")
        return number

    def _number(self, statement: str) -> int | None:
        """Result of the statement if it is a number, else None, as a damaged page may give anything."""
        found = self._writer.execute(statement).fetchone()
        return found[0] if found is not None and isinstance(found[0], int) else None

    def close(self) -> None:
        # Closing completes the write-ahead log; the next start finds errors of it.
        with contextlib.suppress(sqlite3.Error):
            self._connections.close()

    def reset(self) -> None:
        with self._faults():
            self.close()
            _remove(self._path)
            self._make()
            self._connect()

    def _make(self) -> None:
        """Create the file under another name, so that a file with the real name is complete and has no old log."""
        new = f"{self._folder}/index.new"
        os.makedirs(self._folder, exist_ok=True)
        for left in (new, f"{self._path}-wal", f"{self._path}-shm"):
            _remove(left)
        with contextlib.closing(sqlite3.connect(new, isolation_level=None)) as connection:
            os.chmod(new, 0o640)
            connection.executescript(f"PRAGMA application_id = {KIND}; PRAGMA user_version = {VERSION}; {_SCHEMA}")
        os.rename(new, self._path)
        _sync_folder(self._folder)
        _sync_folder(os.path.dirname(self._folder) or ".")

    def _connect(self) -> None:
        self._writer, self._reader = self._connection(), self._connection()
        self._writer.execute(f"PRAGMA journal_size_limit = {WRITE_AHEAD_BYTES}")
        self._reader.execute("PRAGMA query_only = ON")

    def _connection(self) -> sqlite3.Connection:
        # Made by one thread and used by another, but never by two at a time.
        connection = sqlite3.connect(self._path, isolation_level=None, check_same_thread=False)
        self._connections.callback(connection.close)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute(f"PRAGMA cache_size = -{CACHE_KIB}")
        return connection

    # Reading.

    def find(self, space: int, digests: bytes) -> list[FoundId]:
        statement = _FIND_ONE if len(digests) == 16 else _FIND_MANY
        try:
            rows = self._reader.execute(statement, (space, digests)).fetchall()
        except sqlite3.Error as error:
            raise self._fault(error) from error
        if any(type(value) is not int for row in rows for value in row):
            raise IdIndexDamaged(f"{self._path} has places that are no numbers")
        return [FoundId(*row) for row in rows]

    def spaces(self) -> list[int]:
        with self._faults():
            return [space for (space,) in self._writer.execute(_SPACES)]

    # Writing.

    def add(self, ids: Sequence[IndexedIds], number: int) -> None:
        batches: list[tuple[int, ...]] = []
        position = 1
        for space, partition, base_offset, timestamp_ns, digests in ids:
            batches.append((space, partition, base_offset, timestamp_ns, position, len(digests) // 16))
            position += len(digests)
        rows = {
            "batches": msgspec.json.encode(batches).decode(),
            "digests": b"".join(batch.digests for batch in ids),
        }
        with self._faults(), self._transaction("FULL") as writer:
            writer.execute(_ADD, rows)
            writer.execute("UPDATE added SET number = ?", (number,))

    def forget(self, space: int, before_ns: int, after: bytes, most: int) -> bytes | None:
        # After a power failure the ids are removed again.
        with self._faults(), self._transaction("NORMAL") as writer:
            last = writer.execute(_LAST_OF_STEP, (space, after, most - 1)).fetchone()
            until: bytes = _BEHIND_ALL if last is None else last[0]
            writer.execute(_FORGET, (space, after, until, before_ns))
        return None if last is None else until

    @contextmanager
    def _transaction(self, synchronous: Literal["FULL", "NORMAL"]) -> Iterator[sqlite3.Connection]:
        """Transaction that is durable at its commit (FULL), or with a later FULL one (NORMAL)."""
        writer = self._writer
        writer.execute(f"PRAGMA synchronous = {synchronous}")
        writer.execute("BEGIN IMMEDIATE")
        try:
            yield writer
            writer.execute("COMMIT")
        except BaseException:
            if writer.in_transaction:
                writer.execute("ROLLBACK")
            raise

    @contextmanager
    def _faults(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            raise self._fault(error) from error

    def _fault(self, error: sqlite3.Error | OSError) -> DiskFull | IdIndexDamaged:
        is_full = error.errno in (errno.ENOSPC, errno.EDQUOT) if isinstance(error, OSError) else self._is_full(error)
        if is_full:
            return DiskFull(f"no room on the disk for the index of ids ({self._path})")
        return IdIndexDamaged(f"the index of ids ({self._path}): {error}")

    def _is_full(self, error: sqlite3.Error) -> bool:
        # Errors raised by the sqlite3 module itself have no code.
        code = getattr(error, "sqlite_errorcode", None)
        if code is None or code & PRIMARY_CODE not in (sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN):
            return code == sqlite3.SQLITE_FULL
        # SQLite reports a lack of space for its shared memory with these general codes.
        found = os.statvfs(self._folder)
        return found.f_bavail * found.f_frsize < SHARED_MEMORY_BYTES


_HEAD = ("application_id", "user_version")


def _remove(path: str) -> None:
    """Remove a file; a folder in its place is not GoQueue's and is renamed instead."""
    try:
        os.unlink(path)
    except FileNotFoundError:
        pass
    except IsADirectoryError:
        number = 1
        while os.path.lexists(aside := f"{path}.aside-{number}"):
            number += 1
        os.rename(path, aside)


def _sync_folder(folder: str) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
