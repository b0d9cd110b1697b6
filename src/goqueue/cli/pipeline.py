"""`goqueue pipeline`: jobs over many records, on Spark."""

import typer

__all__ = ["app"]

app = typer.Typer(
    help="Run a job over many records on Spark.\n\nExample: goqueue pipeline lake orders --to ./lake",
    rich_markup_mode=None,
    add_completion=False,
    no_args_is_help=True,
)
