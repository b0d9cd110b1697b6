"""`make demo`, run for real: every number of its report, counted anew from the broker that it has left running."""

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from statistics import median
from typing import Any

import pytest

from tests.examples.shop_books import Books
from tests.examples.shop_page import Page, shown

pytestmark = [pytest.mark.slow, pytest.mark.spark, pytest.mark.timeout(900)]

ROOT = Path(__file__).parents[2]
PLACED = 2000
EURO = "no rate for the currency EURO"
STOLEN = "the card is reported as stolen"
QUEUE, STREAM = "payments", "analytics"


class Demo:
    """It has told its story, and waits for Ctrl-C."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.process = subprocess.Popen(
            [sys.executable, "-m", "examples.shop", "--folder", str(folder), "--free-ports"],
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env={**os.environ, "COLUMNS": "200"},
        )
        self.said: list[str] = []

    def wait(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.said.append(line.rstrip())
            if "Ctrl-C ends it" in line:
                return
        raise AssertionError("\n".join(self.said))

    def interrupt(self) -> int:
        self.process.send_signal(signal.SIGINT)
        rest, _ = self.process.communicate(timeout=120)
        self.said += rest.splitlines()
        return self.process.returncode

    @property
    def address(self) -> dict[str, str]:
        for line in (self.folder / "server.log").read_text().splitlines():
            said = json.loads(line)
            if said["event"] == "goqueue is serving":
                return said
        raise AssertionError("the broker did not say where it is")


@pytest.fixture(scope="module")
def demo(tmp_path_factory) -> Iterator[Demo]:
    running = Demo(tmp_path_factory.mktemp("shop") / "demo")
    try:
        running.wait()
        yield running
    finally:
        if running.process.poll() is None:
            running.interrupt()


@pytest.fixture(scope="module")
def books(demo) -> Books:
    return Books(demo.address["http"].removeprefix("http://"), demo.folder)


@pytest.fixture(scope="module")
def report(demo) -> dict[str, Any]:
    return json.loads((demo.folder / "report" / "shop.json").read_text())


def ns(moment: str) -> int:
    whole = datetime.fromisoformat(moment[:19] + "+00:00")
    return int(whole.timestamp()) * 1_000_000_000 + int(moment[20:29])


# The page.


def test_the_page_shows_the_numbers_of_the_file_beside_it_and_no_others(demo, report):
    page = Page((demo.folder / "report" / "shop.html").read_text())
    told = {"title": report.pop("title"), "lead": report.pop("lead"), "summary": report.pop("summary")}
    assert page.sections[0][1][:2] == [told["title"], told["lead"]]
    assert page.sections[1] == ("", [shown(one) for fact in told["summary"].items() for one in fact])
    headings = [heading for heading, _ in page.sections[2:] if heading != "Reports of the pipelines"]
    assert headings == list(report)
    for heading, content in report.items():
        cells = page.section(heading)
        if isinstance(content, dict):
            expected = [shown(one) for fact in content.items() for one in fact]
        else:
            expected = [*(content[0] if content else ()), *(shown(one) for row in content for one in row.values())]
        assert cells[: len(expected)] == expected, heading
        assert not any(letter.isdigit() for cell in cells[len(expected) :] for letter in cell), heading
    report.update(told)


def test_the_page_needs_nothing_else_and_leads_to_the_pages_of_the_pipelines(demo):
    page = Page((demo.folder / "report" / "shop.html").read_text())
    assert page.asks_for == []
    assert len(page.leads_to) == 5
    for path in page.leads_to:
        assert (demo.folder / "report" / path).is_file(), path


def test_every_act_is_a_line_and_none_was_left_out(demo):
    words = [line.split() for line in demo.said]
    acts = [some[2] for some in words if some[1:2] == ["✓"] and some[0].isdigit()]
    assert acts == [
        *("Opening", "Orders", "Schema", "Cancelled", "Crashes", "Payments", "Triage", "Redrive", "Stream"),
        *("Audit", "Audit", "Quality", "Traces", "Report"),
    ]
    assert not any("left out" in line for line in demo.said)
    assert any(str(demo.folder) in line for line in demo.said)
    assert any(demo.address["http"] + "/console" in line for line in demo.said)


# Orders.


def test_every_order_ended_in_exactly_one_way(books, report):
    paid, held = set(books.charged), set(books.open_letters())
    cancelled = books.get("/delay/stats")["cancelled"]
    unseen = set(range(1, PLACED + 1)) - books.numbers
    assert not paid & held
    assert len(unseen) == cancelled > 0
    assert not unseen & (paid | held)
    assert len(paid) + len(held) + cancelled == PLACED
    assert [row["orders"] for row in report["Where every order ended"]] == [len(paid), cancelled, len(held)]
    summary = report["summary"]
    assert (summary["Orders placed"], summary["Paid"]) == (PLACED, len(paid))
    assert summary["Turnover"] == f"€{round(sum(one.value['cents'] for one in books.payments) / 100):,}"


def test_what_must_hold_was_counted_right_and_holds(books, report):
    paid, invoiced = set(books.charged), {one.value["order"] for one in books.invoices}
    cancelled = books.get("/delay/stats")["cancelled"]
    charges, invoices = len(books.payments), len(books.invoices)
    expected = [(PLACED, PLACED), (0, 0), (charges, len(paid)), (charges, invoices), (0, 0), (0, 0)]
    found = report["What must hold"]
    assert [(row["expected"], row["found"]) for row in found] == [*expected, (cancelled, cancelled)]
    assert all(row["holds"] for row in found)
    assert paid == invoiced


def test_no_order_was_charged_twice_although_tills_were_killed(books, report):
    killed = report["Tills that were killed (kill -9), one step before a commit"]
    assert [row["till"] for row in killed] == ["till-1", "till-2"]
    assert report["summary"]["Tills killed"] == 2
    assert report["summary"]["Charged twice"] == 0
    assert len(books.charged) == len(set(books.charged))
    everything = books.records("payments", isolation="read_uncommitted")
    seen = {(one.partition, one.offset) for one in books.payments}
    hidden = [one.value for one in everything if (one.partition, one.offset) not in seen]
    in_hand = {row["till"]: row["in hand"] for row in killed}
    assert sum(in_hand.values()) > 0
    # A till may be too slow at another time as well; then it was one of those that took over.
    by_till = Counter(one["till"] for one in hidden)
    assert all(by_till[till] >= count for till, count in in_hand.items())
    assert {one["order"] for one in hidden} <= set(books.charged), "what was in their hands was paid by others"
    for row in killed:
        taken = sorted(one.value["taken_ns"] for one in books.payments if one.value["till"] == row["till"])
        assert taken.count(taken[0]) == row["paid before"], "what it had committed before counts"
    stats = books.get("/transactions/stats")
    aborted = ", ".join(f"{one['aborted_records']:,} {one['topic']}" for one in sorted_topics(stats))
    assert report["What they left behind"] == {
        "written and never seen by anybody": aborted,
        "leases that ran out, and went to others": queue_figures(books)["expired"],
        "transactions committed": stats["committed"],
        "transactions aborted": stats["aborted"],
    }
    assert {one["topic"]: one["aborted_records"] for one in stats["topics"]}["payments"] == len(hidden)
    assert queue_figures(books)["expired"] >= sum(in_hand.values())


def sorted_topics(stats: dict[str, Any]) -> list[dict[str, Any]]:
    return sorted((one for one in stats["topics"] if one["aborted_records"]), key=lambda one: one["topic"])


def queue_figures(books: Books) -> dict[str, Any]:
    (found,) = [one for one in books.get("/reliability/stats")["groups"] if one["group"] == QUEUE]
    return found


def test_the_most_urgent_orders_of_a_partition_were_handed_out_first(books):
    first: dict[tuple[int, int], int] = {}
    for span in books.spans():
        if span["operation"] == "consume" and span.get("group") == QUEUE and span.get("delivery", 1) == 1:
            for number in range(span.get("count", 1)):
                place = (span["partition"], span["offset"] + number * span.get("step", 1))
                first[place] = min(span["start_ns"], first.get(place, span["start_ns"]))
    waiting = [one for one in books.placed.values() if one.value.get("on_sale_ns") is None]
    for partition in range(3):
        there = [one for one in waiting if one.partition == partition]
        moments = {
            priority: [first[partition, one.offset] for one in there if one.priority == priority]
            for priority in (0, 2, 4)
        }
        assert max(moments[0]) <= min(moments[2])
        assert max(moments[2]) <= min(moments[4])


def test_the_waits_are_those_between_the_records_of_orders_and_their_payments(books, report):
    placed = books.placed
    waits: dict[str, list[int]] = {}
    for one in books.payments:
        order = placed[one.value["order"]]
        if order.value.get("on_sale_ns") is None:
            waits.setdefault(order.value["shipping"], []).append(one.value["taken_ns"] - ns(order.timestamp))
    rows = {row["shipping"]: row for row in report["Express first"]}
    assert rows.keys() == waits.keys()
    for shipping, some in waits.items():
        row = rows[shipping]
        assert (row["orders"], row["priority"]) == (len(some), {"express": 0, "standard": 2, "economy": 4}[shipping])
        assert row["median wait, s"] == pytest.approx(median(some) / 1e9, abs=0.001)


def test_the_rush_is_that_of_the_payments(books, report):
    began = min(ns(one.timestamp) for one in books.orders)
    counts = Counter(((one.value["taken_ns"] - began) // 10**9, one.value["shipping"]) for one in books.payments)
    for row in report["The rush"]:
        for shipping in ("express", "standard", "economy"):
            assert row[shipping] == counts.pop((row["second"], shipping), 0)
    assert all(second >= 15 for second, _ in counts)


def test_nothing_was_delivered_before_the_sale_began(books, report):
    delays = books.get("/delay/stats")
    on_sale = {one.value["number"]: one.value["on_sale_ns"] for one in books.orders if one.value.get("on_sale_ns")}
    after = [
        (one.value["taken_ns"] - on_sale[one.value["order"]]) / 1e6
        for one in books.payments
        if one.value["order"] in on_sale
    ]
    assert min(after) >= 0
    assert report["The sale"] == {
        "orders announced for it": PLACED // 20,
        "cancelled before it began": delays["cancelled"],
        "delivered when it began": delays["delivered"],
        "first at a till, ms after it began": pytest.approx(min(after), abs=0.1),
        "last at a till, ms after it began": pytest.approx(max(after), abs=0.1),
    }
    assert delays["pending"] == 0
    assert delays["delivered"] + delays["cancelled"] == PLACED // 20


def test_what_was_wrong_or_came_twice_was_not_written(books, report):
    refused = sum(one.get("count", 1) for one in books.spans() if one["operation"] == "publish" and one.get("error"))
    door = report["At the door"]
    assert door["wrong orders without a serializer, refused by the broker"] == refused == 12
    assert door["wrong orders, refused by the serializer"] == 12
    assert all(one.value["cents"] > 0 for one in books.orders)
    # Three channels of 667, 667 and 666 orders, in which every fiftieth customer was impatient.
    assert door["double clicks, written once"] == 3 * 14
    ids = Counter(one.headers["goqueue-id"] for one in books.orders if "goqueue-redriven-from" not in one.headers)
    assert set(ids.values()) == {1}


# Failures.


def test_failures_and_dead_letters_are_those_of_the_log(books, report):
    causes = Counter(books.origin(one)["cause"] for one in books.letters)
    back = books.redriven
    mended = [one for one in back if books.placed[one.value["number"]].value["currency"] == "EURO"]
    assert all(one.value["currency"] == "EUR" for one in back)
    assert len({one.headers["goqueue-redriven-from"] for one in back}) == len(back), "each was sent back once"
    assert report["Failures"] == {
        "attempts that failed, and were made again or given up": queue_figures(books)["nacked"],
        **{f"dead letters: {cause}": count for cause, count in sorted(causes.items())},
        "mended, and sent back": len(mended),
        "sent back as they were": len(back) - len(mended),
        "left for a person": len(books.open_letters()),
    }
    assert report["summary"]["Mended, sent back"] == len(mended) > 0
    assert books.get("/dlq/orders/stats")["by_reason"] == {STOLEN: len(books.open_letters())}
    assert len(books.letters) == len(back) + len(books.open_letters())


def test_the_life_of_an_order_is_that_of_its_trace(books, report):
    (heading,) = [name for name in report if name.startswith("The life of order ")]
    number = heading.rpartition(" ")[2]
    trace = books.get("/traces/journey", topic="orders", id=f"order-{number}")["trace_id"]
    spans = [one for one in books.get(f"/traces/{trace}")["spans"] if one.get("group", QUEUE) == QUEUE]
    spans.sort(key=lambda one: one["start"])
    steps = report[heading]
    assert len(steps) == len(spans)
    for step, span in zip(steps, spans, strict=True):
        assert step["after s"] == pytest.approx((ns(span["start"]) - ns(spans[0]["start"])) / 1e9, abs=0.002)
        assert step["note"] == span.get("error", "")
        assert span.get("member", "").startswith(step["by"])
    told = [step["what"] for step in steps]
    assert told.count("failed") == 4
    assert told.index("made a dead letter") < told.index("mended, and sent back") < told.index("paid")


# The stream, and Spark.


def test_the_stream_has_read_everything_that_can_be_seen_once(books, report):
    read = report["Read as a stream, beside the queue"]
    members = [count for name, count in read.items() if name.startswith("records read by")]
    assert len(members) == 2
    assert all(members)
    assert sum(members) == len(books.orders)
    assert read["different orders"] == len(books.numbers)
    group = books.get(f"/groups/{STREAM}")
    assert sum(one["lag"] for one in group["partitions"]) == 0
    euros: Counter[str] = Counter()
    for one in books.placed.values():
        euros[one.value["category"]] += one.value["cents"]
    expected = {category: round(cents / 100) for category, cents in euros.items()}
    assert {row["category"]: row["€"] for row in report["Ordered, by category"]} == expected


def test_spark_finds_why_orders_died(books, report):
    reasons = Counter(books.origin(one)["reason"] for one in books.letters)
    rows = {row["reason"]: row["letters"] for row in report["Why they died, by Spark"]}
    assert rows == dict(reasons)
    assert rows.keys() >= {EURO, STOLEN}


def test_the_audits_prove_it_with_the_numbers_of_the_log(books, report):
    (partition,) = books.get("/topics/payments")["partitions"]
    markers_and_all = partition["latest"] - partition["earliest"]
    paid, aborted = (
        len(books.payments),
        {one["topic"]: one["aborted_records"] for one in books.get("/transactions/stats")["topics"]}["payments"],
    )
    cancelled = books.get("/delay/stats")["cancelled"]
    causes = Counter(books.origin(one)["cause"] for one in books.letters)
    dead = ", ".join(f"{count:,} {cause}" for cause, count in sorted(causes.items()))
    rows = {(row["topic"], row["check"]): row for row in report["Audit, by Spark"]}
    assert {row["verdict"] for row in rows.values()} == {"proven"}
    says = {place: row["what is found"] for place, row in rows.items()}
    assert says == {
        ("payments", "log"): (
            f"every offset of the stretch is accounted for: {paid:,} records, {markers_and_all - paid - aborted:,} "
            f"markers of transactions, {aborted:,} aborted records, 0 delayed or cancelled records"
        ),
        ("payments", "ids"): f"{paid:,} records, each with a field:order of its own",
        (
            "payments",
            "copy",
        ): f"{paid:,} records of the source are in invoices, each of them once, and no others of them",
        ("payments", "copy order"): "within a partition, records of a key are in the order of the source",
        ("orders", "log"): (
            f"every offset of the stretch is accounted for: {len(books.orders):,} records, 0 markers of transactions, "
            f"0 aborted records, {cancelled:,} delayed or cancelled records"
        ),
        ("orders", "ids"): f"{len(books.redriven):,} records, each with a header:goqueue-redriven-from of its own",
        ("orders", "group"): (
            f"payments is done with every record of the stretch; of all, {dead} ended as dead letters"
        ),
    }


def test_quality_and_traces_have_the_counts_of_the_log_and_of_the_files(books, report):
    customers = {one.value["customer"] for one in books.orders}
    assert report["Quality of orders, by Spark"] == {
        "records checked": len(books.orders),
        "that break the schema": 0,
        "customers": len(customers),
    }
    noted = {row["span"]: row["count"] for row in report["What the broker noted of orders, by Spark"]}
    assert noted == dict(books.spans_by_operation())
    figures = queue_figures(books)
    assert noted["ack"] == figures["acked"] == len(books.payments)
    assert noted["reject"] == figures["rejected"]
    assert noted["dlq"] == figures["dead_lettered"] == len(books.letters)


# The end of it.


def test_ctrl_c_ends_the_demo_and_its_broker(demo, books):
    assert books.get("/health")
    assert demo.interrupt() == 0
    assert "Traceback" not in "\n".join(demo.said)
    with pytest.raises(OSError):
        books.get("/health")
    log = (demo.folder / "server.log").read_text()
    assert '"stopped"' in log
    assert "Traceback" not in log


def run_small(folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "examples.shop", "--folder", str(folder), "--free-ports", "--orders", "200"]
    env = {**os.environ, "COLUMNS": "200", **environment}
    return subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, timeout=600, check=False)


def test_without_java_everything_else_is_done_and_it_is_said_plainly(tmp_path):
    folder = tmp_path / "demo"
    for _ in range(2):
        # The second time, what the first one left is cleared away.
        done = run_small(folder, JAVA_HOME=str(tmp_path / "nowhere"), DEMO_WAIT="0")
        assert done.returncode == 0, done.stdout + done.stderr
        assert "Spark is left out:" in done.stdout
        assert "openjdk" in done.stdout
    report = json.loads((folder / "report" / "shop.json").read_text())
    assert report["summary"]["Orders placed"] == 200
    assert all(row["holds"] for row in report["What must hold"])
    assert "Audit, by Spark" not in report


def test_a_folder_that_is_not_of_a_demo_is_left_alone(tmp_path):
    (tmp_path / "mine").write_text("precious")
    done = run_small(tmp_path, DEMO_WAIT="0")
    assert done.returncode == 1
    assert "--folder" in done.stdout
    assert [file.name for file in tmp_path.iterdir()] == ["mine"]
