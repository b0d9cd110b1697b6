"""The broker reaches out: disk, memory, clock, chance, telemetry."""
