"""The line of a person's own code that an error came from, whatever called it and whatever it called."""

from pathlib import Path
from types import ModuleType

import pytest

from partstream import CodePlace
from partstream.runtime.progress import failing_place, fault_of, from_user_code
from rows import one_test_for

LIBRARY = "/opt/lib/python3/site-packages/library.py"


def _error(source: str, file: str = "mine.py", **names: object) -> BaseException:
    """The error that a person's file raises when it runs."""
    module = ModuleType("mine")
    vars(module).update(names)
    try:
        exec(compile(source, file, "exec"), vars(module))  # noqa: S102 - the person's code
    except BaseException as error:
        return error
    raise AssertionError("it raised nothing")


def _library() -> ModuleType:
    library = ModuleType("library")
    exec(compile("def call(function):\n    function()\ndef fail():\n    1 / 0\n", LIBRARY, "exec"), vars(library))  # noqa: S102
    return library


ERRORS = {
    "its own line": ("x = 1\nraise KeyError('seed')", 2, "KeyError: 'seed'"),
    "a line that calls the standard library": ("import json\njson.loads('{')", 2, None),
    "a line that calls an installed package": ("x = 1\nlibrary.fail()", 2, "ZeroDivisionError: division by zero"),
    "a line that an installed package calls": ("def own():\n    int('a')\nlibrary.call(own)", 2, None),
    "a line that cannot be read": ("x = 1\ny = = 2", 2, "SyntaxError: invalid syntax"),
    "a file that ends the process": ("import sys\nsys.exit(3)", 2, "the file ends the process"),
    "an error without a text": ("raise ValueError", 1, "ValueError"),
}


@one_test_for(("source", "line", "message"), ERRORS.values(), ids=ERRORS)
def test_a_fault_has_the_line_of_the_person_s_code(source: str, line: int, message: str | None):
    fault = fault_of(_error(source, library=_library()))
    assert fault.place == CodePlace("mine.py", line)
    assert message in (None, fault.message)
    assert str(fault) == f"mine.py, line {line}: {fault.message}"


def test_the_provider_s_own_file_goes_before_the_other_files_of_the_person():
    helper = ModuleType("helper")
    exec(compile("def help():\n    1 / 0\n", "helper.py", "exec"), vars(helper))  # noqa: S102
    error = _error("x = 1\nhelper.help()", helper=helper)
    assert failing_place(error) == CodePlace("helper.py", 2)
    assert failing_place(error, Path("mine.py")) == CodePlace("mine.py", 2)


def test_a_provider_that_is_itself_an_installed_package_is_named():
    library = _library()
    with pytest.raises(ZeroDivisionError) as raised:
        library.fail()
    raised.value.__traceback__ = raised.value.__traceback__.tb_next  # without the frame of this test
    assert failing_place(raised.value) == CodePlace(LIBRARY, 4)


def test_an_error_without_code_of_a_person_has_no_place():
    fault = fault_of(ValueError("made, and never raised"))
    assert (fault.place, str(fault)) == (None, "ValueError: made, and never raised")
    assert from_user_code(ValueError()) is None
