"""Disk image: the content of a simulated disk, and the changes made to it."""

from typing import NamedTuple

__all__ = [
    "ROOT",
    "Allocated",
    "Change",
    "FileSynced",
    "FolderSynced",
    "Image",
    "Linked",
    "Renamed",
    "Resized",
    "Unlinked",
    "Wrote",
]

ROOT = 0
"""The node of the folder in which all paths begin."""


class Wrote(NamedTuple):
    node: int
    position: int
    data: bytes


class Resized(NamedTuple):
    node: int
    length: int


class Allocated(NamedTuple):
    node: int
    length: int


class FileSynced(NamedTuple):
    """After a `failed` sync it is unknown what reached the disk, and no later sync makes up for it."""

    node: int
    failed: bool = False


class Linked(NamedTuple):
    """A new file or folder was given a name."""

    folder: int
    name: str
    node: int
    is_folder: bool = False


class Renamed(NamedTuple):
    folder: int
    name: str
    new_name: str


class Unlinked(NamedTuple):
    folder: int
    name: str


class FolderSynced(NamedTuple):
    folder: int


Change = Wrote | Resized | Allocated | FileSynced | Linked | Renamed | Unlinked | FolderSynced


class Image(NamedTuple):
    """The content of the disk: bytes of files and entries of folders, by node."""

    files: dict[int, bytes]
    folders: dict[int, dict[str, int]]

    def tree(self) -> dict[str, int]:
        """Every reachable path, with its node."""
        paths: dict[str, int] = {}
        todo = [("", ROOT)]
        while todo:
            path, folder = todo.pop()
            paths[path] = folder
            for name, node in self.folders[folder].items():
                below = f"{path}/{name}" if path else name
                if node in self.folders:
                    todo.append((below, node))
                else:
                    paths[below] = node
        return paths

    def contents(self) -> dict[str, bytes]:
        """The content of the files by path."""
        return {path: self.files[node] for path, node in self.tree().items() if node in self.files}
