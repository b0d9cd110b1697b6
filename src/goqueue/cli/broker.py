"""`goqueue broker`: whether a broker is well, what it is, its figures, and any request to its API."""

import contextlib
import json
from typing import Annotated

import typer

from goqueue.cli.failures import PROBLEM, Refused
from goqueue.cli.http_broker import ANSWER_WITHIN_S, DEFAULT_HTTP, HttpOption, ask_http, ask_text, send
from goqueue.cli.output import Output, OutputOption, print_answer

__all__ = ["app"]

METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")

app = typer.Typer(
    help="Ask a broker how it is, what it is, and anything else its API answers.\n\nExample: goqueue broker health",
    rich_markup_mode=None,
    add_completion=False,
)


@app.command(short_help="Tell whether the broker takes traffic.")
def health(http: HttpOption = DEFAULT_HTTP, output: OutputOption = Output.TABLE) -> None:
    """Tell whether the broker takes traffic, and of each condition what is wrong. Made for probes.

    Exit codes: 0 ready; 1 it runs but is not ready; 4 no answer.

    Example: goqueue broker health -o json
    """
    found = ask_http(http, "/readyz", {"verbose": "true"}, fine=(200, 503))

    def as_text() -> None:
        print(found["status"])
        for name, state in found.get("checks", {}).items():
            print(f"  {name}: {state}")

    print_answer(found, output, as_text)
    if found["status"] != "ready":
        raise typer.Exit(PROBLEM)


@app.command(short_help="Show version and size of the broker.")
def info(http: HttpOption = DEFAULT_HTTP, output: OutputOption = Output.TABLE) -> None:
    """Show the broker's version, and how many topics, records and bytes it has.

    Example: goqueue broker info
    """
    from goqueue.cli.times import bytes_text

    version, stats = ask_http(http, "/version"), ask_http(http, "/stats")

    def as_text() -> None:
        lines = {
            "goqueue": f"{version['version']} on Python {version['python']}, codec {version['codec']}",
            "topics": f"{stats['topics']:,} with {stats['partitions']:,} partitions",
            "records": f"{stats['records']:,}",
            "logs": bytes_text(stats["bytes"]),
            "journal": bytes_text(stats["journal_bytes"]),
            "disk": f"{stats['disk_used_share']:.0%} used",
        }
        for name, value in lines.items():
            print(f"{name:8} {value}")

    print_answer(version | stats, output, as_text)


@app.command(short_help="Print the metrics, as Prometheus reads them.")
def metrics(
    name: Annotated[
        str, typer.Option("--name", metavar="TEXT", help="Only with this in their name.", show_default=False)
    ] = "",
    http: HttpOption = DEFAULT_HTTP,
) -> None:
    """Print the metrics in the text format of Prometheus.

    Example: goqueue broker metrics --name lag
    """
    for line in ask_text(http, "/metrics").splitlines():
        words = line.split(maxsplit=3)
        called = words[2] if line.startswith("#") else line.partition("{")[0].partition(" ")[0]
        if name in called:
            print(line)


@app.command(short_help="Print the description of the API (OpenAPI).")
def api(http: HttpOption = DEFAULT_HTTP) -> None:
    """Print the OpenAPI document of the broker.

    Example: goqueue broker api > openapi.json
    """
    print(json.dumps(ask_http(http, "/openapi.json"), indent=2, ensure_ascii=False))


@app.command(short_help="Send any request to the API.")
def request(
    method: Annotated[str, typer.Argument(metavar="METHOD", help=", ".join(METHODS), show_default=False)],
    path: Annotated[str, typer.Argument(metavar="PATH", help="Such as /topics/orders.", show_default=False)],
    data: Annotated[str | None, typer.Option("--data", "-d", metavar="JSON", help="Body.", show_default=False)] = None,
    http: HttpOption = DEFAULT_HTTP,
) -> None:
    """Send any request to the API and print what it answers, for what has no command of its own.

    Exits with 1 when the answer is an error.

    Example: goqueue broker request POST /transactions/decide -d '{"key": "query/7", "transactions": [17]}'
    """
    if method.upper() not in METHODS:
        raise Refused(f"{method!r} is no method", hint=f"there are {', '.join(METHODS)}")
    if not path.startswith("/") or not path.isascii() or not path.isprintable() or " " in path:
        raise Refused(f"{path!r} is no path", hint="it begins with /, such as /topics/orders, with %20 for a space")
    status, answer = send(http, method.upper(), path, None if data is None else data.encode(), ANSWER_WITHIN_S)
    text = answer.decode(errors="replace")
    with contextlib.suppress(ValueError):
        text = json.dumps(json.loads(text), indent=2, ensure_ascii=False)
    if text:
        print(text)
    if status >= 400:
        raise typer.Exit(PROBLEM)
