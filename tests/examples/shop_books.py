"""What the broker of the demo says, over HTTP and in its files: counted anew, by nothing that the demo uses itself."""

import base64
import json
import urllib.request
from collections import Counter
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

__all__ = ["Books", "Record"]

FRAME = 5
"""Bytes of a value before its JSON: a zero, and the id of a schema."""


class Record:
    def __init__(self, answer: dict[str, Any]) -> None:
        self.partition: int = answer["partition"]
        self.offset: int = answer["offset"]
        self.timestamp: str = answer["timestamp"]
        self.priority: int = answer["priority"]
        self.headers: dict[str, Any] = answer.get("headers") or {}
        data = base64.b64decode(answer["value"]["base64"])
        self.value: dict[str, Any] = json.loads(data[FRAME:] if data[:1] == b"\0" else data)


class Books:
    def __init__(self, http: str, folder: Path) -> None:
        self._http = http
        self._folder = folder
        self.orders = self.records("orders")
        self.payments = self.records("payments")
        self.invoices = self.records("invoices")
        self.letters = self.records("orders.dlq")
        """All that ever came, also those that were sent back."""

    def get(self, path: str, **query: object) -> Any:
        with urllib.request.urlopen(f"http://{self._http}{path}?{urlencode(query)}", timeout=60) as answer:
            return json.load(answer)

    def records(self, topic: str, **query: object) -> list[Record]:
        found, cursor = [], None
        while True:
            more = {} if cursor is None else {"cursor": cursor}
            page = self.get(f"/topics/{topic}/messages", format="base64", limit=1000, **query, **more)
            found += [Record(one) for one in page["messages"]]
            cursor = page["next_cursor"]
            if cursor is None:
                return found

    @property
    def numbers(self) -> set[int]:
        """Of orders that anybody may see."""
        return {one.value["number"] for one in self.orders}

    @property
    def charged(self) -> list[int]:
        return [one.value["order"] for one in self.payments]

    @property
    def placed(self) -> dict[int, Record]:
        """Orders as they came first, by number."""
        found: dict[int, Record] = {}
        for one in sorted(self.orders, key=lambda one: one.timestamp):
            found.setdefault(one.value["number"], one)
        return found

    @property
    def redriven(self) -> list[Record]:
        return [one for one in self.orders if "goqueue-redriven-from" in one.headers]

    def origin(self, letter: Record) -> dict[str, Any]:
        """What the header of a dead letter says."""
        return dict(json.loads(letter.headers["goqueue-dead-letter"]))

    def open_letters(self) -> list[int]:
        """Orders that are dead letters now."""
        found, cursor = [], None
        while True:
            more = {} if cursor is None else {"cursor": cursor}
            page = self.get("/dlq/orders", limit=100, **more)
            places = {(one["partition"], one["offset"]) for one in page["messages"]}
            found += [one.value["number"] for one in self.letters if (one.partition, one.offset) in places]
            cursor = page["next_cursor"]
            if cursor is None:
                return found

    def spans(self) -> list[dict[str, Any]]:
        """Lines of the files that the broker writes; each is about one record or several."""
        files = sorted((self._folder / "data" / "traces").iterdir())
        return [json.loads(line) for file in files for line in file.read_text().splitlines() if line]

    def spans_by_operation(self) -> Counter[str]:
        found: Counter[str] = Counter()
        for one in self.spans():
            found[one["operation"]] += one.get("count", 1)
        return found
