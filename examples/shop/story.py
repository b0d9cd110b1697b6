"""In which order does all of it happen? The day, act by act."""

import time
from collections import Counter
from pathlib import Path
from typing import Any

from examples.shop import crashing, paying, placing, redriving, streaming
from examples.shop.analyst import Analyst
from examples.shop.counting import books_of
from examples.shop.day import Day
from examples.shop.looking import figures_of, life_of
from examples.shop.opening import Address
from examples.shop.orders import ECONOMY, EXPRESS, Order, is_cancelled_later, orders_of_the_day
from examples.shop.reporting import write_report
from examples.shop.showing import Screen
from goqueue.client.sync import Admin
from goqueue.errors import GoQueueError

__all__ = ["Story"]

SALE_BEGINS_AFTER_S = 8
WRONG_ORDERS = 24
NS_PER_S = 1_000_000_000
QUESTIONS = {
    "audit_payments": ("Audit", "was an order charged twice, does each payment have its invoice?"),
    "audit_orders": ("Audit", "is every offset accounted for, is anything left to do?"),
    "quality": ("Quality", "do all orders fit the schema?"),
    "traces": ("Traces", "where did orders wait?"),
}


class Story:
    def __init__(self, shop: Address, folder: Path, screen: Screen, count: int) -> None:
        self._shop = shop
        self._folder = folder
        self._screen = screen
        self._count = count
        self._analyst: Analyst | None = None
        self._answers: dict[str, dict[str, Any]] = {}
        self._without_spark = ""

    def tell(self, analyst: Analyst | None, without_spark: str) -> tuple[Day, Path]:
        """All acts; without an analyst, those of Spark are left out, and it is said why."""
        self._analyst, self._without_spark = analyst, without_spark
        shop = self._shop
        orders = list(orders_of_the_day(self._count, time.time_ns() + SALE_BEGINS_AFTER_S * NS_PER_S))
        placed = self._place(orders)
        turned_away = self._turn_away()
        self._cancel(orders, placed)
        killed = self._kill()
        dead = self._pay()
        self._ask("triage", "Triage", "why did orders die?")
        redriven = self._redrive()
        read = self._stream()
        for question, (title, doing) in QUESTIONS.items():
            self._ask(question, title, doing)
        unlucky = next((order for order in orders if order.currency != "EUR"), orders[0])
        with self._screen.act("Report", "reading the books back from the log") as act:
            day = Day(
                len(placed.places),
                sum(order.on_sale_ns is not None for order in orders),
                placed.double_clicks,
                turned_away,
                tuple(killed),
                dead,
                redriven,
                read,
                books_of(shop),
                tuple(redriving.held_orders(shop)),
                figures_of(shop),
                unlucky.number,
                tuple(life_of(shop, unlucky)),
                self._answers,
                self._without_spark,
            )
            page = write_report(day, self._folder / "report")
            act.tell("every number of it is read back from the broker")
        return day, page

    # Acts.

    def _place(self, orders: list[Order]) -> placing.Placed:
        with self._screen.act("Orders", "three channels take orders") as act:
            placed = placing.place(self._shop, orders)
            kinds = Counter(order.shipping for order in orders)
            later = sum(order.on_sale_ns is not None for order in orders)
            act.tell(
                f"{len(placed.places):,} placed: {kinds[EXPRESS]:,} express, {kinds[ECONOMY]:,} economy; "
                f"{later:,} wait for a sale that begins in {SALE_BEGINS_AFTER_S} s; "
                f"{placed.double_clicks:,} double clicks were written once"
            )
        return placed

    def _turn_away(self) -> placing.TurnedAway:
        with self._screen.act("Schema", "a form that was never tested sends orders, too") as act:
            refused = placing.turn_away(self._shop, WRONG_ORDERS)
            act.tell(f"{refused.by_client} wrong orders refused by the serializer, {refused.by_broker} by the broker")
        return refused

    def _cancel(self, orders: list[Order], placed: placing.Placed) -> None:
        with self._screen.act("Cancelled", "some customers have second thoughts") as act:
            unwanted = [order for order in orders if is_cancelled_later(order)]
            count = placing.cancel(self._shop, unwanted, placed.places)
            act.tell(f"{count:,} orders cancelled before the sale begins: nobody will ever see them")

    def _kill(self) -> list[crashing.LastWords]:
        with self._screen.act("Crashes", "two tills begin to work, and are killed") as act:
            killed = crashing.kill_some(self._shop, paying.TILLS[:2])
            in_hand = sum(one.in_hand for one in killed)
            act.tell(
                f"{len(killed)} tills killed with -9 one step before a commit, {in_hand:,} orders in their hands, "
                "payments written"
            )
        return killed

    def _pay(self) -> dict[str, int]:
        with self._screen.act("Payments", "three tills take over; failures come again, the sale begins") as act:
            paying.pay_all(self._shop)
            with Admin(self._shop.native) as admin:
                dead = admin.dead_letter_stats("orders").by_cause
                committed = admin.transaction_stats().committed
            act.tell(
                f"all others are paid in {committed:,} transactions, or are among {sum(dead.values()):,} dead letters"
            )
        return dead

    def _redrive(self) -> redriving.Redriven:
        with self._screen.act("Redrive", "orders are mended, sent back, and paid") as act:
            done = redriving.mend(self._shop)
            paying.pay_all(self._shop)
            act.tell(f"{done.mended:,} mended, sent back and paid; {done.left:,} wait for a person")
        return done

    def _stream(self) -> streaming.Read:
        with self._screen.act("Stream", "a group reads the same topic from its beginning") as act:
            read = streaming.read_along(self._shop)
            act.tell(f"{sum(read.by_member):,} records read by {len(read.by_member)} members, beside the queue")
        return read

    # Spark.

    def _ask(self, question: str, title: str, doing: str) -> None:
        with self._screen.act(title, f"Spark: {doing}") as act:
            if self._analyst is None:
                act.leave_out("left out, as there is no Spark")
                return
            try:
                answer = self._analyst.ask(question)
            except GoQueueError as error:
                self._analyst, self._without_spark = None, error.message
                act.leave_out(f"left out: {error.message}")
                return
            self._answers[question] = answer
            act.tell(_said(question, answer))


def _said(question: str, answer: dict[str, Any]) -> str:
    match question:
        case "triage":
            reasons = "; ".join(f"{count:,} × {title}" for title, count in answer["clusters"])
            return f"{answer['letters']:,} dead letters: {reasons}"
        case "quality":
            return f"{answer['records']:,} records, {answer['violating']:,} break the schema"
        case "traces":
            return f"{answer['spans']:,} spans of what happened to orders"
        case _:
            return f"{question.removeprefix('audit_')}: {answer['verdict']}, by {len(answer['findings'])} checks"
