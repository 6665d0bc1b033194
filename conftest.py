"""What holds for all tests."""

import gc
import signal
import traceback
import warnings
from collections.abc import Generator, Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from recordings import count_recordings

pytest_plugins = ["clean_environment", "hub.stores", "inspector.browser", "lanes"]

# How long an example takes depends on what else the machine does. A change is judged by the same examples as the one
# before it; `make test PART=python TESTS="tests --hypothesis-profile=thorough"` makes up a thousand others each
# time.
_any_speed = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("partstream", _any_speed, max_examples=30, derandomize=True)
settings.register_profile("thorough", _any_speed, max_examples=1000)
settings.load_profile("partstream")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Options of tests that can do more than a run of all tests has time for."""
    parser.addoption(
        "--turns",
        type=int,
        default=60,
        help="the turns of the session in packages/partstream/tests/tokens/test_session.py",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Ctrl-C works in the tests and in the processes that they start, whatever started the run.

    A process that is started with SIGINT ignored, as in the background of a script, hands that on to its children.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    _collect_from_the_other_end(config)


def _collect_from_the_other_end(config: pytest.Config) -> None:
    """Has every second worker begin with the last folder.

    On a fresh clone no module is compiled. Workers that begin with the same folder compile each module at the same
    time; so each finds what the other one has compiled. The order in which tests run depends on the seed alone.
    """
    worker = getattr(config, "workerinput", {"workerid": "gw0"})["workerid"]
    if int(worker.removeprefix("gw")) % 2 and config.getoption("randomly_reorganize", default=False):
        config.args.reverse()


def pytest_report_header() -> str:
    """Says which recordings there are: without them their tests are skipped."""
    return count_recordings()


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collects no garbage while tests are collected, which leave little, nor later what belongs to the tests.

    After that, collections of garbage are rare.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.collect()
        gc.freeze()
        gc.set_threshold(10_000, 20, 20)


@pytest.hookimpl(wrapper=True)
def pytest_report_to_serializable() -> Generator[None, dict[str, Any] | None, dict[str, Any] | None]:
    """Escapes halves of surrogate pairs in what a test logged: a worker cannot send them to its parent."""
    data = yield
    if data is not None:
        sections = data.get("sections", ())
        data["sections"] = [(name, text.encode(errors="backslashreplace").decode()) for name, text in sections]
    return data


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Keeps a test that fails from taking others, or the whole run, down with it.

    To show where it failed, pytest parses its source. Garbage that is collected in the middle of that and warns, as an
    unclosed socket does, makes CPython up to 3.11.7 fail with a SystemError (gh-106905), and pytest with an internal
    error. Afterwards the frames of the failure would keep what it left open, until it warns in some other test or,
    as an error outside of any test, at the end of the run.
    """
    if call.excinfo is None:
        return (yield)
    gc.disable()
    try:
        report = yield
    finally:
        gc.enable()
    if not item.config.getoption("usepdb"):
        _let_go_of(call.excinfo.value)
    return report


def _let_go_of(error: BaseException) -> None:
    """Empties the frames that an error has come through, and collects what they held."""
    errors = [error]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for one in errors:
            traceback.clear_frames(one.__traceback__)
            for frame, _ in traceback.walk_tb(one.__traceback__):
                _ = frame.f_locals  # brings the copy of the locals up to date that pytest has had made: they are gone
            further = (one.__cause__, one.__context__, *getattr(one, "exceptions", ()))
            errors += [other for other in further if other is not None and other not in errors]
        gc.collect()


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
    if (home / "partstream").exists():
        pytest.fail("a test has used the data folder of the user who runs it")
