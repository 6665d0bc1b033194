"""Finds a person's own code in an error: the line that failed, what went wrong there, and the frames from there on.

Every command and every host names a bug of a provider by this module, so that all name the same line.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from partstream.errors import PartstreamError
from partstream.lm.contract import CodePlace

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from types import FrameType, TracebackType

__all__ = [
    "Fault",
    "failing_place",
    "fault_of",
    "from_user_code",
    "is_of_provider",
    "logged_error",
    "placed",
    "said_by",
]

_NOT_THE_PROVIDERS: Final = sys.stdlib_module_names | {"partstream"}
_INSTALLED: Final = ("site-packages", "dist-packages")
_MOST_SAID: Final = 20_000
"""The most characters of an error's text that are handed on."""


@dataclass(frozen=True, slots=True)
class Fault:
    """What went wrong in a person's own code; its string form is `file, line 3: KeyError: 'seed'`.

    Attributes:
        message: The error's type and text, without its place; an error of Partstream's own needs no type.
        place: The line that failed; None where no code of the person is involved.
    """

    message: str
    place: CodePlace | None

    def __str__(self) -> str:
        return self.message if self.place is None else f"{self.place.file}, line {self.place.line}: {self.message}"


def fault_of(error: BaseException, file: Path | None = None) -> Fault:
    """What an error of a person's code says, and its line.

    Args:
        error: The error, whose class may be any.
        file: The file that was run, if it is known.
    """
    return Fault(_message_of(error), failing_place(error, file))


def said_by(error: BaseException) -> str:
    """The text of an error, shortened; says so if the error fails to give one."""
    try:
        text = str(error)
    except BaseException as failure:
        return f"(no text: its __str__ raised {type(failure).__name__})"
    return text if len(text) <= _MOST_SAID else f"{text[:_MOST_SAID]}... ({len(text):,} characters)"


def failing_place(error: BaseException, file: Path | None = None) -> CodePlace | None:
    """The line that failed: in `file` if the error passed through it, else the innermost one of the person's code.

    The person's code is what is neither Partstream nor the standard library; where there is any outside installed
    packages, these are left out too.

    Args:
        error: The error.
        file: The provider's own file, if it has one.

    Returns:
        The line, or None where no code of the person is involved.
    """
    if isinstance(error, SyntaxError) and isinstance(error.filename, str) and isinstance(error.lineno, int):
        return CodePlace(error.filename, error.lineno)
    places = [
        CodePlace(frame.tb_frame.f_code.co_filename, frame.tb_lineno)
        for frame in _frames(error.__traceback__)
        if is_of_provider(frame.tb_frame)
    ]
    own = [place for place in places if file is not None and place.file == str(file)]
    persons = [place for place in places if not any(name in place.file for name in _INSTALLED)]
    return next(reversed(own or persons or places), None)


def placed(error: BaseException) -> str:
    """An error as Python writes it, with the line of the person's code, unless its text says the line already."""
    place = failing_place(error)
    return repr(error) if place is None or str(place) in said_by(error) else f"{error!r} ({place})"


def from_user_code(error: BaseException) -> TracebackType | None:
    """The traceback from the first frame of the person's code on; the whole one where there is none.

    None for a syntax error that no code of the person raised: its message holds the line.
    """
    for frame in _frames(error.__traceback__):
        if is_of_provider(frame.tb_frame):
            return frame
    return None if isinstance(error, SyntaxError) else error.__traceback__


def logged_error(error: BaseException) -> tuple[type[BaseException], BaseException, TracebackType | None]:
    """What the log prints of an error: for `exc_info`."""
    return type(error), error, from_user_code(error)


def is_of_provider(frame: FrameType) -> bool:
    """Whether a frame runs code that is neither Partstream nor the standard library."""
    return str(frame.f_globals.get("__name__", "")).partition(".")[0] not in _NOT_THE_PROVIDERS


def _message_of(error: BaseException) -> str:
    if isinstance(error, SystemExit):
        return "the file ends the process"
    if isinstance(error, PartstreamError):  # a sentence for people
        return said_by(error)
    # The text of a syntax error repeats the place.
    said = error.msg if isinstance(error, SyntaxError) and isinstance(error.msg, str) else said_by(error)
    return f"{type(error).__name__}: {said}" if said else type(error).__name__


def _frames(traceback: TracebackType | None) -> Iterator[TracebackType]:
    while traceback is not None:
        yield traceback
        traceback = traceback.tb_next
