"""What `goqueue bench` prints at the end: one line for each load, and what was measured in it."""

from collections.abc import Sequence

from goqueue.cli.bench_run import Result, Wish
from goqueue.cli.load.plan import Kind
from goqueue.cli.output import print_table
from goqueue.cli.times import bytes_text

__all__ = ["print_results"]

MEASURED = {
    Kind.PUBLISH: "from handing over a batch (with a rate: from when it was due) until it was confirmed",
    Kind.CONSUME: "of one fetch; each connection reads everything from the beginning, and MB/s are bytes as stored",
    Kind.QUEUE: "from handing over a record until it was acknowledged; without a rate, 20,000 wait in the queue",
    Kind.LATENCY: "from when a record was due until a waiting reader had it",
}


def print_results(wish: Wish, results: Sequence[Result]) -> None:
    if not results:
        print("nothing was measured")
        return
    columns = ("load", "records", "msg/s", "MB/s", "p50 ms", "p99 ms", "p99.9 ms", "max ms", "errors")
    rows = [
        (
            one.load.value,
            f"{one.records:,}",
            f"{one.per_second:,.0f}",
            f"{one.mb_per_second:,.1f}",
            *(_ms(value) for value in (one.p50_ms, one.p99_ms, one.p999_ms, one.max_ms)),
            f"{one.errors:,}",
        )
        for one in results
    ]
    print_table(f"Load on {wish.server}", columns, rows, numbers=",".join(columns[1:]))
    durability = wish.durability or "as the topic says"
    pace = "as fast as it goes" if wish.per_second is None else f"{wish.per_second:,.0f} records a second"
    print(
        f"values of {bytes_text(wish.size)}, {wish.batch:,} in a batch, {wish.workers} × {wish.connections} "
        f"connections, durability {durability}, {pace}; clients on this machine"
    )
    for one in results:
        print(f"  {one.load.value}: latency {MEASURED[one.load]}")
        for code, count in one.failures.items():
            print(f"  {one.load.value}: {count:,} × {code}")


def _ms(value: float | None) -> str:
    return "" if value is None else f"{value:,.2f}"
