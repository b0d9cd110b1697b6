"""`goqueue storage`: look into a data folder, check it, mend it, print its records."""

import os
import sys
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from goqueue.cli.output import Output, OutputOption, print_answer
from goqueue.errors import InvalidRequest

if TYPE_CHECKING:
    from goqueue.offline.data_folder import DataFolder

__all__ = ["DumpFormat", "Values", "app"]


class DumpFormat(StrEnum):
    TABLE = "table"
    JSON = "json"
    RAW = "raw"


class Values(StrEnum):
    TEXT = "text"
    BASE64 = "base64"
    HEX = "hex"
    NONE = "none"


app = typer.Typer(
    help="Look into a data folder, check it, mend it, print its records.",
    rich_markup_mode=None,
    add_completion=False,
)

DataArgument = Annotated[str, typer.Argument(metavar="DATA", help="The broker's data folder.", show_default=False)]


@app.command(short_help="Show what is in a data folder; works while a broker runs.")
def inspect(data: DataArgument, output: OutputOption = Output.TABLE) -> None:
    """Show the checkpoint, the journal, the logs with their segments, the snapshots and the disk use.

    Only reads, and works while a broker has the folder open.

    Example: goqueue storage inspect /var/lib/goqueue
    """
    from goqueue.cli.progress import progress_bar
    from goqueue.cli.storage_tables import print_inspection
    from goqueue.offline.inspection import inspect as inspect_folder
    from goqueue.offline.read_only_files import is_locked

    folder = _read_only(data)
    in_use = is_locked(folder.lock_path)
    with progress_bar() as progress:
        inspection = inspect_folder(folder, progress)
    if in_use:
        typer.echo("note: a broker has this folder open, so the figures may be moving", err=True)
    print_answer({"in_use": in_use, "inspection": inspection}, output, lambda: print_inspection(inspection))


@app.command(short_help="Check every byte that matters.")
def verify(data: DataArgument, output: OutputOption = Output.TABLE) -> None:
    """Check every byte that matters: records, indexes, checkpoint, snapshots and journal. Changes nothing.

    No broker may have the folder open. Exits with 0 when the folder is clean, 1 when something was found.

    Example: goqueue storage verify /var/lib/goqueue
    """
    from goqueue.cli.progress import progress_bar
    from goqueue.cli.storage_tables import print_verification
    from goqueue.offline.verify.verification import verify as verify_folder

    folder = _read_only(data)
    lock = folder.hold()
    try:
        with progress_bar() as progress:
            verification = verify_folder(folder, progress)
    finally:
        lock.close()
    print_answer(
        {"clean": verification.clean, "verification": verification}, output, lambda: print_verification(verification)
    )
    raise typer.Exit(0 if verification.clean else 1)


@app.command(short_help="Mend what verify finds, and say what was cut.")
def repair(
    data: DataArgument,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be done.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask before files are changed.")] = False,
    output: OutputOption = Output.TABLE,
) -> None:
    """Mend what verify finds: keep every intact record, build indexes and checkpoint again, restore copies.

    Damaged bytes are cut out of the logs and kept in DATA/lost+found with a report. No broker may have the folder
    open. It can be run again at any time, also after it was interrupted. Exits with 0 when all is mended, 1 when
    something could not be, and with --dry-run 1 when there is something to mend.

    Example: goqueue storage repair /var/lib/goqueue --dry-run
    """
    from goqueue.adapters.clock import SystemClock
    from goqueue.adapters.disk.files import OsFileSystem
    from goqueue.cli.storage_repair import run_repair
    from goqueue.offline.data_folder import DataFolder

    folder = _opened(DataFolder(OsFileSystem(), data))
    raise typer.Exit(run_repair(folder, dry_run=dry_run, yes=yes, output=output, now_ns=SystemClock().now_ns()))


@app.command(short_help="Print a partition's records.")
def dump(
    data: DataArgument,
    log: Annotated[str, typer.Argument(metavar="TOPIC/PARTITION", help="Whose records.", show_default=False)],
    from_offset: Annotated[int, typer.Option(min=0, metavar="N", help="Begin at this offset.")] = 0,
    to_offset: Annotated[
        int | None, typer.Option(min=0, metavar="N", help="End with this offset.", show_default=False)
    ] = None,
    from_time: Annotated[
        str | None,
        typer.Option(
            metavar="T",
            help="Begin at the first record not older than 2025-12-31T23:59:59Z, Unix nanoseconds, or an age like 15m.",
            show_default=False,
        ),
    ] = None,
    limit: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Print so many records at most.", show_default=False)
    ] = None,
    form: Annotated[
        DumpFormat, typer.Option("--format", "-f", help="Lines of text, JSON lines, or the bytes as stored.")
    ] = DumpFormat.TABLE,
    values: Annotated[Values, typer.Option(help="How to print keys and values.")] = Values.TEXT,
) -> None:
    """Print the records of one partition as its files have them, whatever their size, stepping over damage.

    Damaged ranges are printed in their place and make the exit code 1. Works while a broker has the folder open.

    Example: goqueue storage dump /var/lib/goqueue orders/0 --from-time 15m --format json
    """
    from goqueue.adapters.clock import SystemClock
    from goqueue.cli.storage_dump import print_records
    from goqueue.cli.times import parse_instant
    from goqueue.model.log import LogId
    from goqueue.offline.dump import Dump
    from goqueue.offline.read_only_files import is_locked

    folder = _read_only(data)
    since = None if from_time is None else parse_instant(from_time, now_ns=SystemClock().now_ns())
    found = Dump(
        folder,
        LogId.parse(log),
        from_offset=from_offset,
        to_offset=to_offset,
        from_time_ns=since,
        growing=is_locked(folder.lock_path),
    )
    damaged = print_records(found, form, values, limit)
    sys.stdout.flush()
    raise typer.Exit(1 if damaged else 0)


def _read_only(data: str) -> "DataFolder":
    from goqueue.offline.data_folder import DataFolder
    from goqueue.offline.read_only_files import ReadOnlyFileSystem

    return _opened(DataFolder(ReadOnlyFileSystem(), data))


def _opened(folder: "DataFolder") -> "DataFolder":
    if os.path.exists(folder.path) and not os.path.isdir(folder.path):
        raise InvalidRequest(f"{folder.path} is not a folder", hint="give the folder that the broker has as --data")
    folder.check()
    return folder
