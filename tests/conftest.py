"""Settings shared by every test."""

import pytest
from hypothesis import settings

# Shared machines stall for longer than any useful deadline; pytest-timeout ends what really hangs.
settings.register_profile("goqueue", deadline=None, print_blob=True)
settings.load_profile("goqueue")


def pytest_collection_modifyitems(items):
    """Of tests run side by side, those of a file stay together, as they share servers; all of Spark share a session."""
    for item in items:
        group = "spark" if item.get_closest_marker("spark") else item.nodeid.partition("::")[0]
        item.add_marker(pytest.mark.xdist_group(group))
