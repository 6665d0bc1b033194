"""What holds for all tests of hosts."""

import pytest


@pytest.fixture(autouse=True)
def data_of_its_own(tmp_path_factory, monkeypatch):
    """No test reads or writes what the user's own Partstream remembers."""
    monkeypatch.setenv("PARTSTREAM_DATA", str(tmp_path_factory.mktemp("data")))
    monkeypatch.setenv("PARTSTREAM_CACHE", str(tmp_path_factory.mktemp("cache")))
