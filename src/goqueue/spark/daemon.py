"""What Spark forks its Python workers from: with the connector imported already, a query starts a second sooner."""

from pyspark.daemon import manager

import goqueue.spark.data_source  # noqa: F401

if __name__ == "__main__":
    manager()
