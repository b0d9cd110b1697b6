"""What `mkdocs` does beside its own work: pages from outside of docs/, and decisions without a line in the menu."""

import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files, InclusionLevel

__all__ = ["on_files"]

ROOT = Path(__file__).parents[1]
OUTSIDE = {"contributing.md": ROOT / "CONTRIBUTING.md", "changelog.md": ROOT / "CHANGELOG.md"}
INTO_DOCS = re.compile(r"\]\(docs/")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    for name, source in OUTSIDE.items():
        text = INTO_DOCS.sub("](", source.read_text(encoding="utf-8"))
        files.append(File.generated(config, name, content=text))
    for file in files:
        if re.match(r"adr/\d", file.src_uri):
            file.inclusion = InclusionLevel.NOT_IN_NAV
    return files
