"""The format `goqueue` of Spark: reading and writing, in batches and as a stream."""

from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    DataSourceStreamWriter,
    DataSourceWriter,
)
from pyspark.sql.types import StructType

from goqueue.spark.batch_reader import BatchReader
from goqueue.spark.columns import check_columns, table_schema
from goqueue.spark.failures import plainly
from goqueue.spark.options import read_options, write_options
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
        return table_schema(include_headers=read_options(self.options).include_headers)

    @plainly
    def reader(self, schema: StructType) -> DataSourceReader:
        return BatchReader(read_options(self.options), check_columns(schema))

    @plainly
    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802
        return StreamReader(read_options(self.options), check_columns(schema))

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
