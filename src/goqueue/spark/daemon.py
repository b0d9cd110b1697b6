"""What Spark forks its Python workers from: with the connector imported already, a query starts a second sooner."""

import ctypes
import gc

from pyspark.daemon import manager

import goqueue.spark.data_source  # noqa: F401
import goqueue.spark.rows  # noqa: F401

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3
KEPT_BYTES = 128 * 1024 * 1024
LARGEST_BYTES = 32 * 1024 * 1024
"""More than that the C library does not allow."""


def keep_memory() -> None:
    """Chunks of megabytes come and go: to get each of them from the system anew takes longer than to fill it."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(M_MMAP_THRESHOLD, LARGEST_BYTES)
        mallopt(M_TRIM_THRESHOLD, KEPT_BYTES)


if __name__ == "__main__":
    keep_memory()
    # Workers collect garbage after each task, and would look through all that is loaded here every time.
    gc.freeze()
    manager()
