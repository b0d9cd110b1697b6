"""The documentation as a website, in site/ or in the folder that is named.

The pages of `docs` and those that lie at the root of the repository are put together in a folder of their own, so that
nothing generated is left among the sources.
"""

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

__all__ = ["main"]

ROOT = Path(__file__).parents[1]
AT_THE_ROOT = {"contributing.md": "CONTRIBUTING.md", "changelog.md": "CHANGELOG.md"}
INTO_DOCS = re.compile(r"\]\(docs/")


def main(target: Path) -> int:
    with tempfile.TemporaryDirectory(prefix="goqueue-docs-") as name:
        sources = Path(name)
        shutil.copy(ROOT / "mkdocs.yml", sources)
        shutil.copytree(ROOT / "docs", sources / "docs")
        for page, source in AT_THE_ROOT.items():
            text = INTO_DOCS.sub("](", (ROOT / source).read_text(encoding="utf-8"))
            (sources / "docs" / page).write_text(text, encoding="utf-8")
        build = [Path(sys.executable).with_name("zensical"), "build", "--strict"]
        done = subprocess.run(
            build, cwd=sources, check=False, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
        if done.returncode != 0:
            print(done.stdout, file=sys.stderr)
            return done.returncode
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(sources / "site", target)
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "site"))
