"""One line of `goqueue doctor`: what was looked at, how it is, and what to do about it."""

from enum import StrEnum

import msgspec

__all__ = ["Check", "State", "ok", "problem", "warning"]


class State(StrEnum):
    OK = "ok"
    WARNING = "warning"
    PROBLEM = "problem"


class Check(msgspec.Struct, frozen=True):
    """`to_do` says what helps; it is empty where nothing has to be done."""

    name: str
    state: State
    found: str
    to_do: str = ""


def ok(name: str, found: str) -> Check:
    return Check(name, State.OK, found)


def warning(name: str, found: str, to_do: str) -> Check:
    return Check(name, State.WARNING, found, to_do)


def problem(name: str, found: str, to_do: str) -> Check:
    return Check(name, State.PROBLEM, found, to_do)
