"""`goqueue txn` against a running broker."""

import asyncio
from collections.abc import Iterator

import pytest

from goqueue import codec
from goqueue.cli.txn_views import print_page, print_view
from goqueue.client.link import Link
from goqueue.model.record import Record
from goqueue.model.transaction_views import TransactionPage, TransactionView
from goqueue.wire.native import messages, transactions
from goqueue.wire.native.frames import Opcode
from tests.integration.cli.driver import Cli, Inside, Server


class Transactions:
    """Begun over the protocol, so that they stay open when their producer goes away."""

    def __init__(self, server: str) -> None:
        self._server = server
        self.begun: list[transactions.TransactionRef] = []

    def begin(self, transactional_id: str, topic: str, *values: bytes, timeout_ms: int = 60_000) -> int:
        async def begin(link: Link) -> transactions.TransactionRef:
            init = transactions.InitTransactions(transactional_id, timeout_ms)
            who = await link.ask(Opcode.INIT_TRANSACTIONS, init, messages.ProducerIdentity)
            start = transactions.BeginTransaction(who.producer_id, who.epoch)
            begun = await link.ask(Opcode.BEGIN_TRANSACTION, start, transactions.Begun)
            head = messages.Publish(
                topic, 0, producer_id=who.producer_id, producer_epoch=who.epoch, transaction=begun.number
            )
            connection = await link.connection()
            records = codec.encode([Record(value) for value in values])
            await connection.request(Opcode.PUBLISH, head, messages.Published, records)
            return transactions.TransactionRef(begun.number, who.producer_id, who.epoch)

        self.begun.append(asyncio.run(self._with_link(begin)))
        return self.begun[-1].number

    def commit(self) -> None:
        """The last one."""

        async def commit(link: Link) -> None:
            end = transactions.EndTransaction(self.begun[-1])
            await link.ask(Opcode.COMMIT_TRANSACTION, end, messages.Done)

        asyncio.run(self._with_link(commit))

    async def _with_link(self, action):
        link = Link(self._server)
        try:
            return await action(link)
        finally:
            await link.close()


@pytest.fixture
def txn(server: Server, inside: Inside) -> Iterator[Transactions]:
    made = Transactions(server.native)
    yield made

    async def end(admin) -> None:
        for one in made.begun:
            if (await admin.describe_transaction(one.number)).is_live:
                await admin.abort_transaction(one.number)

    inside.ask(end)


def test_open_transactions_are_listed_with_the_records_that_they_hold_back(
    goqueue: Cli, txn: Transactions, topic: str
) -> None:
    assert goqueue("txn", "list") == "no transaction is open\n"
    first = txn.begin("shop", topic, b"a", b"b")
    second = txn.begin("bank", topic, b"c")
    found = goqueue.json("txn", "list")
    assert (found["live"], found["after"]) == (2, None)
    assert [one["number"] for one in found["transactions"]] == [first, second]
    one = found["transactions"][0]
    assert (one["transactional_id"], one["state"], one["records"], one["hanging"]) == ("shop", "open", 2, False)
    assert one["partitions"] == [{"topic": topic, "partition": 0, "records": 2, "first_offset": 0}]
    page = goqueue.json("txn", "list", "--limit", 1)
    assert [one["number"] for one in page["transactions"]] == [first]
    rest = goqueue.json("txn", "list", "--after", page["after"])
    assert [one["number"] for one in rest["transactions"]] == [second]
    table = goqueue("txn", "list")
    assert "2 in all" in table
    assert "shop" in table
    assert "HANGS" not in table
    assert f"there are more: --after {first}" in goqueue("txn", "list", "--limit", 1)
    assert goqueue("txn", "list", "--hanging") == "no transaction hangs\n"


def test_those_that_hang_are_marked(capsys: pytest.CaptureFixture[str]) -> None:
    live = {"began_ns": 1, "deadline_ns": 2, "timeout_ms": 60_000}
    calm = TransactionView(1, "open", 4, 0, "calm", age_ms=29_000, **live)
    slow = TransactionView(2, "open", 5, 0, "slow", age_ms=31_000, hanging=True, **live)
    print_page(TransactionPage((calm, slow), 2), hanging=False)
    lines = capsys.readouterr().out.splitlines()
    assert [line.count("HANGS") for line in lines if "calm" in line or "slow" in line] == [0, 1]
    print_view(slow)
    assert "it HANGS" in capsys.readouterr().out
    print_view(calm)
    assert "HANGS" not in capsys.readouterr().out


def test_a_transaction_is_described_while_it_is_open_and_after_its_end(
    goqueue: Cli, txn: Transactions, topic: str
) -> None:
    number = txn.begin("shop", topic, b"a")
    shown = goqueue("txn", "describe", number)
    assert "shop" in shown
    assert topic in shown
    facts = goqueue.json("txn", "describe", number)
    assert (facts["state"], facts["timeout_ms"], facts["ended"]) == ("open", 60_000, None)
    txn.commit()
    facts = goqueue.json("txn", "describe", number)
    assert (facts["state"], facts["began"], facts["why"]) == ("committed", None, "")
    assert facts["ended"].startswith("20")
    shown = goqueue("txn", "describe", number)
    assert "committed" in shown
    assert "partitions" not in shown
    refused = goqueue.run("txn", "abort", number, "--yes")
    assert (refused.code, refused.out) == (1, "")
    assert refused.err.startswith(f"error: transaction {number} was committed\nhint: ")


def test_what_hangs_is_aborted_and_readers_go_on(goqueue: Cli, txn: Transactions, topic: str) -> None:
    number = txn.begin("shop", topic, b"a")
    goqueue("produce", topic, "behind")
    assert goqueue("consume", topic) == ""
    refused = goqueue.run("txn", "abort", number)
    assert (refused.code, refused.err.splitlines()[-1]) == (2, "hint: add --yes if it is meant")
    assert goqueue.json("txn", "describe", number)["state"] == "open"
    code, shown = goqueue.on_terminal("txn", "abort", number, typed="n\n")
    assert code == 130
    assert f"Abort transaction {number} of shop" in shown
    assert "1 records in 1 partitions" in shown
    for _ in range(2):
        done = goqueue("txn", "abort", number, "--yes")
        assert done == f"transaction {number} is aborted: an operator aborted it\n"
    assert goqueue("consume", topic) == "behind\n"
    assert goqueue.json("txn", "abort", number, "--yes")["state"] == "aborted"


def test_the_statistics_say_what_is_held_back(goqueue: Cli, txn: Transactions, topic: str) -> None:
    before = goqueue.json("txn", "stats")
    number = txn.begin("shop", topic, b"a", b"b")
    goqueue("produce", topic, "behind")
    stats = goqueue.json("txn", "stats")
    assert (stats["open"], stats["oldest"]) == (1, number)
    (line,) = [one for one in stats["topics"] if one["topic"] == topic]
    assert (line["behind"], line["partitions_behind"], line["aborted_records"]) == (3, 1, 0)
    assert topic in goqueue("txn", "stats")
    goqueue("txn", "abort", number, "--yes")
    stats = goqueue.json("txn", "stats")
    assert (stats["open"], stats["aborted"]) == (0, before["aborted"] + 1)
    (line,) = [one for one in stats["topics"] if one["topic"] == topic]
    assert (line["behind"], line["aborted_records"]) == (0, 2)


def test_what_there_is_not_is_an_error_with_a_hint(goqueue: Cli) -> None:
    for flags, code, message in (
        (("txn", "describe", 999_999), 1, "error: nothing is known of transaction 999999"),
        (("txn", "abort", 999_999, "--yes"), 1, "error: nothing is known of transaction 999999"),
    ):
        done = goqueue.run(*flags)
        assert (done.code, done.out) == (code, ""), done
        assert done.err.startswith(message), done
        assert "\nhint: " in done.err, done
    for flags in (("txn", "describe", 0), ("txn", "describe", "x"), ("txn", "list", "--limit", 0)):
        assert goqueue.run(*flags).code == 2


def test_every_command_shows_an_example_in_its_help(goqueue: Cli) -> None:
    for command in ((), ("list",), ("describe",), ("abort",), ("stats",)):
        assert "Example: goqueue txn" in goqueue("txn", *command, "--help")
    assert "txn" in goqueue("--help")
