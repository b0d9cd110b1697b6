"""How somebody starts a broker, so that every option of `goqueue server` is used, rightly and wrongly."""

from tests.integration.cli.walk import Step

__all__ = ["SERVER_STORIES"]

SERVER_STORIES: dict[str, list[Step]] = {
    "serving": [
        Step(
            "server --data $data --http $http --native $native --grpc $grpc --schemas $schemas --config $settings "
            "--log-level info --log-format json",
            '"goqueue is serving"',
        ),
        Step(
            "server --data $data --http $http --native $native --grpc '' --log-level debug --log-format console",
            "goqueue is serving",
        ),
    ],
    "refusing": [
        Step("server --data $file", "$file is no folder", code=2),
        Step("server --http nonsense", "listen.http = 'nonsense' is not an address", code=2),
        Step("server --native 127.0.0.1:99999", "write it as HOST:PORT", code=2),
        Step("server --data $new --http $taken --native $native --grpc ''", "choose another for listen.http", code=2),
        Step("server --data $new --http $http --native $native --grpc $taken", "another for listen.grpc", code=2),
        Step("server --schemas nowhere", "listen.schemas = 'nowhere' is not an address", code=2),
        Step("server --config $missing", "there is no settings file $missing", code=2),
        Step("server --config $wrong", "unknown field `htpp`", code=2),
        Step("server --log-level loud", "allowed is debug, info, warning, error", code=2),
        Step("server --log-format xml", "allowed is auto, json, console", code=2),
    ],
}
