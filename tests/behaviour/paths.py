"""Every way to the broker, and which tests run over which of them."""

from typing import Any

import pytest

from tests.behaviour.path import Ability, Refused
from tests.behaviour.path_clients import AsyncioPath, SyncPath
from tests.behaviour.path_grpc import GrpcPath
from tests.behaviour.path_http import HttpPath
from tests.behaviour.path_native import NativePath

__all__ = ["PATHS", "between_paths", "over", "refused"]

PATHS: dict[str, Any] = {
    "native": NativePath,
    "asyncio": AsyncioPath,
    "sync": SyncPath,
    "http": HttpPath,
    "grpc": GrpcPath,
}


def able(*abilities: Ability) -> list[str]:
    return [name for name, kind in PATHS.items() if kind.abilities.issuperset(abilities)]


def over(*abilities: Ability) -> Any:
    """Once for every path that has these abilities."""
    return pytest.mark.parametrize("path", able(*abilities), indirect=True)


def between_paths(*abilities: Ability) -> Any:
    """Once for every two paths, in both directions."""
    names = able(*abilities)
    pairs = [(one, two) for one in names for two in names if one != two]
    return pytest.mark.parametrize(("path", "other"), pairs, indirect=True)


class refused:  # noqa: N801  # reads as a sentence: with refused("unknown_topic")
    """The block must be refused, with one of these codes."""

    def __init__(self, *codes: str) -> None:
        self._codes = codes

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: Any, error: BaseException | None, _: Any) -> bool:
        assert isinstance(error, Refused), f"not refused, though {self._codes} was expected: {error!r}"
        assert error.code in self._codes, error
        return True
