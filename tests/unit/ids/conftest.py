import pytest


@pytest.fixture(autouse=True)
def syncs_in_the_thread(monkeypatch):
    """Some tests hold a sync back, and the loop has to go on meanwhile."""
    monkeypatch.setattr("goqueue.engine.group_commit.SYNC_HERE_BYTES", -1)
