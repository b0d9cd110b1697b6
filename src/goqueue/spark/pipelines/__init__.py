"""Jobs over many records, one module each: functions from tables to tables, and `run`, which does the whole of it."""
