"""Span export: as lines on standard output, or to an OpenTelemetry collector."""

import logging
import os
import re
from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, Literal
from urllib.parse import unquote, urlsplit

from goqueue.adapters.telemetry.logs import Logger
from goqueue.adapters.telemetry.span_lines import line_of
from goqueue.adapters.telemetry.span_outlet import Destination
from goqueue.errors import InvalidSettings
from goqueue.model.span import SpanRun

if TYPE_CHECKING:
    from opentelemetry.sdk.trace.export import SpanExporter

__all__ = ["ExportName", "OtlpSpans", "StandardOutputSpans", "check_endpoint", "destination_of", "parse_headers"]

BATCH = 512
SEND_WITHIN_S = 10.0
WAITING_SPANS = 65_536
STANDARD_OUTPUT = 1

ExportName = Literal["none", "stdout", "otlp-grpc", "otlp-http"]

_HEADER = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+", re.ASCII)


def check_endpoint(endpoint: str) -> None:
    if not endpoint:
        return
    parts = urlsplit(endpoint)
    if parts.scheme not in {"http", "https"} or not parts.hostname or parts.query or parts.fragment:
        raise InvalidSettings(
            f"tracing.endpoint = {endpoint!r} is not allowed",
            hint="allowed is the URL of a collector, such as http://127.0.0.1:4317",
        )


def parse_headers(text: str) -> dict[str, str]:
    """Headers in the format of OTEL_EXPORTER_OTLP_HEADERS: `name=value,name=value`, values escaped as in a URL."""
    if not text:
        return {}
    found = {}
    for part in filter(None, map(str.strip, text.split(","))):
        name, equals, value = part.partition("=")
        if not equals or not _HEADER.fullmatch(name.strip()):
            # The text is not repeated, because it may contain a password.
            raise InvalidSettings(
                "tracing.headers is not allowed", hint="allowed is name=value,name=value, values escaped as in a URL"
            )
        found[name.strip()] = unquote(value.strip())
    return found


def destination_of(export: ExportName, endpoint: str, headers: str, logger: Logger) -> Destination | None:
    """Destination of exported spans; None if there is no export."""
    if export == "none":
        return None
    if export == "stdout":
        return StandardOutputSpans(logger)
    try:
        from goqueue.adapters.telemetry.otlp_spans import otlp_exporter

        exporter = otlp_exporter(export, endpoint, parse_headers(headers), SEND_WITHIN_S)
    except ImportError as error:
        raise InvalidSettings(
            f"tracing.export = {export!r} needs packages that are not installed: {error.name or error}",
            hint="pip install 'goqueue[otlp]', or set tracing.export to none or stdout",
        ) from None
    return OtlpSpans(export, exporter, endpoint, logger)


class StandardOutputSpans:
    """See `goqueue.adapters.telemetry.span_outlet.Destination`. One line for each span."""

    name = "stdout"
    room = WAITING_SPANS

    def __init__(self, logger: Logger) -> None:
        self._log = logger
        self._is_failing = False

    def weight(self, run: SpanRun) -> int:
        return run.count

    def send(self, runs: Iterator[SpanRun]) -> tuple[int, int]:
        sent = failed = 0
        for run in runs:
            try:
                for offset in run.offsets:
                    _print(line_of(run.at(offset)) + b"\n")
                sent += run.count
            except OSError as error:
                failed += run.count
                if not self._is_failing:
                    self._is_failing = True
                    self._log.error("spans cannot be written to standard output", reason=str(error))
        return sent, failed

    def close(self) -> None:
        pass

    def give_up(self) -> None:
        pass


def _print(line: bytes) -> None:
    """Write without Python's buffer, whose lock would stay taken at exit if a slow reader blocks this thread."""
    rest = memoryview(line)
    while rest:
        rest = rest[os.write(STANDARD_OUTPUT, rest) :]


class OtlpSpans:
    """See `goqueue.adapters.telemetry.span_outlet.Destination`. The exporter of the SDK sends and retries."""

    room = WAITING_SPANS

    def __init__(self, name: str, exporter: "SpanExporter", endpoint: str, logger: Logger) -> None:
        self.name = name
        self._exporter = exporter
        self._endpoint = endpoint
        self._log = logger
        self._is_failing = False
        self._words = _LastWords()
        # Messages of the SDK go to the broker's log, once, instead of to standard error repeatedly.
        sdk = logging.getLogger("opentelemetry")
        sdk.propagate = False
        sdk.handlers[:] = [self._words]

    def weight(self, run: SpanRun) -> int:
        return run.count

    def send(self, runs: Iterator[SpanRun]) -> tuple[int, int]:
        from opentelemetry.sdk.trace.export import SpanExportResult

        from goqueue.adapters.telemetry.otlp_spans import otel_spans

        sent = failed = 0
        spans = (span for run in runs for span in otel_spans(run))
        while batch := list(islice(spans, BATCH)):
            try:
                done = self._exporter.export(batch) is SpanExportResult.SUCCESS
            except Exception as error:  # Exporters do not document their exceptions; none may end the thread.
                self._words.text = repr(error)
                done = False
            sent, failed = (sent + len(batch), failed) if done else (sent, failed + len(batch))
            self._tell(is_failing=not done)
        return sent, failed

    def close(self) -> None:
        self._exporter.shutdown()

    def give_up(self) -> None:
        self._exporter.shutdown()

    def _tell(self, *, is_failing: bool) -> None:
        if is_failing and not self._is_failing:
            self._log.error(
                "spans cannot be exported; they are dropped until they can",
                to=self.name,
                endpoint=self._endpoint,
                reason=self._words.text,
                hint="check tracing.endpoint and tracing.headers, and that the collector runs",
            )
        if self._is_failing and not is_failing:
            self._log.info("spans are exported again", to=self.name)
        self._is_failing = is_failing


class _LastWords(logging.Handler):
    """Last message of the SDK."""

    text = ""

    def emit(self, record: logging.LogRecord) -> None:
        self.text = record.getMessage()[:500]
