"""Settings shared by every test."""

from hypothesis import settings

# Shared machines stall for longer than any useful deadline; pytest-timeout ends what really hangs.
settings.register_profile("goqueue", deadline=None, print_blob=True)
settings.load_profile("goqueue")
