"""The progress that every host gives to a provider: only parts that keep the contract reach the host.

The caller of a provider puts a CheckedProgress between the provider and the host's own progress. It knows no host and
logs nothing; violations go to a callback, with the line of the provider's code that caused them.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from partstream.codec.checks import as_kind
from partstream.errors import ContractViolationError
from partstream.lm.contract import CheckMode, CodePlace, ContractChecker
from partstream.lm.outputs import Finish
from partstream.lm.provider import DrainingProgress, FinishingProgress, WaitingProgress
from partstream.user_code import is_of_provider

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Iterable
    from types import FrameType

    from partstream.lm.contract import Violation
    from partstream.lm.parts import ResponsePart
    from partstream.lm.provider import Progress

__all__ = ["CheckedProgress", "defined_at", "outermost_foreign_line", "suspended_at"]


class CheckedProgress:
    """Takes the parts of one response from its provider, and hands those that keep the contract to `progress`.

    It is a :class:`~partstream.lm.provider.DrainingProgress`, a :class:`~partstream.lm.provider.FinishingProgress` and a
    :class:`~partstream.lm.provider.WaitingProgress`, and forwards these calls if `progress` is one too. The caller of the
    provider reports the end of the response with :meth:`complete`, :meth:`fail` or :meth:`cancel`.

    Args:
        progress: The host's own progress.
        tools: The names of the request's tools. With None, calls of unknown tools pass, and the consumer can tell the
            model.
        mode: Lenient: a part that breaks a MUST is dropped. Strict: the provider gets a
            :class:`ContractViolationError`, and no further part passes.
        on_violation: Called with each violation, on the provider's own stack.

    Attributes:
        said_finish: How the provider reported that its answer ended; None while it has not.
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

    __slots__ = (
        "_check",
        "_checker",
        "_draining",
        "_ended",
        "_finishing",
        "_generator",
        "_report",
        "_waiting",
        "said_finish",
        "violation",
    )

    def __init__(
        self,
        progress: Progress,
        tools: Iterable[str] | None = None,
        mode: CheckMode = CheckMode.LENIENT,
        on_violation: Callable[[Violation], object] | None = None,
    ) -> None:
        self.said_finish: Finish | None = None
        self.violation: ContractViolationError | None = None
        self._checker = ContractChecker(tools, mode, on_violation, locate=self._locate)
        self._check = self._checker.check
        self._report = progress.report
        self._draining = as_kind(progress, DrainingProgress)
        self._finishing = as_kind(progress, FinishingProgress)
        self._waiting = as_kind(progress, WaitingProgress)
        self._generator: AsyncGenerator[object, None] | None = None
        self._ended = False

    def report(self, part: ResponsePart, /) -> None:
        """Hands a part to the host's progress, or drops it.

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

    async def drain(self) -> None:
        """Waits until the consumer has caught up; returns at once if it keeps up."""
        if self._draining is not None:
            await self._draining.drain()

    def wait(self, reason: str, seconds: float, /) -> None:
        """Tells the host why the answer does not begin yet."""
        if self._waiting is not None and not self._ended:
            self._waiting.wait(reason, seconds)

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
        if self._finishing is not None:
            self._finishing.finish(finish)

    def follow(self, generator: AsyncGenerator[object, None]) -> None:
        """Names the generator that yields the parts. A generator is suspended while another function reports the parts
        that it yielded; its line is blamed if no code of the provider is on the stack."""
        self._generator = generator

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

    def _locate(self) -> CodePlace | None:
        return _caller() or suspended_at(self._generator)


def _caller() -> CodePlace | None:
    """The innermost line on the stack outside Partstream and the standard library; None if there is none."""
    frame: FrameType | None = sys._getframe(1)  # noqa: SLF001 - builds no traceback of the whole stack
    while frame is not None:
        package = str(frame.f_globals.get("__name__", "")).partition(".")[0]
        if package == "asyncio":  # the event loop: the frames above belong to the code that runs the loop
            return None
        if is_of_provider(frame):
            return CodePlace(frame.f_code.co_filename, frame.f_lineno)
        frame = frame.f_back
    return None


def outermost_foreign_line(frame: FrameType) -> CodePlace | None:
    """The line of a provider that a thread is in, below the libraries that it called; None if there is none.

    Args:
        frame: The innermost frame of the thread.
    """
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
