"""Regular expressions of schemas, with the limits and the dialect of the validator.

They come from untrusted input, and a hostile one can keep Python's own `re` busy for hours.
"""

from functools import lru_cache

from jsonschema_rs import Draft7Validator, FancyRegexOptions

__all__ = ["PATTERN_OPTIONS", "matches"]

PATTERN_OPTIONS = FancyRegexOptions(backtrack_limit=100_000, size_limit=4 << 20, dfa_size_limit=4 << 20)


def matches(pattern: str, text: str) -> bool:
    return _matcher(pattern).is_valid(text)


@lru_cache(maxsize=1024)
def _matcher(pattern: str) -> Draft7Validator:
    return Draft7Validator({"pattern": pattern}, pattern_options=PATTERN_OPTIONS)
