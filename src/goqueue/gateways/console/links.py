"""Where things stand: paths of the console, with every part escaped."""

from urllib.parse import quote, urlencode

__all__ = ["PREFIX", "link"]

PREFIX = "/console"


def link(*parts: object, **query: object) -> str:
    """`link("topics", "orders", "records", partition=0)`; what is None or empty is left out of the query."""
    path = "".join(f"/{quote(str(part), safe='')}" for part in parts)
    given = {name.rstrip("_"): value for name, value in query.items() if value is not None and value != ""}
    return PREFIX + path + (f"?{urlencode(given)}" if given else "")
