"""Files beside those that Spark writes, on any file system: seen whole or not at all, moved in one step."""

import secrets
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from goqueue.errors import AlreadyDecided, InvalidRequest

__all__ = ["Files"]


class Files:
    """Under a root; names are relative to it. Through Hadoop, with the settings that Spark writes its tables with."""

    def __init__(self, spark: SparkSession, root: str) -> None:
        try:
            gateway, hadoop = spark.sparkContext._gateway, spark._jvm.org.apache.hadoop.fs  # type: ignore[union-attr]
            settings = spark._jsc.hadoopConfiguration()
        except (PySparkException, AttributeError):
            raise InvalidRequest(
                "this job moves files, which Spark Connect does not offer", hint="run it with --master, or spark-submit"
            ) from None
        self._path = hadoop.Path
        # A name without a scheme means the default file system, and the folder that the driver runs in.
        unqualified = hadoop.Path(root)
        self._system = unqualified.getFileSystem(settings)
        self.root = str(self._system.makeQualified(unqualified).toString()).rstrip("/")
        self._context = hadoop.FileContext.getFileContext(self._at("").toUri(), settings)
        assert gateway is not None
        self._never_over_another = gateway.new_array(hadoop.Options.Rename, 1)
        self._never_over_another[0] = getattr(hadoop.Options.Rename, "NONE")  # noqa: B009

    def path(self, name: str) -> str:
        """As Spark wants it."""
        return f"{self.root}/{name}"

    def _at(self, name: str) -> Any:
        return self._path(self.path(name) if name else self.root)

    def exists(self, name: str) -> bool:
        return bool(self._system.exists(self._at(name)))

    def names(self, folder: str) -> list[str]:
        """In order; none if there is no such folder."""
        if not self.exists(folder):
            return []
        found = (one.getPath().getName() for one in self._system.listStatus(self._at(folder)))
        return sorted(name for name in found if not name.startswith("."))

    def read(self, name: str) -> bytes:
        stream = self._system.open(self._at(name))
        try:
            return bytes(stream.readAllBytes())
        finally:
            stream.close()

    def create(self, name: str, content: bytes) -> None:
        """With all its content at once, unless there is a file of that name."""
        folder, _, last = name.rpartition("/")
        unseen = f"{folder}/.{last}.{secrets.token_hex(8)}"
        stream = self._system.create(self._at(unseen), False)
        try:
            stream.write(bytearray(content))
            stream.hsync()
        finally:
            stream.close()
        try:
            self._context.rename(self._at(unseen), self._at(name), self._never_over_another)
        except Py4JJavaError:
            self.remove(unseen)
            if not self.exists(name):
                raise
            raise AlreadyDecided(
                f"{name} was written by another job", hint="run one at a time, and this one again"
            ) from None

    def move(self, name: str, to: str) -> None:
        """Nothing happens when it has been moved before."""
        self._system.mkdirs(self._at(to.rpartition("/")[0]))
        try:
            self._context.rename(self._at(name), self._at(to), self._never_over_another)
        except Py4JJavaError:
            if self.exists(name) or not self.exists(to):
                raise

    def remove(self, name: str) -> None:
        """A file, or a folder with all that is in it; nothing happens when it is not there."""
        self._system.delete(self._at(name), True)
