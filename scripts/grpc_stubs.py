"""Writes the Python messages and stubs of the gRPC protocol, in src/goqueue/wire/grpc/v1, from its protos.

protoc names modules after the folders of the protos, `goqueue.v1`. Here they stand elsewhere, so what they import of
each other is named anew; nothing else of what protoc writes is touched.
"""

import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

__all__ = ["PROTOS", "STUBS", "main", "stubs"]

ROOT = Path(__file__).parents[1]
PROTOS = ROOT / "src" / "goqueue" / "wire" / "grpc" / "proto"
STUBS = ROOT / "src" / "goqueue" / "wire" / "grpc" / "v1"
PACKAGE = "goqueue.wire.grpc.v1"
OUTPUTS = ("python_out", "pyi_out", "grpc_python_out")

_NAME = re.compile(r"(?:(?<=^from )|(?<=^import )|(?<='))goqueue\.v1(?= import |\.\w+_pb2)", re.MULTILINE)


def stubs() -> dict[str, str]:
    """The text of each file, by its name."""
    with tempfile.TemporaryDirectory(prefix="goqueue-stubs-") as folder:
        outputs = [f"--{kind}={folder}" for kind in OUTPUTS]
        sources = [str(path.relative_to(PROTOS)) for path in sorted(PROTOS.rglob("*.proto"))]
        command = [sys.executable, "-m", "grpc_tools.protoc", f"-I{PROTOS}", *outputs, *sources]
        subprocess.run(command, check=True)
        return dict(_made(Path(folder) / "goqueue" / "v1"))


def _made(folder: Path) -> Iterator[tuple[str, str]]:
    for path in sorted(folder.iterdir()):
        text = path.read_text(encoding="utf-8")
        has_service = not path.name.endswith("_pb2_grpc.py") or "class " in text
        if has_service:
            yield path.name, _NAME.sub(PACKAGE, text)


def main() -> None:
    wanted = stubs()
    for path in STUBS.glob("*_pb2*"):
        if path.name not in wanted:
            path.unlink()
    for name, text in wanted.items():
        (STUBS / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
