"""Which records are traced, and the newest spans of them."""
