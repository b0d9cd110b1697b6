"""Protobuf schemas: what they say, how two of them differ on the wire, and whether bytes are a message of one."""
