"""Delay events and snapshots. Offsets and due times are packed as in `packing`."""

import msgspec

__all__ = [
    "Cancelled",
    "DelayEvent",
    "Delayed",
    "Expired",
    "Fired",
    "KeptDelays",
    "Rescheduled",
]


class Delayed(msgspec.Struct, frozen=True, array_like=True, tag="delayed"):
    """These records are hidden, each until its due time. Written together with the records themselves."""

    offsets: bytes
    dues: bytes


class Rescheduled(msgspec.Struct, frozen=True, array_like=True, tag="rescheduled"):
    """These pending records have new due times."""

    offsets: bytes
    dues: bytes


class Cancelled(msgspec.Struct, frozen=True, array_like=True, tag="cancelled"):
    """These records are never delivered."""

    offsets: bytes


class Fired(msgspec.Struct, frozen=True, array_like=True, tag="fired"):
    """These records are visible from now on; in the order in which they were due."""

    offsets: bytes


class Expired(msgspec.Struct, frozen=True, array_like=True, tag="expired"):
    """The time to live of these records ended before they were due."""

    offsets: bytes


DelayEvent = Delayed | Rescheduled | Cancelled | Fired | Expired


class KeptDelays(msgspec.Struct, frozen=True, array_like=True):
    """Snapshot of one partition, in a form that does not depend on its history.

    Pending offsets ascend, `dues` are packed in the same order. The other sets are compressed bitmaps, in the portable
    64-bit format of Roaring.
    """

    pending: bytes
    dues: bytes
    delivered: bytes
    cancelled: bytes
    expired: bytes
