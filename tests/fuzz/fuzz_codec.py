"""Fuzzes the compiled codec under AddressSanitizer and UndefinedBehaviorSanitizer, guided by coverage.

    python tests/fuzz/fuzz_codec.py --inputs 10000000 --seed 1

Needs gcc and Cython. Builds the instrumented codec into a folder of its own under the system's temporary folder (again
only when a source has changed), runs it in as many processes as there are processors, and exits with 1 at the first
crash, sanitizer report or disagreement, leaving the input behind; `--replay FILE` runs such an input again.
"""

import argparse
import hashlib
import os
import shutil
import struct
import subprocess
import sys
import sysconfig
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).resolve().parent
PACKAGE = HERE.parents[1] / "src" / "goqueue"
SHARED_SIZE = 64 + (1 << 18)

SANITIZE = ["-fsanitize=address,undefined", "-fno-sanitize-recover=undefined", "-fsanitize-coverage=trace-pc"]
COMPILE = ["-shared", "-fPIC", "-g1", "-O1", "-fwrapv", "-fno-omit-frame-pointer"]


class Counters(NamedTuple):
    inputs: int
    accepted: int
    stamped: int
    found: int
    corpus: int
    edges: int


class Worker(NamedTuple):
    process: subprocess.Popen
    shared: Path
    errors: Path

    def counters(self) -> Counters:
        with self.shared.open("rb") as file:
            return Counters(*struct.unpack("6Q", file.read(48)))

    def current_input(self) -> bytes:
        data = self.shared.read_bytes()
        return data[64 : 64 + struct.unpack_from("Q", data, 56)[0]]


# --- building


def sources() -> list[Path]:
    package = [
        PACKAGE / "__init__.py",
        PACKAGE / "errors.py",
        *sorted((PACKAGE / "model").glob("*.py")),
        *sorted((PACKAGE / "codec").rglob("*")),
    ]
    own = [HERE / "fuzz_loop.pyx", HERE / "coverage.c", HERE / "fuzz_worker.py"]
    wanted = {".py", ".pyx", ".h", ".c"}
    return [path for path in package + own if path.suffix in wanted and path.name != "record.c"]


def build() -> Path:
    """The folder with the instrumented build; made under another name first, so that a half-made one is never used."""
    digest = hashlib.sha256(sys.version.encode() + Path(__file__).read_bytes())
    for path in sources():
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    folder = Path(tempfile.gettempdir()) / f"goqueue-fuzz-{os.getuid()}-{digest.hexdigest()[:16]}"
    if folder.exists():
        return folder
    print(f"building the instrumented codec in {folder}", flush=True)
    making = Path(tempfile.mkdtemp(prefix="goqueue-fuzz-"))
    for path in sources():
        inside = PACKAGE in path.parents
        target = making / path.relative_to(PACKAGE.parent) if inside else making / path.name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)
    codec = making / "goqueue" / "codec"
    hook = making / "coverage.o"
    # The hook is compiled apart, without the instrumentation: it must not call itself.
    run(["gcc", "-fPIC", "-O2", "-c", str(making / "coverage.c"), "-o", str(hook)])
    with ThreadPoolExecutor() as pool:
        codec_done = pool.submit(compile_extension, codec / "record.pyx", codec, [*SANITIZE, str(hook)])
        loop_done = pool.submit(compile_extension, making / "fuzz_loop.pyx", codec, [])
    codec_done.result()
    loop_done.result()
    try:
        making.rename(folder)
    except OSError:  # someone else was faster
        shutil.rmtree(making)
    return folder


def compile_extension(source: Path, include: Path, more: list[str]) -> None:
    run([sys.executable, "-m", "cython", "-3", str(source)])
    includes = [f"-I{include}", f"-I{sysconfig.get_path('include')}"]
    target = source.with_suffix(sysconfig.get_config_var("EXT_SUFFIX"))
    run(["gcc", *COMPILE, *includes, str(source.with_suffix(".c")), *more, "-o", str(target)])


def run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(command)}\n{done.stdout}{done.stderr}")


# --- running


def sanitizer_environment(folder: Path) -> dict[str, str]:
    libraries = []
    for name in ("libasan.so", "libubsan.so"):
        found = subprocess.run(["gcc", f"-print-file-name={name}"], capture_output=True, text=True, check=True)
        libraries.append(found.stdout.strip())
    return os.environ | {
        "LD_PRELOAD": " ".join(libraries),
        "PYTHONPATH": str(folder),
        # Python's own allocator would hide what happens to small blocks.
        "PYTHONMALLOC": "malloc",
        "PYTHONDONTWRITEBYTECODE": "1",
        # No input is larger than 256 KiB, so no allocation has a reason to be larger than 8 MiB. Python itself leaks.
        # Call stacks of allocations and the filling of fresh memory take more time than all the rest.
        "ASAN_OPTIONS": "detect_leaks=0:max_allocation_size_mb=8:allocator_may_return_null=0:quarantine_size_mb=8"
        ":malloc_context_size=0:max_malloc_fill_size=0",
        "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1",
    }


def start(folder: Path, logs: Path, number: int, seed: int, inputs: int, replay: Path | None) -> Worker:
    shared, errors = logs / f"shared-{number}", logs / f"errors-{number}.txt"
    shared.write_bytes(bytes(SHARED_SIZE))
    command = [sys.executable, str(folder / "fuzz_worker.py"), f"--inputs={inputs}", f"--seed={seed}"]
    command.append(f"--shared={shared}")
    if replay:
        command.append(f"--replay={replay.resolve()}")
    with errors.open("w") as log:
        process = subprocess.Popen(command, stderr=log, env=sanitizer_environment(folder))
    return Worker(process, shared, errors)


def totals(workers: list[Worker]) -> Counters:
    each = [worker.counters() for worker in workers]
    sums = [sum(column) for column in zip(*each, strict=True)]
    return Counters(*sums)._replace(edges=max(counters.edges for counters in each))


def show(sums: Counters, wanted: int, seconds: float) -> None:
    rate = sums.inputs / seconds if seconds else 0
    left = (wanted - sums.inputs) / rate if rate else 0
    line = (
        f"{sums.inputs:>12,} of {wanted:,} inputs  {rate:>9,.0f}/s  {sums.accepted:,} accepted  "
        f"{sums.corpus:,} in the corpus  {sums.edges:,} edges  about {left:.0f} s left"
    )
    print(f"\r{line:<118}" if sys.stdout.isatty() else line, end="" if sys.stdout.isatty() else "\n", flush=True)


def watch(workers: list[Worker], wanted: int, timeout: float) -> tuple[Worker | None, str]:
    """Shows progress until all are done; gives the first worker that failed or hangs, if any, and what it did."""
    began = moved = shown = time.monotonic()
    last = [0] * len(workers)
    every = 1.0 if sys.stdout.isatty() else 10.0
    while True:
        for worker in workers:
            if worker.process.poll():
                return worker, f"ended with {worker.process.returncode}"
        if all(worker.process.returncode == 0 for worker in workers):
            return None, ""
        now = time.monotonic()
        counts = [worker.counters().inputs for worker in workers]
        if counts != last:
            last, moved = counts, now
        if now - moved > timeout:
            stuck = next(worker for worker in workers if worker.process.poll() is None)
            return stuck, f"has not finished an input for {timeout:.0f} s"
        if now - shown >= every:
            shown = now
            show(totals(workers), wanted, now - began)
        time.sleep(0.05)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--inputs", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--timeout", type=float, default=60.0, help="seconds without progress that count as a hang")
    parser.add_argument("--replay", type=Path, help="run one saved input instead")
    arguments = parser.parse_args()

    folder = build()
    logs = Path(tempfile.mkdtemp(prefix="goqueue-fuzz-run-"))
    jobs = 1 if arguments.replay else max(1, min(arguments.jobs, arguments.inputs // 1000 or 1))
    shares = [arguments.inputs // jobs + (i < arguments.inputs % jobs) for i in range(jobs)]
    began = time.monotonic()
    workers = [
        start(folder, logs, i, arguments.seed * 1000 + i, share, arguments.replay) for i, share in enumerate(shares)
    ]
    try:
        failed, what = watch(workers, arguments.inputs, arguments.timeout)
    finally:
        for worker in workers:
            if worker.process.poll() is None:
                worker.process.kill()
            worker.process.wait()
    seconds = time.monotonic() - began
    sums = totals(workers)
    if failed:
        saved = logs / "input.bin"
        saved.write_bytes(failed.current_input())
        print(f"\nFAILED after {sums.inputs:,} inputs: a worker {what}\n{failed.errors.read_text()[-6000:]}")
        print(f"input ({len(saved.read_bytes())} bytes): {saved}\nagain: {sys.executable} {__file__} --replay {saved}")
        return 1
    if not arguments.replay:
        print(
            f"\nOK: {sums.inputs:,} inputs in {seconds:.0f} s ({sums.inputs / seconds:,.0f}/s, {jobs} processes, "
            f"seed {arguments.seed}): no crash, no sanitizer report, no disagreement\n"
            f"{sums.accepted:,} decoded whole, {sums.stamped:,} stamped, {sums.found:,} resynced, "
            f"{sums.corpus:,} in the corpora, {sums.edges:,} edges"
        )
    shutil.rmtree(logs)
    return 0


if __name__ == "__main__":
    sys.exit(main())
