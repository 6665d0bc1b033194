"""The progress that every host gives to a provider, and what a host reports of the provider's code.

The caller of a provider puts a :class:`CheckedProgress` between the provider and the host's own progress: only parts
that keep the contract pass. It logs nothing; violations go to a callback, with the line of the provider's code that
caused them. The functions before it find a person's own code in an error: the line that failed, and the frames from
there on. Every command and every host uses them for a bug of a provider, so that all name the same line.
:class:`AnswerExcerpt` keeps the beginning of a response, to count its tokens where its provider reports none.
"""

from __future__ import annotations
import sys
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterable, Iterator
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final, cast

from partstream.codec.checks import dataclass
from partstream.errors import AnswerTooLargeError, ContractViolationError, PartstreamError
from partstream.lm.contract import CheckMode, CodePlace, ContractChecker, Violation
from partstream.lm.messages import ChatMessage
from partstream.lm.outputs import Finish
from partstream.lm.parts import ResponsePart, TextPart, ThinkingPart
from partstream.lm.provider import Progress

if TYPE_CHECKING:
    from pathlib import Path
    from types import FrameType, TracebackType

    from partstream.upstream.forwarding import Passage

# ---- The person's own code ----

_NOT_THE_PROVIDERS: Final = sys.stdlib_module_names | {"partstream"}
_INSTALLED: Final = ("site-packages", "dist-packages")
_MOST_SAID: Final = 20_000
"""The most characters of an error's text that are passed on."""


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
    """The message of an error of a person's code, and its line.

    Args:
        error: The error, whose class may be any.
    """
    error = cause_of(error)
    if isinstance(error, SystemExit):
        message = "the file ends the process"
    elif isinstance(error, PartstreamError):  # a sentence for people
        message = said_by(error)
    elif isinstance(error, SyntaxError) and isinstance(error.msg, str):  # its text repeats the place
        message = f"{type(error).__name__}: {error.msg}"
    else:
        message = told(error)
    return Fault(message, failing_place(error, file))


def cause_of(error: BaseException) -> BaseException:
    """The error that is to be mended: of a group, as task groups and clients of MCP raise it, the first one in it; of a
    RuntimeError that Python raises in place of a StopIteration, that one; every other error itself."""
    while True:
        if isinstance(error, BaseExceptionGroup):
            error = next((one for one in error.exceptions if isinstance(one, Exception)), error.exceptions[0])
        elif isinstance(error, RuntimeError) and isinstance(error.__cause__, StopIteration | StopAsyncIteration):
            error = error.__cause__
        else:
            return error


def told(error: BaseException) -> str:
    """The class and the text of an error; of a group, those of the first one in it, and how many more there are."""
    cause = cause_of(error)
    said = said_by(cause)
    more = _errors_in(error) - 1
    others = f" (and {more} more {'error' if more == 1 else 'errors'})" if more else ""
    return f"{type(cause).__name__}{f': {said}' if said else ''}{others}"


def _errors_in(error: BaseException) -> int:
    return sum(map(_errors_in, error.exceptions)) if isinstance(error, BaseExceptionGroup) else 1


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

    Returns:
        The line, or None where no code of the person is involved.
    """
    error = cause_of(error)
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
    place, error = failing_place(error), cause_of(error)
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


def _frames(traceback: TracebackType | None) -> Iterator[TracebackType]:
    while traceback is not None:
        yield traceback
        traceback = traceback.tb_next


# ---- The checked progress ----


class CheckedProgress:
    """Takes the parts of one response from its provider, and hands those that keep the contract to `progress`.

    It is a :class:`~partstream.lm.provider.DrainingProgress`, a :class:`~partstream.lm.provider.FinishingProgress` and
    a :class:`~partstream.lm.provider.WaitingProgress`, and forwards these calls if `progress` is one too. The caller of
    the provider reports the end of the response with :meth:`complete`, :meth:`fail` or :meth:`cancel`.

    Args:
        progress: The host's own progress.
        tools: The names of the request's tools. With None, calls of unknown tools pass, and the consumer can answer
            them.
        mode: Lenient: a part that breaks a MUST is dropped. Strict: the provider gets a
            :class:`ContractViolationError`, and no further part passes.
        on_violation: Called with each violation, on the provider's own stack.

    Attributes:
        drain: Waits until the consumer has caught up; returns at once if it keeps up. It is the consumer's own, because
            providers wait after each part.
        said_finish: How the provider reported that its answer ended; None while it has not.
        passage: The way of the answer's own bytes, if `progress` has one.
        violation: The first broken MUST in strict mode. It is kept because a provider that catches every error must
            not hide it from the consumer.

    Example:
        >>> from partstream import CheckedProgress, ToolCallPart
        >>> class Collected(list):
        ...     report = list.append
        >>> parts, violations = Collected(), []
        >>> progress = CheckedProgress(parts, on_violation=violations.append)
        >>> for _ in range(2):
        ...     progress.report(ToolCallPart("call-1", "read_file", {}))
        >>> len(parts), violations[0].rule.id
        (1, 'tool-call.unique-call-id')
    """

    def __init__(
        self,
        progress: Progress,
        tools: Iterable[str] | None = None,
        mode: CheckMode = CheckMode.LENIENT,
        on_violation: Callable[[Violation], object] | None = None,
    ) -> None:
        self.said_finish: Finish | None = None
        self.violation: ContractViolationError | None = None
        self._reporting = _Reporting()
        self._checker = ContractChecker(tools, mode, on_violation, locate=self._reporting.place)
        self._check = self._checker.check
        self._report = progress.report
        self.passage: Passage | None = getattr(progress, "passage", None)
        self.drain: Callable[[], Coroutine[Any, Any, None]] = getattr(progress, "drain", _keep_up)
        self._finish: Callable[[Finish], object] | None = getattr(progress, "finish", None)
        self._wait: Callable[[str, float], object] | None = getattr(progress, "wait", None)
        self._ended = False

    def report(self, part: ResponsePart, /) -> None:
        """Passes a part to the host's progress, or drops it.

        Raises:
            ContractViolationError: The part breaks a MUST and the mode is strict.
            Exception: Any error that the host's own progress raises.
        """
        try:
            checked = self._check(part)
        except ContractViolationError as error:
            self.violation = self.violation or error
            raise
        if checked is not None and self.violation is None:
            self._report(checked)

    def wait(self, reason: str, seconds: float, /) -> None:
        """Takes the reason why the response does not begin yet."""
        if self._wait is not None and not self._ended:
            self._wait(reason, seconds)

    def finish(self, finish: Finish, /) -> None:
        """Takes the end of the answer; ignores it after the end of the response.

        Raises:
            TypeError: `finish` is not a `Finish`.
        """
        if not isinstance(finish, Finish):
            raise TypeError(f"finish: got a {type(finish).__name__}, expected a partstream.lm.outputs.Finish")
        if self._ended:
            return
        self.said_finish = finish
        if self._finish is not None:
            self._finish(finish)

    def follow(self, generator: AsyncGenerator[object, None]) -> None:
        """Names the generator that yields the parts. A generator is suspended while another function reports the parts
        that it yielded; its line is named if no code of the provider is on the stack."""
        self._reporting.generator = generator

    def cancel(self) -> None:
        """Records that the request was cancelled; no part passes from now on."""
        self._ended = True
        self._checker.cancel()

    def complete(self) -> None:
        """Records that the provider returned; reports the rules that this end breaks, and in strict mode keeps a
        broken MUST as `violation`."""
        self._ended = True
        try:
            self._checker.complete()
        except ContractViolationError as error:
            self.violation = self.violation or error

    def fail(self, error: BaseException) -> None:
        """Records that the provider raised `error`."""
        self._ended = True
        if error is self.violation:  # the error came back through the provider; it is not a second violation
            return
        try:
            self._checker.fail(error)
        except ContractViolationError as violation:
            self.violation = self.violation or violation


class _Reporting:
    """Where a provider reports: an object of its own, so that a progress and its checker refer to each other in one
    direction, and what they hold goes with the end of the answer."""

    generator: AsyncGenerator[object, None] | None = None

    def place(self) -> CodePlace | None:
        """The innermost line on the stack outside Partstream and the standard library, else that of the generator."""
        frame: FrameType | None = sys._getframe(1)  # noqa: SLF001 - builds no traceback of the whole stack
        while frame is not None:
            package = str(frame.f_globals.get("__name__", "")).partition(".")[0]
            if package == "asyncio":  # the event loop: the frames above belong to the code that runs the loop
                break
            if is_of_provider(frame):
                return CodePlace(frame.f_code.co_filename, frame.f_lineno)
            frame = frame.f_back
        return suspended_at(self.generator)


async def _keep_up() -> None:
    """Waits for a consumer that nothing is known of: not at all."""


def outermost_foreign_line(frame: FrameType) -> CodePlace | None:
    """The line of a provider that a thread is in, below the libraries that it called; None if there is none."""
    place: CodePlace | None = None
    at: FrameType | None = frame
    while at is not None:
        package = str(at.f_globals.get("__name__", "")).partition(".")[0]
        if package in ("partstream", "asyncio") and place is not None:  # what called the provider
            break
        if is_of_provider(at) and package != "__main__":
            place = CodePlace(at.f_code.co_filename, at.f_lineno)
        at = at.f_back
    return place


def suspended_at(generator: AsyncGenerator[object, None] | None) -> CodePlace | None:
    """The line at which a generator is suspended; None if it has ended."""
    frame = getattr(generator, "ag_frame", None)
    return None if frame is None else CodePlace(frame.f_code.co_filename, frame.f_lineno)


def defined_at(function: object) -> CodePlace | None:
    """The line at which a function or a method begins; None for one that is not written in Python."""
    code = getattr(function, "__code__", None)
    return None if code is None else CodePlace(code.co_filename, code.co_firstlineno)


# ---- The kept beginning ----

_KEPT: Final = 32_768
"""The characters of an answer that are kept for counting, to bound the memory; the rest is assumed to be like them."""


def thinking_text(part: ThinkingPart) -> str:
    """The text of a thinking part. A provider may report an array of strings, as in VS Code; they are joined."""
    value: object = part.value
    return value if isinstance(value, str) else "".join(cast("list[str]", value))


class AnswerExcerpt:
    """The parts of one response, as far as they are kept.

    Args:
        most: How many characters of text and thinking the response may have.
    """

    def __init__(self, most: int | None = None) -> None:
        self._most = most
        self._parts: list[ResponsePart] = []
        self._kept = self._left_out = 0

    def keep(self, part: ResponsePart) -> None:
        """Takes the next part.

        Raises:
            AnswerTooLargeError: The response has more characters than it may have.
        """
        if part.__class__ is TextPart:  # nearly all are
            length = len(part.value)
        elif isinstance(part, TextPart | ThinkingPart):
            length = len(part.value) if isinstance(part, TextPart) else len(thinking_text(part))
        else:
            self._parts.append(part)
            return
        if self._kept < _KEPT:
            self._parts.append(part)
            self._kept += length
            if length <= _KEPT:
                return
        else:
            self._left_out += length
        if self._most is not None and self._kept + self._left_out > self._most:
            raise AnswerTooLargeError("characters of one answer", self._most)

    def message(self) -> ChatMessage:
        """The response so far, as the message in the next request; of a long one only the beginning.

        Consecutive texts are joined: a token may span the border between two.
        """
        joined: list[ResponsePart] = []
        for kind, group in groupby(self._parts, type):
            if kind is TextPart:
                joined.append(TextPart("".join(part.value for part in group if isinstance(part, TextPart))))
            elif kind is ThinkingPart:
                thoughts = [part for part in group if isinstance(part, ThinkingPart)]
                joined += [part for part in thoughts if not part.value]  # they may carry reasoning that is hidden
                joined.append(ThinkingPart("".join(map(thinking_text, thoughts))))
            else:
                joined += group
        return ChatMessage.assistant(joined)

    @property
    def length(self) -> float:
        """The ratio of the whole answer's text length to that of :meth:`message`; 1 except for a long answer."""
        return (self._kept + self._left_out) / self._kept if self._kept else 1.0
