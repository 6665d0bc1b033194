"""The conformance kit as a plugin for pytest: one item for each check.

A test module, or a `conftest.py`, that has the fixture `conformance_target` gets the items; `--partstream-target` gives
them for a target on the command line::

    @pytest.fixture(scope="session")
    def conformance_target():
        return "my_provider.py"

pytest loads plugins of all installed packages for everybody, so this module imports nothing of the kit; a run without a
target never does.
"""

from __future__ import annotations
from collections.abc import Callable, Generator, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

import pytest

if TYPE_CHECKING:
    from pathlib import Path

_TARGET: Final = "conformance_target"


def _items() -> Any:
    """The module that makes the items; it imports the kit."""
    return import_module("partstream_devtools.conformance.pytest_items")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds the options; none has a short name."""
    group = parser.getgroup("partstream", "conformance with the contract of Partstream")
    group.addoption("--partstream-target", metavar="TARGET", help="test a provider, as `partstream conformance` does")
    group.addoption("--partstream-baseline", metavar="FILE", help="the checks that are known to fail")
    group.addoption(
        "--partstream-seconds", type=float, default=10.0, metavar="N", help="the most seconds that one answer may take"
    )


def pytest_configure(config: pytest.Config) -> None:
    """Registers the mark of checks that do not count."""
    config.addinivalue_line("markers", "partstream_optional: a check that is not of the requirement set that counts")


def pytest_pycollect_makeitem(collector: Any, name: str, obj: object) -> list[pytest.Item] | None:
    """Makes the items of a module that has a target of its own."""
    if name != _TARGET or obj is conformance_target:
        return None
    made: list[pytest.Item] = _items().items_of(collector)
    return made


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Makes the items of a `conftest.py` that has a target."""
    if file_path.name != "conftest.py":
        return None
    conftest = parent.config.pluginmanager.get_plugin(str(file_path))
    if not hasattr(conftest, _TARGET):
        return None
    made: pytest.Collector = _items().ConformanceModule.from_parent(parent, path=file_path, module=conftest)
    return made


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Adds the items of a target on the command line to those of the session."""
    report = yield
    if isinstance(collector, pytest.Session) and collector.config.getoption("--partstream-target"):
        report.result = [*report.result, _items().module_of_command_line(collector)]
    return report


@pytest.fixture(scope="session")
def conformance_target(request: pytest.FixtureRequest) -> object:
    """What is tested: a provider, a function that makes one of `upstream` or `script`, a source, a URL, or a target."""
    return request.config.getoption("--partstream-target")


@pytest.fixture(scope="session")
def conformance_capabilities() -> Mapping[str, Any] | None:
    """What the target can do, over what it says itself; None asks the target alone."""
    return None


@pytest.fixture(scope="session")
def conformance_baseline(request: pytest.FixtureRequest) -> str | None:
    """The file of the checks that are known to fail, or None."""
    given: str | None = request.config.getoption("--partstream-baseline")
    return given


@pytest.fixture
def partstream_answer() -> Callable[..., Any]:
    """Records an answer: `partstream_answer(provider, "Hi", tools=[...], cancel_after=3)`, for tests without a loop."""
    recorded: Callable[..., Any] = import_module("partstream_devtools.conformance.assertions").recorded_answer_sync
    return recorded


@pytest.fixture
def partstream_assert_contract() -> Callable[..., None]:
    """Asserts that an answer or its parts keep the contract: `partstream_assert_contract(parts, tools=["read"])`."""
    asserts: Callable[..., None] = import_module("partstream_devtools.conformance.assertions").assert_contract
    return asserts
