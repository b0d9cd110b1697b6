"""How is an order paid, once and only once? Payment, invoice and the end of the order are one transaction."""

import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

import msgspec

from examples.shop.cards import CardRefused, CardServiceDown, charge
from examples.shop.opening import Address
from examples.shop.orders import INVOICES, ORDERS, PAYMENTS, SCHEMA, Order
from goqueue.client.schemas.sync import JsonDeserializer, Registry
from goqueue.client.sync import Admin, Job, Producer, Transaction, Worker
from goqueue.errors import TransactionEnded, UnknownReceipt

__all__ = ["GROUP", "Payment", "Till", "are_all_done", "pay_all"]

GROUP = "payments"
TILLS = ("till-1", "till-2", "till-3")
AT_ONCE = 20
LOOK_EVERY_S = 0.1


def _nothing() -> None:
    pass


class Payment(msgspec.Struct, frozen=True):
    order: int
    cents: int
    shipping: str
    till: str
    taken_ns: int
    """When the till got the order."""


class Till:
    """A worker, and a producer for what comes of its work. After a crash, another one of the same name takes over."""

    def __init__(self, shop: Address, name: str) -> None:
        self.name = name
        self.worker = Worker(ORDERS, group=GROUP, bootstrap=shop.native, client_id=name)
        self.producer = Producer(shop.native, transactional_id=name)
        self._orders = JsonDeserializer(Registry(shop.registry), SCHEMA)

    def __enter__(self) -> "Till":
        self.worker.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self.producer.close(flush=False)
        self.worker.close()

    def work(self, jobs: Sequence[Job], before_commit: Callable[[], None] = _nothing) -> None:
        """Payments, invoices, and what became of each order: all of it happens when the block ends, or none of it."""
        now_ns = time.time_ns()
        with self.producer.transaction() as transaction:
            paid = [job for job in jobs if self._pay(transaction, job, now_ns)]
            transaction.ack(*paid)
            before_commit()

    def _pay(self, transaction: Transaction, job: Job, now_ns: int) -> bool:
        order = msgspec.convert(self._orders.decode(job.value), Order)
        try:
            charge(order, job.failures)
        except CardServiceDown as error:
            # It comes again after a pause, which doubles; the fourth failure makes it a dead letter.
            transaction.nack(job, reason=str(error))
            return False
        except CardRefused as error:
            transaction.reject(job, reason=str(error))
            return False
        payment = Payment(order.number, order.cents, order.shipping, self.name, now_ns)
        invoice = {"order": order.number, "total": order.cents / 100}
        # Two tills may have orders of one customer at the same time, and nothing says which of them writes first: by
        # customer, payments and invoices could stand in different orders.
        key = str(order.number).encode()
        self.producer.send(PAYMENTS, msgspec.json.encode(payment), key=key)
        self.producer.send(INVOICES, msgspec.json.encode(invoice), key=key)
        return True


def pay_all(shop: Address) -> None:
    """Until no order is left, neither for later nor for another attempt."""
    stop = threading.Event()
    with ThreadPoolExecutor(len(TILLS)) as pool, Admin(shop.native) as admin:
        working = [pool.submit(_work, shop, name, stop) for name in TILLS]
        try:
            while not are_all_done(admin, GROUP):
                for till in working:
                    if till.done():
                        till.result()
                time.sleep(LOOK_EVERY_S)
        finally:
            stop.set()


def _work(shop: Address, name: str, stop: threading.Event) -> None:
    with Till(shop, name) as till:
        while not stop.is_set():
            jobs = till.worker.take(AT_ONCE, wait_ms=200)
            if not jobs:
                continue
            try:
                till.work(jobs)
            except (TransactionEnded, UnknownReceipt):
                # Too slow: some of them were given to others meanwhile. All of it is undone, and comes again.
                continue


def are_all_done(admin: Admin, group: str) -> bool:
    """Whether the group is done with every order: nothing is delayed, in hand, or to be tried again."""
    partitions = admin.describe_group(group).partitions
    return bool(partitions) and all(one.lag == one.delayed == 0 for one in partitions)
