"""The tables of `goqueue storage`."""

from collections.abc import Sequence

from goqueue.cli.output import print_table
from goqueue.cli.times import bytes_text, instant_text
from goqueue.offline.findings import Finding, Severity
from goqueue.offline.inspection import DiskUse, Inspection, LogFacts
from goqueue.offline.verify.verification import Verification

__all__ = ["print_findings", "print_inspection", "print_verification"]


def print_inspection(found: Inspection) -> None:
    print(f"folder      {found.folder}")
    print(f"checkpoint  {_checkpoint(found)}")
    since = found.journal.entries_since_checkpoint
    print(f"journal     up to LSN {found.journal.last_lsn}, {since} entries since the checkpoint")
    print(f"disk        {_disk(found.disk)}")
    _print_journal(found)
    _print_logs(found.logs)
    if found.snapshots:
        rows = [(s.stream, s.lsn, bytes_text(s.bytes), s.file) for s in found.snapshots]
        print_table("Snapshots", ("stream", "LSN", "size", "file"), rows, numbers="LSN,size")


def _disk(use: DiskUse) -> str:
    parts = {
        "logs": use.logs,
        "indexes": use.indexes,
        "journal": use.journal,
        "snapshots": use.snapshots,
        "lost+found": use.lost_and_found,
    }
    shown = ", ".join(f"{name} {bytes_text(size)}" for name, size in parts.items())
    return f"{shown}; {bytes_text(use.free)} of {bytes_text(use.capacity)} free"


def _checkpoint(found: Inspection) -> str:
    if found.checkpoint.lsn is None:
        return "none of the two copies is readable; `goqueue storage repair` builds it again"
    main, copy = found.checkpoint.copies
    return f"LSN {found.checkpoint.lsn} ({main}, copy {copy})"


def _print_journal(found: Inspection) -> None:
    rows = [
        (f.file, bytes_text(f.bytes), bytes_text(f.used_bytes), _range(f.first_lsn, f.last_lsn), _yes(f.needed))
        for f in found.journal.files
    ]
    if found.journal.spare_files:
        rows.append((f"{found.journal.spare_files} spare files", bytes_text(found.journal.spare_bytes), "", "", "no"))
    if rows:
        print_table("Journal", ("file", "size", "used", "LSNs", "needed"), rows, numbers="size,used")


def _print_logs(logs: Sequence[LogFacts]) -> None:
    rows = [
        (log.log, len(log.segments), log.start_offset, _or_unknown(log.next_offset), bytes_text(log.bytes))
        for log in logs
    ]
    if rows:
        numbers = "segments,first offset,next offset,size"
        print_table("Logs", ("log", *numbers.split(",")), rows, numbers=numbers)
    segments = [
        (
            log.log,
            segment.base_offset,
            _or_unknown(segment.next_offset),
            bytes_text(segment.bytes),
            _time(segment.oldest_ns),
            _time(segment.newest_ns),
        )
        for log in logs
        for segment in log.segments
    ]
    if segments:
        columns = ("log", "base offset", "next offset", "size", "first record", "newest record")
        print_table("Segments", columns, segments, numbers="base offset,next offset,size")


def print_verification(found: Verification) -> None:
    print_findings("Findings", found.findings)
    counts = {severity: sum(f.severity is severity for f in found.findings) for severity in Severity}
    checked = f"{_count(found.logs, 'log')}, {_count(found.segments, 'segment')}, {bytes_text(found.log_bytes)}"
    if found.clean:
        print(f"clean: {checked}" + (f"; {_count(counts[Severity.INFO], 'remark')}" if counts[Severity.INFO] else ""))
        return
    errors, warnings = _count(counts[Severity.ERROR], "error"), _count(counts[Severity.WARNING], "warning")
    print(f"not clean: {errors}, {warnings} in {checked}")
    if any(f.remedy and f.severity is not Severity.INFO for f in found.findings):
        print(f"`goqueue storage repair {found.folder}` mends what can be mended")


def print_findings(title: str, findings: Sequence[Finding]) -> None:
    if findings:
        ranked = sorted(findings, key=lambda finding: list(Severity).index(finding.severity), reverse=True)
        rows = [
            (
                finding.severity,
                finding.file,
                _range(finding.position, _end(finding)),
                _range(finding.first_offset, finding.last_offset),
                finding.what,
                finding.remedy or ("no" if finding.severity is not Severity.INFO else ""),
            )
            for finding in ranked
        ]
        print_table(title, ("severity", "file", "bytes", "offsets", "what", "repair"), rows)


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def _end(finding: Finding) -> int | None:
    if finding.position is None or not finding.length:
        return finding.position
    return finding.position + finding.length - 1


def _range(first: int | None, last: int | None) -> str:
    if first is None:
        return ""
    return f"{first}" if last is None or first == last else f"{first}–{last}"


def _time(instant_ns: int | None) -> str:
    return "" if instant_ns is None else instant_text(instant_ns)


def _or_unknown(number: int | None) -> str:
    return "?" if number is None else str(number)


def _yes(answer: bool) -> str:
    return "yes" if answer else "no"
