"""JSON text of schemas: parsing within limits, and removal of layout."""

import json
import math
import re
from typing import Any, NoReturn

from goqueue.errors import InvalidSchema

__all__ = ["MOST_NESTING", "load_json", "without_layout"]

MOST_NESTING = 200
"""Maximum nesting of objects and lists, so that recursion over a schema is safe."""

STRING = r'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)'
"""An unterminated string extends to the end of the text, so that no text is searched from every quote in it."""
BRACKET = re.compile(rf"{STRING}|([\[{{])|([\]}}])", re.DOTALL)
SPACE = r"[ \t\n\r]"
LAYOUT = re.compile(
    rf"({STRING})"
    rf'|(?:\A|(?<=[\[\]{{}},:"])){SPACE}++'
    rf'|(?<!{SPACE}){SPACE}++(?=[\[\]{{}},:"]|\Z)',
    re.DOTALL,
)


def load_json(text: str, what: str) -> Any:
    _check_nesting(text, what)
    try:
        return json.loads(text, parse_constant=_no_number, parse_float=_finite)
    except json.JSONDecodeError as error:
        raise InvalidSchema(
            f"{what}: not JSON at line {error.lineno}, column {error.colno}: {error.msg}",
            hint="send the schema as JSON; a primitive type alone is a string in quotes",
        ) from None
    except ValueError as error:
        raise InvalidSchema(f"{what}: {str(error)[:200]}") from None


def without_layout(text: str) -> str:
    """Remove white space between tokens. Between two words or numbers it stays: that is not JSON anyway."""
    return LAYOUT.sub(r"\1", text)


def _check_nesting(text: str, what: str) -> None:
    depth = 0
    for match in BRACKET.finditer(text):
        if match[1]:
            depth += 1
            if depth > MOST_NESTING:
                raise InvalidSchema(
                    f"{what}: more than {MOST_NESTING} levels of objects and lists at character {match.start()}",
                    hint="name inner types, and mention them by name",
                )
        elif match[2]:
            depth -= 1


def _no_number(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not a JSON number")


def _finite(number: str) -> float:
    value = float(number)
    return _no_number(number[:40]) if math.isinf(value) else value
