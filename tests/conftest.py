"""Settings shared by every test."""

import pytest
from hypothesis import settings

# Shared machines stall for longer than any useful deadline; pytest-timeout ends what really hangs.
settings.register_profile("goqueue", deadline=None, print_blob=True)
settings.load_profile("goqueue")

SPARK = "tests/spark/"


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Of tests run side by side, those of a file stay together, as they share servers; all of Spark share a session."""
    for item in items:
        file = item.nodeid.partition("::")[0]
        item.add_marker(pytest.mark.xdist_group("spark" if file.startswith(SPARK) else file))
    # The longest group comes first, so that nobody waits for it in the end.
    items.sort(key=lambda item: not item.nodeid.startswith(SPARK))
