"""Who else reads the orders? A group that reads the same topic as a stream, and knows nothing of the tills."""

import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import msgspec

from examples.shop.opening import Address
from examples.shop.orders import ORDERS
from examples.shop.paying import are_all_done
from goqueue.client.schemas.sync import JsonDeserializer, Registry
from goqueue.client.sync import Admin, Consumer

__all__ = ["GROUP", "Read", "read_along"]

GROUP = "analytics"
MEMBERS = 2
READY_WITHIN_S = 60.0


class Read(msgspec.Struct, frozen=True):
    by_member: tuple[int, ...]
    """Records that each of them has read."""
    orders: int
    """Different ones: what was sent back is there twice."""
    cents: dict[str, int]
    """Ordered, by category."""


def read_along(shop: Address) -> Read:
    """Members share the partitions; all of them together have read everything when the group has no lag."""
    reader = JsonDeserializer(Registry(shop.registry))
    orders: dict[int, tuple[str, int]] = {}
    counts: Counter[int] = Counter()
    with ThreadPoolExecutor(MEMBERS) as pool, Admin(shop.native) as admin:

        def read(number: int) -> None:
            with Consumer(ORDERS, group=GROUP, bootstrap=shop.native, auto_commit_ms=None) as member:
                while not members_are_there():
                    time.sleep(0.05)
                while not are_all_done(admin, GROUP):
                    for message in member.poll(wait_ms=200):
                        order = reader.decode(message.value)
                        orders[order["number"]] = order["category"], order["cents"]
                        counts[number] += 1
                    member.commit()

        def members_are_there() -> bool:
            """Each has its partitions: nobody begins to read before."""
            owners = {one.member_id for one in admin.describe_group(GROUP).partitions}
            return len(owners - {None}) == MEMBERS

        list(pool.map(read, range(MEMBERS)))
    cents: Counter[str] = Counter()
    for category, amount in orders.values():
        cents[category] += amount
    return Read(tuple(counts[number] for number in range(MEMBERS)), len(orders), dict(sorted(cents.items())))
