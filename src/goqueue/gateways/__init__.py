"""Traffic comes in: parse, call the engine, print."""
