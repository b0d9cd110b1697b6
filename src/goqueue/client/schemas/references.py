"""The texts of all schemas that one refers to, directly or not."""

from goqueue.client.schemas.registry import Registry
from goqueue.client.schemas.schema import Schema
from goqueue.errors import InvalidSchema

__all__ = ["texts_referred_to"]

MOST_REFERRED_TO = 1000


def texts_referred_to(registry: Registry, schema: Schema) -> dict[str, str]:
    """By the name that stands in the text; each comes after those it refers to itself."""
    found: dict[str, str] = {}
    begun: set[str] = set()
    ways = [(("", ""), iter(schema.references))]
    while ways:
        (name, text), left = ways[-1]
        reference = next(left, None)
        if reference is None:
            ways.pop()
            if ways:
                found[name] = text
        elif reference.name not in begun:
            begun.add(reference.name)
            if len(begun) > MOST_REFERRED_TO:
                raise InvalidSchema(f"the schema refers to more than {MOST_REFERRED_TO} others")
            other = registry.version(reference.subject, reference.version)
            ways.append(((reference.name, other.text), iter(other.references)))
    return found
