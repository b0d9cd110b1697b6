"""Avro: reading schemas, writing them in one form, and comparing them by the rules of schema resolution."""
