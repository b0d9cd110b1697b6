"""What pipelines that write a report are told: where it goes."""

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["DEFAULT_FOLDER", "FolderOption"]

DEFAULT_FOLDER = Path("reports")

FolderOption = Annotated[
    Path, typer.Option("--report", metavar="FOLDER", file_okay=False, help="Where the report and its data go.")
]
