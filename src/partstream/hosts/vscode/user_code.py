"""Finds the person's own code in the traceback of an error: the line that failed, and the frames from there on."""

from __future__ import annotations

import sysconfig
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import TracebackType

__all__ = ["CodePlace", "failing_line", "from_user_code", "logged_error"]

_STANDARD_LIBRARY: Final = Path(sysconfig.get_path("stdlib"))
_NOT_THE_USERS: Final = (
    str(Path(__file__).resolve().parents[2]),
    "<frozen ",
    *(
        str(_STANDARD_LIBRARY / name)
        for name in ("asyncio", "concurrent", "contextlib.py", "importlib", "threading.py")
    ),
)
"""How the file names of frames begin that call the person's code."""


class CodePlace(NamedTuple):
    """A line of code.

    Attributes:
        file: The file.
        line: The number of the line, from 1.
    """

    file: str
    line: int


def failing_line(error: BaseException, file: Path | None) -> CodePlace | None:
    """The line that failed: in the provider's own file if the error passed through it, else in the person's code.

    Args:
        error: The error.
        file: The provider's file, if it has one.

    Returns:
        The line, or None where no code of the person is involved.
    """
    if isinstance(error, SyntaxError) and isinstance(error.filename, str) and isinstance(error.lineno, int):
        return CodePlace(error.filename, error.lineno)
    places = [CodePlace(frame.tb_frame.f_code.co_filename, frame.tb_lineno) for frame in _frames(error.__traceback__)]
    users = [place for place in places if not place.file.startswith(_NOT_THE_USERS)]
    own = [place for place in users if file is not None and place.file == str(file)]
    return next(reversed(own or users), None)


def from_user_code(error: BaseException) -> TracebackType | None:
    """The traceback from the first frame of the person's code on; the whole one where there is none.

    None for a syntax error that no code of the person raised: its message holds the line.
    """
    for frame in _frames(error.__traceback__):
        if not frame.tb_frame.f_code.co_filename.startswith(_NOT_THE_USERS):
            return frame
    return None if isinstance(error, SyntaxError) else error.__traceback__


def logged_error(error: BaseException) -> tuple[type[BaseException], BaseException, TracebackType | None]:
    """What the log prints of an error: for `exc_info`."""
    return type(error), error, from_user_code(error)


def _frames(traceback: TracebackType | None) -> Iterator[TracebackType]:
    while traceback is not None:
        yield traceback
        traceback = traceback.tb_next
