"""The format `goqueue` of Spark: reading and writing, in batches and as a stream."""

from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    DataSourceStreamWriter,
    DataSourceWriter,
)
from pyspark.sql.types import StructType

from goqueue.errors import InvalidRequest
from goqueue.spark.batch_reader import batch_reader
from goqueue.spark.columns import check_columns, table_schema
from goqueue.spark.failures import plainly
from goqueue.spark.options import read_options, write_options
from goqueue.spark.queue_reader import QueueReader
from goqueue.spark.stream_reader import StreamReader
from goqueue.spark.writing import BatchWriter, StreamWriter, check_written

__all__ = ["GoQueueDataSource"]


class GoQueueDataSource(DataSource):
    """See `goqueue.spark.options` for what it can be told."""

    @classmethod
    def name(cls) -> str:
        return "goqueue"

    @plainly
    def schema(self) -> StructType:
        options = read_options(self.options)
        return table_schema(include_headers=options.include_headers, is_queue=options.queue is not None)

    @plainly
    def reader(self, schema: StructType) -> DataSourceReader:
        options = read_options(self.options)
        if options.queue is not None:
            raise InvalidRequest(
                "a queue has no end to read up to", hint="use readStream; trigger(availableNow=True) ends"
            )
        return batch_reader(options, check_columns(schema))

    @plainly
    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802
        options = read_options(self.options)
        if options.queue is not None:
            return QueueReader(options, check_columns(schema, is_queue=True))
        if options.path is not None:
            raise InvalidRequest("a folder does not grow", hint="use read, or a broker's bootstrap")
        return StreamReader(options, check_columns(schema))

    @plainly
    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:
        options = write_options(self.options)
        check_written(schema, options, overwrite=overwrite)
        return BatchWriter(options)

    @plainly
    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamWriter:  # noqa: N802
        options = write_options(self.options)
        check_written(schema, options, overwrite=False)
        return StreamWriter(options)
