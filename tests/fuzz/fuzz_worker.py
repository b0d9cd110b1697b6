"""One fuzzing process: runs under the sanitizers against the instrumented codec. Started by fuzz_codec.py."""

import argparse
import ctypes
import importlib
import mmap
import sys
from pathlib import Path

from goqueue.codec import record
from goqueue.model.record import Record

SHARED_SIZE = 64 + (1 << 18)
PIECE = 20_000


def seeds() -> list[bytes]:
    """Sound bytes of every kind to start from; the last few are large enough for the paths without the GIL."""
    headers = (("trace", b"0123456789"), ("é", b""), ("", b"x"))
    kinds = [
        Record(value=b"value", key=b"key"),
        Record(value=b""),
        Record(value=b"x", key=b""),
        Record(value=None, key=b"key"),
        Record(value=b"v", headers=headers),
        Record(value=None, key=b"", headers=headers[:1]),
        Record(value=b"", headers=(("\x7f\x80\u07ff\u0800\ud7ff", b""),)),
        Record(value=b"", headers=(("\ue000\uffff\U00010000", b""), ("\U0010ffff", b""))),
        Record(value=b"", flags=8),
        Record(value=b"commit", key=b"txn", flags=24),
        Record(value=bytes(range(256)), flags=1, priority=4, timestamp_ns=2**62),
        Record(value=b"GQ\x01" * 30, key=b"G" * 20),
    ]
    singles = [record.encode([kind]) for kind in kinds]
    nested = record.encode([Record(value=b"".join(singles), key=b"nested")])
    stamped = bytearray(record.encode(kinds))
    record.stamp(stamped, 40, 1_700_000_000_000_000_000)
    many = bytearray(record.encode([Record(value=b"", key=b"k%d" % (i % 5)) for i in range(30)]))
    record.stamp(many, 0, 9)
    large = [record.encode([Record(value=bytes(70_000)), *kinds]), bytes(stamped) * 150, b"GQ\x01\x00" * 20_000]
    return [*singles, nested, bytes(stamped), bytes(many), b"", b"G", bytes(34), *large]


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--inputs", type=int, required=True)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--shared", type=Path, required=True)
    parser.add_argument("--replay", type=Path)
    arguments = parser.parse_args()

    loop = importlib.import_module("fuzz_loop")
    edges = ctypes.c_uint64.in_dll(ctypes.CDLL(record.__file__), "gq_fuzz_edges")
    with arguments.shared.open("r+b") as file:
        shared = mmap.mmap(file.fileno(), SHARED_SIZE)
    fuzzer = loop.Fuzzer(arguments.seed, ctypes.addressof(edges), shared, seeds())
    if arguments.replay:
        fuzzer.replay(arguments.replay.read_bytes())
        print("no fault: the codec handles this input", flush=True)
        return 0
    left = arguments.inputs
    while left:
        fuzzer.run(min(left, PIECE))
        left -= min(left, PIECE)
    return 0


if __name__ == "__main__":
    sys.exit(main())
