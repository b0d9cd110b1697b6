"""Settings of a broker: defaults, then a TOML file, then the environment, then flags; later ones win.

One frozen tree, checked once. An unknown key is an error, so that a misspelt one is not ignored.
"""

import os
import re
import tomllib
from collections.abc import Mapping
from typing import Any, Literal, get_args, get_type_hints

import msgspec

from goqueue.adapters.disk.store import StoreSettings
from goqueue.adapters.telemetry.bounded import MetricsSettings
from goqueue.adapters.telemetry.logs import LogFormat
from goqueue.adapters.telemetry.span_export import ExportName, check_endpoint, parse_headers
from goqueue.adapters.telemetry.span_files import SpanFileSettings
from goqueue.engine.maintenance import MaintenanceSettings
from goqueue.engine.tracing.policy import TracingSettings
from goqueue.errors import InvalidSettings
from goqueue.gateways.grpc.limits import GrpcSettings
from goqueue.gateways.http.limits import HttpLimits
from goqueue.gateways.native.limits import ConnectionLimits
from goqueue.model.idle_retention import ExpirySettings

__all__ = ["ENVIRONMENT_PREFIX", "Origins", "Settings", "load_settings", "shown_tree"]

ENVIRONMENT_PREFIX = "GOQUEUE_"
NOT_SETTINGS = frozenset(
    f"GOQUEUE_{name}" for name in ("CONFIG", "CONTEXT", "HTTP", "REGISTRY", "SERVER", "SPARK_MASTER")
)
"""Variables with the prefix that belong to client commands."""
KUBERNETES_LINKS = re.compile(
    r"GOQUEUE_(SERVICE_(HOST|PORT(_[A-Z0-9_]+)?)|PORT(_[0-9]+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)?)"
)
"""Kubernetes sets these in every pod beside a Service named goqueue, so they cannot be misspelt settings."""
MIB = 1024 * 1024
HIDDEN = "(hidden)"
FilePath = str | os.PathLike[str]

_MISFIT = re.compile(r"Expected (?P<allowed>.*?)(, got .*)? - at `\$\.(?P<key>[a-z_.]+)`", re.DOTALL)
_MISCHOSEN = re.compile(r"Invalid enum value .* - at `\$\.(?P<key>[a-z_.]+)`", re.DOTALL)

LogLevel = Literal["debug", "info", "warning", "error"]
Origins = dict[str, str]
"""The origin of each setting's value, by its dotted name."""


class ListenSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Addresses to listen on, as HOST:PORT; port 0 takes a free one, IPv6 hosts are written in brackets."""

    http: str = "127.0.0.1:8080"
    """The HTTP API, the console, metrics and health checks."""
    native: str = "127.0.0.1:7171"
    """Clients of the native protocol: the Python library, the command line, Spark."""
    grpc: str = "127.0.0.1:7172"
    """Clients of gRPC; empty for none."""
    schemas: str = ""
    """A separate listener for the schema registry; it is always available under /schemas of `http`, too."""


class LogSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Logging to standard error."""

    level: LogLevel = "info"
    """The lowest level that is logged."""
    format: LogFormat = "auto"
    """`auto` means text on a terminal, and JSON lines elsewhere."""


class TracingSection(TracingSettings, frozen=True, forbid_unknown_fields=True):
    """Tracing, and the destinations of spans besides memory."""

    files: SpanFileSettings = SpanFileSettings()
    export: ExportName = "none"
    """Where spans are sent as they happen; the OTLP exporters need `goqueue[otlp]`."""
    endpoint: str = ""
    """URL of a collector; if empty, the default port on this machine."""
    headers: str = ""
    """Headers for the collector: name=value,name=value, with values escaped as in a URL. Never shown."""


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """All settings of a broker."""

    data: str = "data"
    """Folder of all files that the broker keeps."""
    listen: ListenSettings = ListenSettings()
    log: LogSettings = LogSettings()
    http: HttpLimits = HttpLimits()
    native: ConnectionLimits = ConnectionLimits()
    grpc: GrpcSettings = GrpcSettings()
    storage: StoreSettings = StoreSettings()
    maintenance: MaintenanceSettings = MaintenanceSettings()
    metrics: MetricsSettings = MetricsSettings()
    expiry: ExpirySettings = ExpirySettings()
    tracing: TracingSection = TracingSection()

    def __post_init__(self) -> None:
        storage, maintenance = self.storage, self.maintenance
        _within("storage.segment_bytes", storage.segment_bytes, 4096, 1 << 31)
        _within("storage.journal_file_bytes", storage.journal_file_bytes, 32 * MIB, 1024 * MIB)
        _within("storage.journal_max_bytes", storage.journal_max_bytes, 2 * storage.journal_file_bytes, 1 << 40)
        _within("storage.open_sealed_segments", storage.open_sealed_segments, 1, 1_000_000)
        for name in maintenance.__struct_fields__:
            if name.endswith("_ms"):
                _within(f"maintenance.{name}", getattr(maintenance, name), 10, 24 * 3600 * 1000)
        _within("maintenance.checkpoint_bytes", maintenance.checkpoint_bytes, MIB, 1 << 40)
        _require(
            2 * maintenance.checkpoint_bytes <= storage.journal_max_bytes,
            "maintenance.checkpoint_bytes",
            maintenance.checkpoint_bytes,
            f"at most half of storage.journal_max_bytes, which is {storage.journal_max_bytes}",
        )
        files = self.tracing.files
        _require(
            files.file_bytes <= files.keep_bytes,
            "tracing.files.file_bytes",
            files.file_bytes,
            f"at most tracing.files.keep_bytes, which is {files.keep_bytes}",
        )
        check_endpoint(self.tracing.endpoint)
        parse_headers(self.tracing.headers)
        host_and_port("listen.http", self.listen.http)
        host_and_port("listen.native", self.listen.native)
        if self.listen.grpc:
            host_and_port("listen.grpc", self.listen.grpc)
        if self.listen.schemas:
            host_and_port("listen.schemas", self.listen.schemas)


def _require(holds: bool, key: str, value: object, allowed: str) -> None:
    if not holds:
        raise InvalidSettings(f"{key} = {value!r} is not allowed", hint=f"allowed is {allowed}")


def _within(key: str, value: int, low: int, high: int) -> None:
    _require(low <= value <= high, key, value, f"{low} to {high}")


def host_and_port(key: str, text: str) -> tuple[str, int]:
    """Split an address; IPv6 hosts are written in brackets."""
    host, colon, port = text.rpartition(":")
    if not colon or not host or not port.isdecimal() or int(port) > 65535:
        raise InvalidSettings(
            f"{key} = {text!r} is not an address", hint="write it as HOST:PORT, such as 127.0.0.1:8080"
        )
    return host.strip("[]"), int(port)


def shown_tree(settings: Settings) -> dict[str, Any]:
    """All settings for display: of a possible password, only whether it is set."""
    tree: dict[str, Any] = msgspec.to_builtins(settings)
    if tree["tracing"]["headers"]:
        tree["tracing"]["headers"] = HIDDEN
    return tree


def load_settings(
    file: FilePath | None, environment: Mapping[str, str] = os.environ, flags: Mapping[str, Any] | None = None
) -> tuple[Settings, Origins]:
    """The effective settings, and the origin of each value that is not a default."""
    tree: dict[str, Any] = {}
    origins: Origins = {}
    if file is not None:
        _merge(tree, _read_file(file), str(file), origins)
    _merge(tree, _from_environment(environment, origins), None, origins)
    _merge(tree, _nested({key: value for key, value in (flags or {}).items() if value is not None}), "flag", origins)
    try:
        return msgspec.convert(tree, Settings, strict=False), origins
    except msgspec.ValidationError as error:
        raise _refusal(str(error), tree) from None


def _refusal(words: str, tree: Mapping[str, Any]) -> InvalidSettings:
    """msgspec says what it expected and where; the value found there is taken from the tree."""
    found = _MISFIT.fullmatch(words) or _MISCHOSEN.fullmatch(words)
    value: Any = None if found is None else flat(tree).get(found["key"])
    if found is None or value is None:
        return InvalidSettings(f"settings are wrong: {words}", hint="`goqueue config show` lists every setting")
    allowed = found["allowed"] if found.re is _MISFIT else _choices(found["key"])
    return InvalidSettings(f"{found['key']} = {value!r} is not allowed", hint=f"allowed is {allowed}")


def _choices(key: str) -> str:
    """The names that a setting accepts."""
    kind: Any = Settings
    for part in key.split("."):
        kind = get_type_hints(kind)[part]
    return ", ".join(map(str, get_args(kind)))


def _read_file(file: FilePath) -> dict[str, Any]:
    try:
        with open(file, "rb") as opened:
            return tomllib.load(opened)
    except FileNotFoundError:
        hint = "check the path; without a file the settings are the defaults, the environment and the flags"
        raise InvalidSettings(f"there is no settings file {file}", hint=hint) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        hint = "correct the file; `goqueue config show --config FILE` checks a file without starting a broker"
        raise InvalidSettings(f"{file} is not TOML: {error}", hint=hint) from None


def _from_environment(environment: Mapping[str, str], origins: Origins) -> dict[str, Any]:
    """`GOQUEUE_STORAGE_SEGMENT_BYTES` is the variable of `storage.segment_bytes`."""
    names = {ENVIRONMENT_PREFIX + key.replace(".", "_").upper(): key for key in flat(msgspec.to_builtins(Settings()))}
    found: dict[str, Any] = {}
    for variable, value in environment.items():
        if not variable.startswith(ENVIRONMENT_PREFIX) or variable in NOT_SETTINGS:
            continue
        if KUBERNETES_LINKS.fullmatch(variable):
            continue
        if variable not in names:
            raise InvalidSettings(
                f"the environment variable {variable} names no setting",
                hint="`goqueue config show` lists every setting",
            )
        found[names[variable]] = value
        origins[names[variable]] = variable
    return _nested(found)


def flat(tree: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """The leaves of a tree by their dotted names."""
    leaves: dict[str, Any] = {}
    for key, value in tree.items():
        if isinstance(value, Mapping):
            leaves |= flat(value, f"{prefix}{key}.")
        else:
            leaves[prefix + key] = value
    return leaves


def _nested(leaves: Mapping[str, Any]) -> dict[str, Any]:
    tree: dict[str, Any] = {}
    for dotted, value in leaves.items():
        *path, last = dotted.split(".")
        branch = tree
        for part in path:
            branch = branch.setdefault(part, {})
        branch[last] = value
    return tree


def _merge(tree: dict[str, Any], more: Mapping[str, Any], origin: str | None, origins: Origins) -> None:
    if origin is not None:
        origins |= dict.fromkeys(flat(more), origin)
    for key, value in more.items():
        if isinstance(value, Mapping) and isinstance(tree.get(key), dict):
            _merge(tree[key], value, None, origins)
        else:
            tree[key] = dict(value) if isinstance(value, Mapping) else value
