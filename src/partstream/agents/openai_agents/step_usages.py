"""The tokens of each request to a model in one run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from partstream.agents.adapter import StepUsage

if TYPE_CHECKING:
    from collections.abc import Sequence

    from partstream.usage import Usage

__all__ = ["StepUsages"]


class StepUsages:
    """Collects what the raw events say of tokens, and adds what they do not say.

    Those of a request are given when the next one begins, or at the end: requests of agents below the asked one, which
    no event says, come before the last of the asked one, because a host compacts the conversation by the last.
    """

    def __init__(self) -> None:
        self._said: list[Usage] = []
        self._waiting: Usage | None = None

    def say(self, usage: Usage | None) -> None:
        """Takes the tokens of the response that has just ended; None where its model told none."""
        self._waiting = usage
        if usage is not None:
            self._said.append(usage)

    def begin(self) -> list[StepUsage]:
        """The tokens of the response before the one that begins."""
        waiting, self._waiting = self._waiting, None
        return [] if waiting is None else [StepUsage(waiting)]

    def end(self, reported: Sequence[Usage]) -> list[StepUsage]:
        """The tokens that are left.

        Args:
            reported: Those of all requests of the run, as the SDK has counted them.
        """
        said = [(one.input_tokens, one.output_tokens) for one in self._said]
        missing: list[StepUsage] = []
        for usage in reported:
            key = (usage.input_tokens, usage.output_tokens)
            if key in said:
                said.remove(key)
            else:
                missing.append(StepUsage(usage))
        return [*missing, *self.begin()]
