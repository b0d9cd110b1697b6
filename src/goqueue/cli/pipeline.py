"""`goqueue pipeline`: jobs over many records, on Spark."""

import typer

from goqueue.cli.pipelines.audit import audit
from goqueue.cli.pipelines.compact import compact
from goqueue.cli.pipelines.dedup import dedup
from goqueue.cli.pipelines.dlq import dlq
from goqueue.cli.pipelines.lake import lake
from goqueue.cli.pipelines.quality import quality
from goqueue.cli.pipelines.replay import replay
from goqueue.cli.pipelines.traces import traces
from goqueue.cli.pipelines.windows import windows

__all__ = ["app"]

app = typer.Typer(
    help="Run a job over many records on Spark.\n\nExample: goqueue pipeline lake orders --to ./lake",
    rich_markup_mode=None,
    add_completion=False,
    no_args_is_help=True,
)

app.command("audit", short_help="Prove that nothing was lost, duplicated or reordered.")(audit)
app.command("compact", short_help="Write the last value of each key as a table.")(compact)
app.command("dedup", short_help="Write a topic without its duplicates.")(dedup)
app.command("dlq", short_help="Tell why records became dead letters, and send some back.")(dlq)
app.command("lake", short_help="Load topics into Parquet tables by date.")(lake)
app.command("quality", short_help="Tell what is missing, broken or unevenly spread in a topic.")(quality)
app.command("replay", short_help="Write a stretch of a topic once more, elsewhere.")(replay)
app.command("traces", short_help="Tell how long records take from step to step.")(traces)
app.command("windows", short_help="Count and sum records in windows of time.")(windows)
