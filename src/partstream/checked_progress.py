"""The progress that a provider gets wherever it is hosted: only parts that keep the contract pass on to the host.

Whoever calls a provider puts this between the provider and the host's own progress. It knows no host and logs nothing;
what it finds goes to a callback, with the line of the provider's code that did it.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from partstream.contract.checker import CheckMode, CodePlace, ContractChecker
from partstream.errors import ContractViolationError
from partstream.outputs import Finish
from partstream.provider import DrainingProgress, FinishingProgress

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Iterable
    from types import FrameType

    from partstream.contract.checker import Violation
    from partstream.parts import ResponsePart
    from partstream.provider import Progress

__all__ = ["CheckedProgress"]


class CheckedProgress:
    """Takes the parts of one response from its provider, and hands on to `progress` those that keep the contract.

    It is a :class:`~partstream.provider.DrainingProgress` and a :class:`~partstream.provider.FinishingProgress`; what
    `progress` is of these gets the calls as well. The caller of the provider says how the response ends: with
    :meth:`complete`, :meth:`fail` or :meth:`cancel`.

    Args:
        progress: The host's own progress.
        tools: The names of the request's tools; None leaves it to the consumer to tell the model of unknown tools.
        mode: Lenient: a part that breaks a MUST is dropped. Strict: :class:`ContractViolationError` is raised to the
            provider, and no further part passes.
        on_violation: Called with each violation, on the provider's own stack.

    Attributes:
        said_finish: How the provider said that its answer ended; None while it did not.
        violation: The first broken MUST of strict mode. It is kept because a provider that catches everything must not
            hide it from the consumer.
    """

    __slots__ = (
        "_check",
        "_checker",
        "_draining",
        "_ended",
        "_finishing",
        "_generator",
        "_report",
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
        self._draining = progress if isinstance(progress, DrainingProgress) else None
        self._finishing = progress if isinstance(progress, FinishingProgress) else None
        self._generator: AsyncGenerator[object, None] | None = None
        self._ended = False

    def report(self, part: ResponsePart, /) -> None:
        """Hands on one part, or drops it.

        Raises:
            ContractViolationError: The part breaks a MUST and the mode is strict.
            Exception: Whatever the host's own progress raises.
        """
        try:
            checked = self._check(part)
        except ContractViolationError as error:
            self.violation = self.violation or error
            raise
        if checked is not None and self.violation is None:
            self._report(checked)

    async def drain(self) -> None:
        """Returns at once while the consumer keeps up; otherwise when it has caught up."""
        if self._draining is not None:
            await self._draining.drain()

    def finish(self, finish: Finish, /) -> None:
        """Takes how the answer ended; drops it after the end of the response.

        Raises:
            TypeError: `finish` is not a `Finish`.
        """
        if not isinstance(finish, Finish):
            raise TypeError(f"finish: got a {type(finish).__name__}, expected a partstream.outputs.Finish")
        if self._ended:
            return
        self.said_finish = finish
        if self._finishing is not None:
            self._finishing.finish(finish)

    def follow(self, generator: AsyncGenerator[object, None]) -> None:
        """Says that the parts come from a generator, whose line is blamed where no code of the provider's is running:
        a generator is suspended while somebody else reports what it has yielded."""
        self._generator = generator

    def cancel(self) -> None:
        """Says that the request was cancelled; no part passes from now on."""
        self._ended = True
        self._checker.cancel()

    def complete(self) -> None:
        """Says that the provider returned; what the end breaks is reported, and in strict mode kept as `violation`."""
        self._ended = True
        try:
            self._checker.complete()
        except ContractViolationError as error:
            self.violation = self.violation or error

    def fail(self, error: BaseException) -> None:
        """Says that the provider raised `error`."""
        self._ended = True
        if error is self.violation:  # it came back through the provider and is no second violation
            return
        try:
            self._checker.fail(error)
        except ContractViolationError as violation:
            self.violation = self.violation or violation

    def _locate(self) -> CodePlace | None:
        return _caller() or _suspended(self._generator)


def _caller() -> CodePlace | None:
    """The innermost line on the stack that is neither ours nor the standard library's; None where there is none."""
    frame: FrameType | None = sys._getframe(1)  # noqa: SLF001 - builds no traceback of the whole stack
    while frame is not None:
        package = str(frame.f_globals.get("__name__", "")).partition(".")[0]
        if package == "asyncio":  # the event loop: what is above belongs to whoever runs the loop
            return None
        if package not in _NOT_THE_PROVIDERS:
            return CodePlace(frame.f_code.co_filename, frame.f_lineno)
        frame = frame.f_back
    return None


def _suspended(generator: AsyncGenerator[object, None] | None) -> CodePlace | None:
    """The line at which a generator has stopped; None where it has ended."""
    frame = getattr(generator, "ag_frame", None)
    return None if frame is None else CodePlace(frame.f_code.co_filename, frame.f_lineno)


_NOT_THE_PROVIDERS = sys.stdlib_module_names | {"partstream"}
