"""JSON Schema: parsing, validation of values, and compatibility of schemas."""
