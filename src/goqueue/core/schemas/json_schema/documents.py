"""Documents of a JSON schema: references resolve within it or to schemas registered with it, never to the network."""

from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import unquote, urldefrag, urljoin

from goqueue.core.schemas.json_schema.drafts import Draft
from goqueue.errors import InvalidSchema, SchemaTooLarge

__all__ = ["Documents", "subschemas"]

MOST_SUBSCHEMAS = 20_000

_SINGLE = (
    "additionalItems",
    "additionalProperties",
    "contains",
    "else",
    "if",
    "items",
    "not",
    "propertyNames",
    "then",
    "unevaluatedItems",
    "unevaluatedProperties",
)
_LISTS = ("allOf", "anyOf", "items", "oneOf", "prefixItems")
_NAMED = ("$defs", "definitions", "dependencies", "dependentSchemas", "patternProperties", "properties")
_REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")


def subschemas(schema: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Each direct subschema, by its JSON pointer from the schema."""
    for keyword in _SINGLE:
        if isinstance(schema.get(keyword), dict):
            yield keyword, schema[keyword]
    for keyword in _LISTS:
        if isinstance(schema.get(keyword), list):
            yield from ((f"{keyword}/{index}", each) for index, each in enumerate(schema[keyword]))
    for keyword in _NAMED:
        if isinstance(schema.get(keyword), dict):
            yield from ((f"{keyword}/{_escaped(name)}", each) for name, each in schema[keyword].items())


class Documents:
    """A schema and those it may refer to.

    By the id of each subschema, `drafts` has its draft, and `targets` the schema it refers to.
    """

    def __init__(self, root: Any, draft: Draft, references: Mapping[str, tuple[Any, Draft]]) -> None:
        self._by_uri: dict[str, Any] = {}
        self._bases: dict[int, str] = {}
        self._names = {name: document for name, (document, _) in references.items()}
        self._waiting: list[tuple[dict[str, Any], str, str]] = []
        self.drafts: dict[int, Draft] = {}
        self.targets: dict[int, Any] = {}
        for name, (document, each) in references.items():
            self._by_uri.setdefault(name, document)
            self._enter(document, name, f"{name}#", each)
        self._by_uri[""] = root
        self._enter(root, "", "#", draft)
        while self._waiting:
            self._link(*self._waiting.pop())

    def lookup(self, uri: str) -> Any:
        """The schema at this address without fragment. A name also matches every address that ends with it."""
        if uri in self._by_uri:
            return self._by_uri[uri]
        return next((self._names[name] for name in self._names if uri.endswith(f"/{name}")), None)

    def _enter(self, document: Any, base: str, where: str, draft: Draft) -> None:
        """Ids are collected before any reference is resolved: a reference may lead to a later part."""
        stack = [(document, base, where)]
        while stack:
            schema, base, where = stack.pop()
            if not isinstance(schema, dict) or id(schema) in self._bases:
                continue
            if len(self._bases) == MOST_SUBSCHEMAS:
                raise SchemaTooLarge(f"the schema has more than {MOST_SUBSCHEMAS} schemas within it")
            base = self._named(schema, base, draft)
            self._bases[id(schema)] = base
            self.drafts[id(schema)] = draft
            self._waiting.append((schema, base, where))
            stack.extend((part, base, f"{where}/{pointer}") for pointer, part in subschemas(schema))

    def _named(self, schema: dict[str, Any], base: str, draft: Draft) -> str:
        name = schema.get(draft.id_keyword)
        if isinstance(name, str) and (draft.refs_have_siblings or "$ref" not in schema):
            address, fragment = _split(base, name)
            if fragment:
                self._by_uri.setdefault(f"{address}#{fragment}", schema)
            else:
                base = address
                self._by_uri.setdefault(base, schema)
        for keyword in ("$anchor", "$dynamicAnchor"):
            if isinstance(schema.get(keyword), str):
                self._by_uri.setdefault(f"{base}#{schema[keyword]}", schema)
        return base

    def _link(self, schema: dict[str, Any], base: str, where: str) -> None:
        for keyword in _REFERENCES:
            reference = schema.get(keyword)
            if isinstance(reference, str):
                self.targets[id(schema)] = self._followed(
                    reference, base, f"{where}/{keyword}", self.drafts[id(schema)]
                )

    def _followed(self, reference: str, base: str, where: str, draft: Draft) -> Any:
        address, fragment = _split(base, reference)
        document = self.lookup(address)
        if document is None:
            raise InvalidSchema(
                f"the reference {reference!r} at {where} leads to a schema that is not registered with this one",
                hint="register that schema, and name it among the references; nothing is loaded from the network",
            )
        target = self._by_uri.get(f"{address}#{fragment}") if fragment and not fragment.startswith("/") else None
        if target is None:
            target = _pointed(document, unquote(fragment))
        if not isinstance(target, dict | bool):
            raise InvalidSchema(f"the reference {reference!r} at {where} leads to nothing, or not to a schema")
        self._enter(target, address, f"{address}#{fragment}", draft)
        return target


def _split(base: str, reference: str) -> tuple[str, str]:
    try:
        address, fragment = urldefrag(urljoin(base, reference))
    except ValueError as reason:
        raise InvalidSchema(f"{reference[:80]!r} is not an address: {reason}") from None
    return address, fragment


def _pointed(document: Any, pointer: str) -> Any:
    if pointer and not pointer.startswith("/"):
        return None
    found = document
    for part in pointer.split("/")[1:]:
        part = part.replace("~1", "/").replace("~0", "~")
        if isinstance(found, list) and part.isdecimal() and int(part) < len(found):
            found = found[int(part)]
        elif isinstance(found, dict) and part in found:
            found = found[part]
        else:
            return None
    return found


def _escaped(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")
