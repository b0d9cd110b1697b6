"""`goqueue config`: the settings of a broker and where each comes from, and names for brokers."""

from pathlib import Path
from typing import Annotated

import typer

from goqueue.cli.config_contexts import (
    current_context,
    delete_context,
    get_contexts,
    rename_context,
    set_context,
    use_context,
)
from goqueue.cli.output import Output, OutputOption, print_answer, print_table

__all__ = ["app"]

app = typer.Typer(
    rich_markup_mode=None,
    add_completion=False,
)


@app.callback()
def config() -> None:
    """Show the settings of a broker, and give brokers names, so that commands find them.

    Example: goqueue config set-context staging --server broker.example:7171
    """


@app.command(short_help="Show every setting, its value and where it comes from.")
def show(
    data: Annotated[str | None, typer.Option(help="As for `goqueue server`.", show_default=False)] = None,
    http: Annotated[
        str | None, typer.Option(metavar="HOST:PORT", help="As for `goqueue server`.", show_default=False)
    ] = None,
    native: Annotated[
        str | None, typer.Option(metavar="HOST:PORT", help="As for `goqueue server`.", show_default=False)
    ] = None,
    grpc: Annotated[
        str | None, typer.Option(metavar="HOST:PORT", help="As for `goqueue server`.", show_default=False)
    ] = None,
    schemas: Annotated[
        str | None, typer.Option(metavar="HOST:PORT", help="As for `goqueue server`.", show_default=False)
    ] = None,
    file: Annotated[Path | None, typer.Option("--config", help="TOML file with settings.", show_default=False)] = None,
    log_level: Annotated[str | None, typer.Option(help="As for `goqueue server`.", show_default=False)] = None,
    log_format: Annotated[str | None, typer.Option(help="As for `goqueue server`.", show_default=False)] = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Show every setting that `goqueue server` would run with here and now, and where its value comes from.

    That is `default`, the name of the file, the name of an environment variable, or `flag`. Nothing is started.

    Example: goqueue config show --config goqueue.toml -o yaml
    """
    from goqueue.app.settings import flat, load_settings, shown_tree

    flags = {
        "data": data,
        "listen.http": http,
        "listen.native": native,
        "listen.grpc": grpc,
        "listen.schemas": schemas,
        "log.level": log_level,
        "log.format": log_format,
    }
    settings, origins = load_settings(file, flags=flags)
    tree = shown_tree(settings)
    leaves = flat(tree)
    came_from = {name: origins.get(name, "default") for name in leaves}
    rows = [(name, _text(value), came_from[name]) for name, value in leaves.items()]
    print_answer(
        {"settings": tree, "from": came_from},
        output,
        lambda: print_table("Settings", ("setting", "value", "from"), rows),
    )


app.command(short_help="Give a broker a name, or change its addresses.")(set_context)
app.command(short_help="Choose the broker that commands talk to.")(use_context)
app.command(short_help="List the contexts.")(get_contexts)
app.command(short_help="Print the name of the context that is used.")(current_context)
app.command(short_help="Give a context another name.")(rename_context)
app.command(short_help="Forget a context.")(delete_context)


def _text(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return "none" if value is None else str(value)
