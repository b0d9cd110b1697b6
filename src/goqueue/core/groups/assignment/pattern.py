"""Topic patterns: regular expressions over topic names with a guaranteed time bound.

A member's pattern runs inside the broker, for every topic, on the event loop. Python's `re` backtracks, so `(a+)+b` and
one long name would block everything; here a pattern becomes a position automaton (Glushkov) whose set of current
positions is one integer, and the time is bounded by name length × pattern length. A pattern matches whole names.
Supported are literals, `.`, classes, groups, `|`, `*`, `+`, `?`, `{m,n}`, `\\d`, `\\w` and escaped punctuation;
look-around and back-references are not, as such an automaton cannot match them.
"""

import string
from functools import lru_cache
from typing import NamedTuple

from goqueue.errors import InvalidRequest

__all__ = ["LONGEST_PATTERN", "TopicPattern", "topic_pattern"]

LONGEST_PATTERN = 250
MOST_POSITIONS = 300
DEEPEST_GROUP = 20
MOST_REMEMBERED = 10_000

_DIGITS = frozenset(string.digits)
_WORD = frozenset(string.ascii_letters + string.digits + "_")
_ALPHABET = _WORD | frozenset("-.")
_CLASSES = {"d": _DIGITS, "D": _ALPHABET - _DIGITS, "w": _WORD, "W": _ALPHABET - _WORD}
_QUANTIFIERS = {"*": (0, None), "+": (1, None), "?": (0, 1)}


class TopicPattern:
    """A compiled pattern."""

    def __init__(self, text: str) -> None:
        if len(text) > LONGEST_PATTERN:
            raise InvalidRequest(f"the pattern has {len(text)} characters", hint=f"use at most {LONGEST_PATTERN}")
        parser = _Parser(text)
        self._nullable, self._first, self._last = parser.whole()
        self._follow = parser.follow
        self._accepts = parser.accepts
        self._known: dict[str, bool] = {}

    def matches(self, name: str) -> bool:
        """Cached, as the same topics are matched at every change of a group."""
        known = self._known.get(name)
        if known is None:
            if len(self._known) >= MOST_REMEMBERED:
                self._known.clear()
            known = self._known[name] = self._match(name)
        return known

    def _match(self, name: str) -> bool:
        if not name:
            return self._nullable
        accepts = self._accepts
        current = self._first & accepts.get(name[0], 0)
        for character in name[1:]:
            if not current:
                return False
            current = self._after(current) & accepts.get(character, 0)
        return bool(current & self._last)

    def _after(self, current: int) -> int:
        following = 0
        while current:
            lowest = current & -current
            following |= self._follow[lowest.bit_length() - 1]
            current ^= lowest
        return following


@lru_cache(maxsize=256)
def topic_pattern(text: str) -> TopicPattern:
    """The compiled pattern, cached: members of a group mostly share theirs."""
    return TopicPattern(text)


class _Part(NamedTuple):
    """A part of the pattern: whether it matches the empty string, and its possible first and last positions."""

    nullable: bool
    first: int
    last: int


_NOTHING = _Part(True, 0, 0)


class _Parser:
    """Reads a pattern from left to right; every character or class becomes a position."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 1 if text.startswith("^") else 0
        self._depth = 0
        self.follow: list[int] = []
        self.accepts: dict[str, int] = {}

    def whole(self) -> _Part:
        part = self._choice()
        if self._at < len(self._text):
            raise self._wrong("a ) without its (")
        return part

    def _wrong(self, what: str) -> InvalidRequest:
        return InvalidRequest(
            f"{self._text!r} is not a topic pattern: {what} at position {self._at}",
            hint=r"it may hold names, . [a-z] ( ) | * + ? {m,n} \d \w and escaped punctuation, as in orders\..*",
        )

    def _peek(self) -> str:
        return self._text[self._at : self._at + 1]

    def _take(self, what: str) -> str:
        character = self._peek()
        if not character:
            raise self._wrong(f"it ends inside {what}")
        self._at += 1
        return character

    def _choice(self) -> _Part:
        part = self._sequence()
        while self._peek() == "|":
            self._at += 1
            other = self._sequence()
            part = _Part(part.nullable or other.nullable, part.first | other.first, part.last | other.last)
        return part

    def _sequence(self) -> _Part:
        part = _NOTHING
        while self._peek() not in ("", "|", ")"):
            part = self._joined(part, self._repeated())
        return part

    def _joined(self, left: _Part, right: _Part) -> _Part:
        self._link(left.last, right.first)
        return _Part(
            left.nullable and right.nullable,
            left.first | right.first if left.nullable else left.first,
            left.last | right.last if right.nullable else right.last,
        )

    def _link(self, ends: int, starts: int) -> None:
        while ends:
            lowest = ends & -ends
            self.follow[lowest.bit_length() - 1] |= starts
            ends ^= lowest

    def _repeated(self) -> _Part:
        """An atom with its quantifier. A counted atom is parsed again for every further copy of it."""
        start = self._at
        positions = len(self.follow)
        atom = self._atom()
        fewest, most = self._quantifier()
        end = self._at
        if len(self.follow) == positions:  # (), repeated: copies would cost time and match nothing more
            return _NOTHING
        copies = most if most is not None else max(fewest, 1)
        part = _NOTHING
        for number in range(copies):
            if number > 0:
                self._at = start
                atom = self._atom()
            if most is None and number == copies - 1:
                self._link(atom.last, atom.first)
            optional = number >= fewest
            part = self._joined(part, _Part(True, atom.first, atom.last) if optional else atom)
        self._at = end
        return part

    def _quantifier(self) -> tuple[int, int | None]:
        character = self._peek()
        if character == "{":
            bounds = self._counts()
        elif character in _QUANTIFIERS:
            self._at += 1
            bounds = _QUANTIFIERS[character]
        else:
            return 1, 1
        if self._peek() == "?":  # lazy: the same names match
            self._at += 1
        return bounds

    def _counts(self) -> tuple[int, int | None]:
        closing = self._text.find("}", self._at)
        fewest, comma, most = self._text[self._at + 1 : closing].partition(",")
        if closing < 0 or not fewest.isdecimal() or not (most.isdecimal() or not most):
            raise self._wrong("a repeat that is not {m}, {m,} or {m,n}")
        bounds = int(fewest), (int(most) if most else None) if comma else int(fewest)
        if bounds[1] is not None and bounds[1] < bounds[0]:
            raise self._wrong("a repeat whose maximum is below its minimum")
        if (bounds[1] or bounds[0]) > LONGEST_PATTERN:
            raise self._wrong(f"a repeat of more than {LONGEST_PATTERN}")
        self._at = closing + 1
        return bounds

    def _atom(self) -> _Part:
        character = self._take("an atom")
        match character:
            case "(":
                return self._group()
            case ".":
                return self._position(_ALPHABET)
            case "[":
                return self._position(self._class())
            case "\\":
                return self._position(self._escape())
            case "*" | "+" | "?" | "{":
                self._at -= 1
                raise self._wrong("nothing to repeat")
            case "$" if self._at == len(self._text):
                return _NOTHING
            case "^" | "$":
                self._at -= 1
                raise self._wrong("an anchor inside; whole names are matched anyway")
            case _:
                return self._position(frozenset(character))

    def _group(self) -> _Part:
        self._depth += 1
        if self._depth > DEEPEST_GROUP:
            raise self._wrong("groups nested too deeply")
        if self._peek() == "?":
            if self._text[self._at : self._at + 2] != "?:":
                raise self._wrong("a kind of group that is not supported")
            self._at += 2
        part = self._choice()
        if self._peek() != ")":
            raise self._wrong("a ( without its )")
        self._at += 1
        self._depth -= 1
        return part

    def _escape(self) -> frozenset[str]:
        character = self._take("an escape")
        if character in _CLASSES:
            return _CLASSES[character]
        if character.isalnum():
            raise self._wrong(f"an unknown escape \\{character}")
        return frozenset(character)

    def _class(self) -> frozenset[str]:
        negated = self._peek() == "^"
        if negated:
            self._at += 1
        members: frozenset[str] = frozenset()
        first = True
        while (character := self._take("a class")) != "]" or first:
            first = False
            low = self._escape() if character == "\\" else frozenset(character)
            if self._peek() == "-" and self._text[self._at + 1 : self._at + 2] not in ("", "]"):
                self._at += 1
                low = self._range(low)
            members |= low
        return _ALPHABET - members if negated else members

    def _range(self, low: frozenset[str]) -> frozenset[str]:
        character = self._take("a class")
        high = self._escape() if character == "\\" else frozenset(character)
        if len(low) != 1 or len(high) != 1 or min(low) > min(high):
            raise self._wrong("a range that is not one")
        return frozenset(each for each in _ALPHABET if min(low) <= each <= min(high))

    def _position(self, characters: frozenset[str]) -> _Part:
        number = len(self.follow)
        if number >= MOST_POSITIONS:
            raise self._wrong(f"more than {MOST_POSITIONS} characters once its repeats are written out")
        self.follow.append(0)
        for character in characters & _ALPHABET:
            self.accepts[character] = self.accepts.get(character, 0) | 1 << number
        return _Part(False, 1 << number, 1 << number)
