"""GoQueue beside the brokers that users would pick instead: one harness, one machine, one run."""
