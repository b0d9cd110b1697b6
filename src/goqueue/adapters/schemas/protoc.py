"""Compiler from .proto texts to descriptors: protoc in a process of its own.

protoc inside this process would take 2 ms instead of 30. A process is used for three reasons: protoc writes its errors
to file descriptor 2, where errors of different threads are mixed; it parses untrusted texts in C++ code, and a crash
there must not crash the broker; and only a process can have limits of time and memory.

`compile_files` blocks for about 30 ms (10 s at most, then the text is refused), so it is called from a thread, never
from the event loop. It has no state: calls may run at the same time in several threads; two are enough.
"""

import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

import google.type  # type: ignore[import-untyped]
import grpc_tools

from goqueue.errors import InvalidSchema

__all__ = ["WELL_KNOWN_FOLDER", "compile_files"]

WELL_KNOWN_FOLDER = Path(grpc_tools.__file__).parent / "_proto"
GOOGLE_TYPE_FOLDER = Path(next(iter(google.type.__path__)))
CONFLUENT_FOLDER = Path(__file__).parent / "protos"
LONGEST_COMPILATION_S = 10
MOST_MEMORY = 1 << 30
LARGEST_OUTPUT = 32 << 20
MOST_ERRORS = 5

# The limits are set by the child on itself: code between fork and exec is not safe in a process with threads.
_CHILD = f"""
import resource, sys
resource.setrlimit(resource.RLIMIT_AS, ({MOST_MEMORY}, {MOST_MEMORY}))
resource.setrlimit(resource.RLIMIT_CPU, ({LONGEST_COMPILATION_S}, {LONGEST_COMPILATION_S}))
resource.setrlimit(resource.RLIMIT_FSIZE, ({LARGEST_OUTPUT}, {LARGEST_OUTPUT}))
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
sys.path.append({str(WELL_KNOWN_FOLDER.parent.parent)!r})
from grpc_tools import _protoc_compiler
sys.exit(_protoc_compiler.run_main([each.encode() for each in sys.argv]))
"""
_PLACE = re.compile(r"^(?P<file>[^\n:]+\.proto):(?:(?P<line>\d+):(?P<column>\d+):)? ?(?P<why>.*)$")


def compile_files(root: str, texts: Mapping[str, str]) -> bytes:
    """FileDescriptorSet of `root` and of all files it imports, each after its own imports.

    The names are checked by the caller: relative, and without a part that leads upwards. Imports are found among the
    texts and the well-known files (google/protobuf, google/type, confluent), and nowhere else, because protoc itself
    refuses a path that is absolute or leads upwards, and the folder has no links.
    """
    with tempfile.TemporaryDirectory(prefix="goqueue-protoc-") as name:
        folder = Path(name)
        sources = folder / "in"
        for path, text in texts.items():
            target = sources / path
            try:
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(text.encode())
            except (OSError, UnicodeEncodeError) as reason:
                raise InvalidSchema(f"{path!r} cannot be used as the name of a file: {reason}") from None
        return _run(root, sources, folder / "out")


def _run(root: str, sources: Path, output: Path) -> bytes:
    # Well-known types come first: a text registered under the name of one cannot replace it.
    known = (f"-I{WELL_KNOWN_FOLDER}", f"-Igoogle/type={GOOGLE_TYPE_FOLDER}", f"-I{CONFLUENT_FOLDER}")
    arguments = [*known, "-I.", "--include_imports", f"--descriptor_set_out={output}", root]
    try:
        done = subprocess.run(
            [sys.executable, "-I", "-c", _CHILD, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            cwd=sources,
            env={"LC_ALL": "C.UTF-8", "MALLOC_ARENA_MAX": "1"},
            timeout=LONGEST_COMPILATION_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise InvalidSchema(
            f"protoc was not done after {LONGEST_COMPILATION_S} seconds", hint="split the schema into smaller ones"
        ) from None
    if done.returncode == 0:
        return output.read_bytes()
    raise InvalidSchema(_explained(root, done.stderr.decode(errors="replace"), done.returncode))


def _explained(root: str, output: str, status: int) -> str:
    """Errors of protoc as `line 3, column 7: …`, with the file name unless the file is the schema itself."""
    found = []
    for line in output.splitlines():
        match = _PLACE.match(line)
        if match is None or ": warning: " in line:
            continue
        where = [] if match["file"] == root else [match["file"]]
        if match["line"]:
            where.append(f"line {match['line']}, column {match['column']}")
        found.append(f"{', '.join(where)}: {match['why']}" if where else match["why"])
    if not found:
        reason = f"signal {-status}" if status < 0 else f"status {status}"
        return f"protoc gave up on the schema ({reason})"
    more = f"; and {len(found) - MOST_ERRORS} more" if len(found) > MOST_ERRORS else ""
    return "; ".join(found[:MOST_ERRORS]) + more
