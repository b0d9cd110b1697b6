"""What is on a disk, and the changes made to it."""

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
    """With `failed`, nobody knows what reached the disk, and no later sync will make up for it."""

    node: int
    failed: bool = False


class Linked(NamedTuple):
    """A new file or folder got a name."""

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
    """What is on a disk: the content of the files and the entries of the folders, by node."""

    files: dict[int, bytes]
    folders: dict[int, dict[str, int]]

    def tree(self) -> dict[str, int]:
        """Every path that can be reached, with its node."""
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
        """The files by path."""
        return {path: self.files[node] for path, node in self.tree().items() if node in self.files}
