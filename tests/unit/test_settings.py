from pathlib import Path

import msgspec
import pytest

from goqueue.app.settings import Settings, flat, load_settings
from goqueue.errors import InvalidSettings


def written(tmp_path: Path, text: str) -> Path:
    file = tmp_path / "goqueue.toml"
    file.write_text(text)
    return file


def test_without_anything_the_defaults_hold():
    settings, origins = load_settings(None, {})
    assert settings == Settings()
    assert origins == {}


def test_the_file_is_overridden_by_the_environment_and_that_by_flags(tmp_path):
    file = written(tmp_path, 'data = "from-file"\n[listen]\nhttp = "127.0.0.1:1"\nnative = "127.0.0.1:2"\n')
    environment = {"GOQUEUE_LISTEN_HTTP": "127.0.0.1:3", "GOQUEUE_LISTEN_NATIVE": "127.0.0.1:4", "PATH": "/bin"}
    settings, origins = load_settings(file, environment, {"listen.native": "127.0.0.1:5", "log.level": None})
    assert (settings.data, settings.listen.http, settings.listen.native) == ("from-file", "127.0.0.1:3", "127.0.0.1:5")
    assert origins == {"data": str(file), "listen.http": "GOQUEUE_LISTEN_HTTP", "listen.native": "flag"}


def test_numbers_in_the_environment_are_read_as_numbers():
    settings, _ = load_settings(None, {"GOQUEUE_STORAGE_SEGMENT_BYTES": "1048576"})
    assert settings.storage.segment_bytes == 1048576


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[storage]\nsegment_byte = 5", "segment_byte"),
        ("[storage]\nsegment_bytes = 5", "storage.segment_bytes = 5 is not allowed"),
        ('[storage]\nsegment_bytes = "much"', "storage.segment_bytes"),
        ('[log]\nlevel = "loud"', "log.level"),
        ('[listen]\nhttp = "8080"', "listen.http = '8080' is not an address"),
        ('[listen]\nschemas = "8081"', "listen.schemas = '8081' is not an address"),
        ("[maintenance]\ncheckpoint_bytes = 900000000", "maintenance.checkpoint_bytes"),
        ("[maintenance]\ncheckpoint_bytes = -1", "maintenance.checkpoint_bytes = -1 is not allowed"),
        ('[native]\nidle_ms = "long"', "native.idle_ms = 'long' is not allowed"),
        ("native = 5", "native = 5 is not allowed"),
        ("not toml", "is not TOML"),
    ],
)
def test_a_wrong_setting_is_refused_by_name(tmp_path, text, says):
    with pytest.raises(InvalidSettings, match=says.replace(".", r"\.")):
        load_settings(written(tmp_path, text), {})


def numbers() -> list[str]:
    return [key for key, value in flat(msgspec.to_builtins(Settings())).items() if type(value) is int]


@pytest.mark.parametrize("value", [-1, 0, 1 << 60])
@pytest.mark.parametrize("key", numbers())
def test_a_number_beyond_reason_is_refused_with_what_is_allowed(key, value):
    with pytest.raises(InvalidSettings) as refusal:
        load_settings(None, {}, {key: value})
    assert refusal.value.message == f"{key} = {value} is not allowed"
    assert (refusal.value.hint or "").startswith("allowed is ")


@pytest.mark.parametrize("variable", ["GOQUEUE_DATAA", "GOQUEUE_HOST", "GOQUEUE_PORTS", "GOQUEUE_SERVICE"])
def test_a_variable_that_names_no_setting_is_refused(variable):
    with pytest.raises(InvalidSettings, match=f"{variable} names no setting"):
        load_settings(None, {variable: "x"})


def test_what_kubernetes_says_about_a_service_named_goqueue_is_passed_over():
    port = "tcp://10.0.0.7:7171"
    given = {
        "GOQUEUE_SERVICE_HOST": "10.0.0.7",
        "GOQUEUE_SERVICE_PORT": "7171",
        "GOQUEUE_SERVICE_PORT_NATIVE": "7171",
        "GOQUEUE_SERVICE_PORT_HTTP_2": "8080",
        "GOQUEUE_PORT": port,
        "GOQUEUE_PORT_7171_TCP": port,
        "GOQUEUE_PORT_7171_TCP_PROTO": "tcp",
        "GOQUEUE_PORT_7171_TCP_PORT": "7171",
        "GOQUEUE_PORT_7171_TCP_ADDR": "10.0.0.7",
    }
    assert load_settings(None, given) == (Settings(), {})


def test_a_file_that_is_not_there_is_said_so(tmp_path):
    with pytest.raises(InvalidSettings, match="there is no settings file"):
        load_settings(tmp_path / "none.toml", {})
