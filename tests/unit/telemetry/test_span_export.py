import sys

import pytest

from goqueue.adapters.telemetry.span_export import destination_of, parse_headers
from goqueue.app.settings import flat, load_settings, shown_tree
from goqueue.errors import InvalidSettings
from tests.unit.telemetry.listening import Listener


@pytest.mark.parametrize("export", ["otlp-grpc", "otlp-http"])
def test_an_exporter_that_is_not_installed_is_refused_with_what_to_install(monkeypatch, export):
    monkeypatch.delitem(sys.modules, "goqueue.adapters.telemetry.otlp_spans", raising=False)
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk.resources", None)
    with pytest.raises(InvalidSettings, match="needs packages that are not installed") as refusal:
        destination_of(export, "", "", Listener())
    assert "pip install 'goqueue[otlp]'" in refusal.value.hint


def test_without_an_exporter_there_is_no_destination():
    assert destination_of("none", "", "", Listener()) is None


@pytest.mark.parametrize(
    ("flags", "says"),
    [
        ({"tracing.export": "jaeger"}, "tracing.export = 'jaeger' is not allowed"),
        ({"tracing.endpoint": "127.0.0.1:4317"}, "tracing.endpoint = '127.0.0.1:4317' is not allowed"),
        ({"tracing.endpoint": "http://"}, "tracing.endpoint"),
        ({"tracing.headers": "Bearer secret"}, "tracing.headers is not allowed"),
        ({"tracing.headers": "a b=c"}, "tracing.headers is not allowed"),
        ({"tracing.files.file_bytes": 100}, "tracing.files.file_bytes = 100 is not allowed"),
        ({"tracing.files.keep_bytes": 5000}, "tracing.files.file_bytes = 16777216 is not allowed"),
    ],
)
def test_settings_that_cannot_be_followed_are_refused_by_name(flags, says):
    with pytest.raises(InvalidSettings) as refusal:
        load_settings(None, {}, flags)
    assert says in refusal.value.message
    assert "allowed is" in refusal.value.hint
    assert "secret" not in f"{refusal.value.message} {refusal.value.hint}"


def test_a_name_that_is_not_known_is_refused_with_those_that_are():
    with pytest.raises(InvalidSettings) as refusal:
        load_settings(None, {}, {"tracing.export": "jaeger"})
    assert refusal.value.hint == "allowed is none, stdout, otlp-grpc, otlp-http"


def test_headers_are_written_as_opentelemetry_writes_them():
    assert parse_headers("a=b, Authorization=Bearer%20x=,") == {"a": "b", "Authorization": "Bearer x="}
    assert parse_headers("") == {}


def test_what_may_be_a_password_is_not_shown():
    settings, _ = load_settings(None, {"GOQUEUE_TRACING_HEADERS": "Authorization=secret"})
    assert settings.tracing.headers == "Authorization=secret"
    assert flat(shown_tree(settings))["tracing.headers"] == "(hidden)"
    assert flat(shown_tree(load_settings(None, {})[0]))["tracing.headers"] == ""
