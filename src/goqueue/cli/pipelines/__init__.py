"""The commands of `goqueue pipeline`, one file each: options in, a job of `goqueue.spark.pipelines`, a summary out."""
