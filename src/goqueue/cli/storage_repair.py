"""`goqueue storage repair`: check, say what is to be done, ask, mend, check again, say what was done."""

import sys
from contextlib import ExitStack
from datetime import UTC, datetime

import msgspec
import typer

from goqueue.adapters.entropy import SystemEntropy
from goqueue.cli.catalog_logs import CatalogLogs
from goqueue.cli.failures import Refused
from goqueue.cli.output import Output, print_answer, print_table
from goqueue.cli.progress import progress_bar
from goqueue.cli.storage_tables import print_findings, print_verification
from goqueue.errors import GoQueueError
from goqueue.model.log import Damage, LogId
from goqueue.offline.data_folder import DataFolder
from goqueue.offline.findings import Finding, Severity
from goqueue.offline.repair.lost_and_found import Cut
from goqueue.offline.repair.repair import Repair, RepairOutcome, needs_repair
from goqueue.offline.verify.verification import Verification, verify

__all__ = ["run_repair"]


class RepairReport(msgspec.Struct, frozen=True):
    """The whole story, for programs."""

    folder: str
    mended: bool
    found: tuple[Finding, ...]
    done: tuple[str, ...] = ()
    cuts: tuple[Cut, ...] = ()
    lost_and_found: str | None = None
    could_not: tuple[str, ...] = ()
    left: tuple[Finding, ...] = ()


class _Quiet:
    """Recovery speaks to an operator's log; here the check before and the one after say the same in more detail."""

    def damaged(self, damage: Damage) -> None:
        pass

    def file_damaged(self, path: str, reason: str) -> None:
        pass

    def read_failed(self, log: LogId) -> None:
        pass

    def journal_damaged(self, description: str, entries: int) -> None:
        pass

    def tail_dropped(self, where: str, size: int) -> None:
        pass

    def log_failed(self, log: LogId, failure: GoQueueError) -> None:
        pass

    def storage_failed(self, failure: GoQueueError) -> None:
        pass


def run_repair(folder: DataFolder, *, dry_run: bool, yes: bool, output: Output, now_ns: int) -> int:
    """Returns the exit code."""
    with ExitStack() as stack:
        stack.callback(folder.hold().close)
        with progress_bar() as progress:
            before = verify(folder, progress)
        todo = needs_repair(before)
        if dry_run or not todo:
            return _only_tell(before, todo, output)
        if not yes:
            _ask(before, todo, output)
        label = datetime.fromtimestamp(now_ns / 1e9, UTC).strftime("%Y%m%dT%H%M%S.%fZ")
        with progress_bar() as progress:
            repair = Repair(folder, SystemEntropy(), _Quiet(), label=label, known_logs=CatalogLogs(), progress=progress)
            done = repair.run(before)
            after = verify(folder, progress)
    mended = after.clean and not done.notes
    report = RepairReport(
        before.folder,
        mended,
        before.findings,
        done.done,
        done.cuts,
        done.lost_and_found,
        done.notes,
        tuple(finding for finding in after.findings if finding.severity is not Severity.INFO),
    )
    print_answer(report, output, lambda: _print_report(done, after, mended=mended))
    return 0 if mended else 1


def _only_tell(before: Verification, todo: tuple[Finding, ...], output: Output) -> int:
    def tell() -> None:
        if todo:
            print_findings("To be mended", todo)
            print("nothing was changed")
        elif before.clean:
            print("nothing to mend")
        else:
            print_verification(before)
            print("nothing of this can be mended")

    print_answer(RepairReport(before.folder, before.clean, before.findings), output, tell)
    return 0 if before.clean else 1


def _ask(before: Verification, todo: tuple[Finding, ...], output: Output) -> None:
    if not sys.stdin.isatty() or output is not Output.TABLE:
        raise Refused("repair changes files, and there is nobody to ask", hint="look with --dry-run, then add --yes")
    print_findings("To be mended", todo)
    typer.confirm(f"Mend {before.folder} now?", abort=True)


def _print_report(done: RepairOutcome, after: Verification, *, mended: bool) -> None:
    for step in done.done:
        print(f"- {step}")
    if done.cuts:
        rows = [
            (cut.file, f"{cut.position}–{cut.position + cut.length - 1}", _offsets(cut), cut.reason, cut.kept_as)
            for cut in done.cuts
        ]
        print_table("Cut", ("file", "bytes", "offsets", "why", "kept as"), rows)
    if done.notes:
        print("could not be mended, or is not known:")
    for note in done.notes:
        print(f"- {note}")
    if not after.clean:
        print_verification(after)
    print("all mended" if mended else "not all could be mended")


def _offsets(cut: Cut) -> str:
    return "" if cut.first_offset is None else f"{cut.first_offset}–{cut.last_offset}"
