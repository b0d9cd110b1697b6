"""Protobuf schemas: parsing, comparison on the wire, and checks of messages."""
