"""Reasons that say the same about different records: what differs is taken out, and what is left is compared."""

import hashlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from pyspark.sql import functions as F

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

__all__ = ["NO_REASON", "OTHERS", "Template", "clustered", "merged", "template_of", "with_templates"]

NO_REASON = "(no reason)"
OTHERS = "others"
MOST_TEMPLATES = 500
LONGEST_TEMPLATE = 300
ALIKE = 0.7
"""Of the words of two templates, so many must be the same."""

VARYING = (
    (r'"[^"]*"|`[^`]*`|(?<!\w)\'[^\']*\'(?!\w)', "<text>"),
    (r"\b[a-z][a-z0-9+.-]*://\S+", "<url>"),
    (r"\b[\w.+-]+@[\w-]+\.[\w.]+\b", "<mail>"),
    (r"(?i)\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b", "<id>"),
    (r"\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)?", "<time>"),
    (r"\b\d{1,3}(\.\d{1,3}){3}(:\d+)?\b", "<address>"),
    (r"(?i)\b0x[0-9a-f]+\b|\b(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{8,}\b", "<hex>"),
    (r"[+-]?\d+([.,]\d+)*", "<n>"),
    (r"\s+", " "),
)
"""In this order: a number may be a part of what stands before it."""


class Template(NamedTuple):
    """One shape of reasons; `cluster` is the name of those that are alike, `title` the first of them."""

    template: str
    cluster: str
    title: str


def template_of(reason: "Column") -> "Column":
    """The reason without numbers, identifiers and quoted text."""
    found = F.substring(reason, 1, 4 * LONGEST_TEMPLATE)
    for pattern, name in VARYING:
        found = F.regexp_replace(found, pattern, name)
    found = F.substring(F.trim(found), 1, LONGEST_TEMPLATE)
    return F.when(found == "", NO_REASON).otherwise(found)


def with_templates(letters: "DataFrame") -> "DataFrame":
    """With the column `template`; worth to be kept, since it takes longer than all the rest."""
    return letters.withColumn("template", template_of(F.col("reason")))


def clustered(shaped: "DataFrame") -> "DataFrame":
    """Of letters with templates: which `cluster` they are in, and its `title`.

    Templates beyond the most frequent ones are `others`.
    """
    counts = shaped.groupBy("template").agg(F.count("*").alias("letters"), F.min("died").alias("first"))
    frequent = counts.orderBy(F.desc("letters"), "template").limit(MOST_TEMPLATES).collect()
    ordered = [row.template for row in sorted(frequent, key=lambda row: (row["first"], row.template))]
    found = merged(ordered)
    schema = "template string, cluster string, title string"
    names = shaped.sparkSession.createDataFrame([tuple(one) for one in found], schema)
    joined = shaped.join(F.broadcast(names), "template", "left")
    return joined.withColumns(
        {"cluster": F.coalesce("cluster", F.lit(OTHERS)), "title": F.coalesce("title", F.lit(OTHERS))}
    )


def merged(templates: Sequence[str]) -> list[Template]:
    """Each goes to the first that it is like, or begins a cluster.

    In the order in which they were first seen, so that letters that come later rename nothing.
    """
    leaders: list[tuple[list[str], str]] = []
    found = []
    for template in templates:
        words = template.split()
        title = next((name for other, name in leaders if _alike(words, other)), None)
        if title is None:
            title = template
            leaders.append((words, template))
        found.append(Template(template, _name(title), title))
    return found


def _alike(words: Sequence[str], others: Sequence[str]) -> bool:
    """Mostly the same words at the same places, or, in texts of different length, mostly the same words."""
    if len(words) == len(others):
        same = sum(one == other for one, other in zip(words, others, strict=True))
        return same >= ALIKE * len(words)
    either = set(words) | set(others)
    return len(set(words) & set(others)) >= ALIKE * len(either)


def _name(title: str) -> str:
    """Not a number: a cluster keeps its name when others come or go, so that none is sent back by mistake."""
    return hashlib.blake2b(title.encode(), digest_size=3).hexdigest()
