"""Avro schemas: parsing, canonical form, and comparison by the rules of schema resolution."""
