"""The log as a queue: leases, acknowledgements, retries, dead letters."""
