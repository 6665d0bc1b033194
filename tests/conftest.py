"""What holds for all tests."""

import signal
from collections.abc import Iterator

import pytest

from recordings import count_recordings


def pytest_configure() -> None:
    """Ctrl-C works in the tests and in the processes that they start, whoever started the run.

    A process that is started with SIGINT ignored, as in the background of a script, hands that on to its children.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_report_header() -> str:
    """Says which recordings there are: without them their tests are skipped."""
    return count_recordings()


@pytest.fixture(scope="session", autouse=True)
def no_data_of_the_user(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """No test, and no process that one starts, reads or writes what the user's own Partstream remembers.

    A process that is not given a folder would use the one below XDG_DATA_HOME, as a user's does: there is none after
    the tests.
    """
    home = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PARTSTREAM_DATA", str(tmp_path_factory.mktemp("data")))
        patch.setenv("XDG_DATA_HOME", str(home))
        yield
    assert not (home / "partstream").exists(), "a test has used the data folder of whoever runs it"
