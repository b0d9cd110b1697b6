"""Functions over columns of Arrow, for what SQL cannot say: called with whole batches, in tasks."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from pyspark.sql.pandas.functions import arrow_udf

from goqueue.spark.failures import plainly

if TYPE_CHECKING:
    from pyspark.sql import Column

__all__ = ["over_columns"]

Vectorized = Callable[..., "Column"]


def over_columns(function: Callable[..., Any], kind: str, *, once: bool = False) -> Vectorized:
    """From arrays to an array of the same length, of this type of SQL; the function says so in its annotations.

    With `once` it is called once for each row and in the order of rows: for what does something, or changes its mind.
    """
    # Spark reads the annotations, and its own types do not know that.
    make: Any = arrow_udf
    made = make(plainly(function), kind)
    found: Vectorized = made.asNondeterministic() if once else made
    return found
