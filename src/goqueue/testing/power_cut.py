"""Power cut model: the states in which a disk may be found after the power failed.

Synced data is certain. Each later change may or may not have reached the disk, in any order, and a write may be
partial: up to some byte, or only some of its sectors; a file may have grown without the bytes that were to fill it. A
name is certain once its folder was synced; syncing a file says nothing about its name.
"""

from collections.abc import Mapping
from typing import NamedTuple

from goqueue.testing.disk_image import (
    ROOT,
    Allocated,
    Change,
    FileSynced,
    FolderSynced,
    Image,
    Linked,
    Renamed,
    Resized,
    Unlinked,
    Wrote,
)
from goqueue.testing.simulated_disk import SimulatedFileSystem

__all__ = ["KEPT", "LOST", "ZEROED", "Fate", "Pending", "Platter", "torn"]


class Fate(NamedTuple):
    """Outcome of a change: the parts of a write that reached the disk, and whether the file grew to its full length."""

    kept: tuple[tuple[int, int], ...]
    grown: bool

    @property
    def happened(self) -> bool:
        return self.grown or bool(self.kept)


KEPT = Fate(((0, 1 << 62),), grown=True)
LOST = Fate((), grown=False)
ZEROED = Fate((), grown=True)
"""The file grew, but the bytes did not reach the disk."""


def torn(at: int, *, grown: bool = False) -> Fate:
    """Only the bytes up to `at` reached the disk."""
    return Fate(((0, at),), grown)


class Pending(NamedTuple):
    """A change that a power cut may lose."""

    number: int
    change: Change


class _File:
    def __init__(self, content: bytes) -> None:
        self.certain = content
        self.current = bytearray(content)
        self.changes: dict[int, Change] = {}
        self.synced: set[int] = set()
        self.doubtful: set[int] = set()

    def sync(self, *, failed: bool) -> None:
        if failed:
            self.doubtful |= self.changes.keys() - self.synced
            return
        self.synced |= self.changes.keys() - self.doubtful
        if not self.doubtful:
            self.certain = bytes(self.current)
            self.changes.clear()
            self.synced.clear()

    def copy(self) -> "_File":
        twin = _File(self.certain)
        twin.current[:] = self.current
        twin.changes |= self.changes
        twin.synced |= self.synced
        twin.doubtful |= self.doubtful
        return twin


class _Folder:
    def __init__(self, entries: Mapping[str, int]) -> None:
        self.certain = dict(entries)
        self.current = dict(entries)
        self.changes: dict[int, Change] = {}

    def copy(self) -> "_Folder":
        twin = _Folder(self.current)
        twin.certain = self.certain
        twin.changes |= self.changes
        return twin


class Platter:
    """Tracks the changes made to a disk, and knows at each point which are certain."""

    def __init__(self, image: Image | None = None) -> None:
        image = image or Image({}, {ROOT: {}})
        self._files = {node: _File(content) for node, content in image.files.items()}
        self._folders = {node: _Folder(entries) for node, entries in image.folders.items()}
        self._uncertain: set[int] = set()
        self._count = 0

    def apply(self, change: Change) -> None:
        self._count += 1
        match change:
            case Wrote(node) | Resized(node) | Allocated(node):
                file = self._files[node]
                _apply(file.current, change, KEPT)
                file.changes[self._count] = change
                self._uncertain.add(node)
            case FileSynced(node, failed):
                self._files[node].sync(failed=failed)
                if not self._files[node].changes:
                    self._uncertain.discard(node)
            case FolderSynced(node):
                folder = self._folders[node]
                folder.certain = dict(folder.current)
                folder.changes.clear()
                self._uncertain.discard(node)
            case Linked(node, _, new, is_folder):
                if is_folder:
                    self._folders[new] = _Folder({})
                else:
                    self._files[new] = _File(b"")
                self._change_names(node, change)
            case Renamed(node) | Unlinked(node):
                self._change_names(node, change)

    def _change_names(self, node: int, change: Change) -> None:
        folder = self._folders[node]
        _rename(folder.current, change)
        folder.changes[self._count] = change
        self._uncertain.add(node)

    def pending(self) -> list[Pending]:
        """The changes that a power cut may lose, oldest first."""
        found: list[Pending] = []
        for node in self._uncertain:
            if node in self._folders:
                found += map(Pending._make, self._folders[node].changes.items())
            else:
                file = self._files[node]
                found += (Pending(*item) for item in file.changes.items() if item[0] not in file.synced)
        return sorted(found)

    def image(self, fates: Mapping[int, Fate], others: Fate = LOST, *, names_in_order: bool = False) -> Image:
        """The disk after the pending changes have these fates, by number; those not named have the fate `others`.

        With `names_in_order`, a lost folder change takes later changes of the same folder with it, as on a file system
        with a metadata journal.
        """
        files = {node: file.certain for node, file in self._files.items()}
        folders = {node: folder.certain for node, folder in self._folders.items()}
        for node in self._uncertain:
            if node in folders:
                folders[node] = self._entries(node, fates, others, names_in_order=names_in_order)
            else:
                files[node] = self._content(node, fates, others)
        image = Image(files, folders)
        reached = set(image.tree().values())
        return Image(
            {node: content for node, content in files.items() if node in reached},
            {node: entries for node, entries in folders.items() if node in reached},
        )

    def _content(self, node: int, fates: Mapping[int, Fate], others: Fate) -> bytes:
        file = self._files[node]
        content = bytearray(file.certain)
        for number, change in file.changes.items():
            fate = KEPT if number in file.synced else fates.get(number, others)
            if fate.happened:
                _apply(content, change, fate)
        return bytes(content)

    def _entries(self, node: int, fates: Mapping[int, Fate], others: Fate, *, names_in_order: bool) -> dict[str, int]:
        folder = self._folders[node]
        entries = dict(folder.certain)
        for number, change in folder.changes.items():
            if fates.get(number, others).happened:
                _rename(entries, change)
            elif names_in_order:
                break
        return entries

    def page_cache(self) -> SimulatedFileSystem:
        """The disk as a new process finds it when only the old process died: all changes are there, durable or not."""
        return SimulatedFileSystem(self.image({}, KEPT), first_node=1 + max((*self._files, *self._folders)))

    def copy(self) -> "Platter":
        twin = Platter()
        twin._files = {node: file.copy() for node, file in self._files.items()}
        twin._folders = {node: folder.copy() for node, folder in self._folders.items()}
        twin._uncertain = set(self._uncertain)
        twin._count = self._count
        return twin


def _apply(content: bytearray, change: Change, fate: Fate) -> None:
    match change:
        case Wrote(_, position, data):
            for start, stop in fate.kept:
                _grow(content, position + start)
                content[position + start : position + min(stop, len(data))] = data[start:stop]
            if fate.grown:
                _grow(content, position + len(data))
        case Resized(_, length):
            del content[length:]
            _grow(content, length)
        case Allocated(_, length):
            _grow(content, length)


def _grow(content: bytearray, length: int) -> None:
    if length > len(content):
        content.extend(bytes(length - len(content)))


def _rename(entries: dict[str, int], change: Change) -> None:
    """Apply a name change in a folder; a change that depends on a lost one does nothing."""
    match change:
        case Linked(_, name, node, _):
            entries[name] = node
        case Renamed(_, name, new_name):
            if name in entries:
                entries[new_name] = entries.pop(name)
        case Unlinked(_, name):
            entries.pop(name, None)
