"""JSON Schema: what a schema says, whether a value fits it, and whether it takes every value of another schema."""
