"""JSON Schema drafts: the keywords each defines; unknown keywords are ignored."""

import msgspec

__all__ = ["Draft"]


class Draft(msgspec.Struct, frozen=True):
    """`number` is 4, 6, 7, 2019 or 2020."""

    number: int

    @property
    def refs_have_siblings(self) -> bool:
        return self.number >= 2019

    @property
    def id_keyword(self) -> str:
        return "id" if self.number == 4 else "$id"

    def knows(self, keyword: str) -> bool:
        since, until = _LIFETIMES.get(keyword, (4, 2020))
        return since <= self.number <= until


_LIFETIMES = {
    "const": (6, 2020),
    "contains": (6, 2020),
    "propertyNames": (6, 2020),
    "if": (7, 2020),
    "dependencies": (4, 7),
    "dependentRequired": (2019, 2020),
    "dependentSchemas": (2019, 2020),
    "minContains": (2019, 2020),
    "maxContains": (2019, 2020),
    "unevaluatedItems": (2019, 2020),
    "unevaluatedProperties": (2019, 2020),
    "additionalItems": (4, 2019),
    "prefixItems": (2020, 2020),
    "$dynamicRef": (2020, 2020),
    "$recursiveRef": (2019, 2019),
}
