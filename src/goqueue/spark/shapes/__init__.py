"""Which type a column has whose values follow a schema, and how decoded values are brought into it."""

from goqueue.spark.shapes.avro import avro_shape
from goqueue.spark.shapes.json_schema import json_shape
from goqueue.spark.shapes.protobuf import message_class, protobuf_shape
from goqueue.spark.shapes.shape import Shape

__all__ = ["Shape", "avro_shape", "json_shape", "message_class", "protobuf_shape"]
