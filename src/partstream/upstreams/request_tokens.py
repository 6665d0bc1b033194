"""The tokens of one request: the estimate of them, and what its answer or refusal teaches."""

from __future__ import annotations

import asyncio
import logging
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from partstream.codec.checks import unusable_counts
from partstream.errors import ContextLengthExceededError
from partstream.lm.parts import usage_part
from partstream.upstreams.costs import cost_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Sequence

    from partstream.errors import UpstreamError
    from partstream.lm.messages import ChatMessage, RequestOptions
    from partstream.lm.outputs import Finish
    from partstream.lm.parts import DataPart, Usage
    from partstream.lm.provider import LanguageModelChatInformation
    from partstream.protocols.errors import Overflow
    from partstream.tokens import TokenCount
    from partstream.tokens.accounting import RequestEstimate, TokenAccounting
    from partstream.upstream.model_facts import Pricing

__all__ = ["NEARLY_FULL", "RequestTokens"]

NEARLY_FULL: Final = 0.9
"""The part of the input limit from which on a request is named in the log. It is sent all the same: an estimate can be
wrong, and the upstream knows."""

_logger = logging.getLogger("partstream.upstreams")


class RequestTokens:
    """The known tokens of one request.

    Whoever sends it makes the estimate with :meth:`estimate`, or beside the request with :meth:`estimated_beside`, so
    that no answer waits for the ledger's file. Otherwise it is made when it is first needed.

    Args:
        accounting: What counts and learns.
        model: The model that is asked, with its limit as it is known now.
        messages: The conversation.
        options: Holds the tools, and the host's name of the conversation.
        pricing: What the model costs, or None.
        on_limit_change: Called when the limit of the model is another one from now on.
    """

    def __init__(
        self,
        accounting: TokenAccounting,
        model: LanguageModelChatInformation,
        messages: Sequence[ChatMessage],
        options: RequestOptions,
        pricing: Pricing | None = None,
        on_limit_change: Callable[[], None] = lambda: None,
    ) -> None:
        self._accounting = accounting
        self._model = model
        self._pricing = pricing
        self._on_limit_change = on_limit_change
        self._messages = messages
        self._tools = options.tools
        self._estimate: RequestEstimate | None = None
        self._estimating: asyncio.Task[None] | None = None
        conversation = options.model_options.get("_conversationId")
        self._conversation = conversation if isinstance(conversation, str) and conversation else None

    async def estimate(self) -> None:
        """Estimates the tokens; other answers go on while the ledger's file is read."""
        self._estimate = await self._accounting.read_and_estimate(self._model, self._messages, self._tools)

    @asynccontextmanager
    async def estimated_beside(self) -> AsyncIterator[None]:
        """Estimates the tokens beside the block, unless they are estimated: a request need not wait for the number."""
        if self._estimate is not None:
            yield
            return
        estimating = self._estimating = asyncio.create_task(self._estimate_and_log())
        try:
            yield
        finally:
            estimating.cancel()
            if estimating.done() and not estimating.cancelled():
                estimating.exception()  # raised by `settled`, unless the request failed before that

    async def settled(self) -> None:
        """Waits for the estimate that is made beside the request."""
        if self._estimating is not None:
            await self._estimating

    async def _estimate_and_log(self) -> None:
        await self.estimate()
        self.log_expected()

    @property
    def _made(self) -> RequestEstimate:
        if self._estimate is None:
            self._estimate = self._accounting.estimate_request(self._model, self._messages, self._tools)
        return self._estimate

    @property
    def expected(self) -> int:
        """The tokens that the request is expected to have."""
        return self._made.total.tokens

    @property
    def is_nearly_full(self) -> bool:
        """Whether the expected tokens come near the model's limit, or exceed it."""
        return self._made.total.tokens >= NEARLY_FULL * self._model.max_input_tokens

    def log_expected(self) -> None:
        """Logs the expected tokens; as a warning if they come near the model's limit or exceed it."""
        total, limit = self._made.total, self._model.max_input_tokens
        if self.is_nearly_full:
            _logger.warning(
                "the request to %s has %s tokens (%s), of %s that it takes; sent all the same",
                self._model.id,
                f"{total.tokens:,}",
                total.source,
                f"{limit:,}",
            )
        elif _logger.isEnabledFor(logging.INFO):
            factor = self._accounting.factor(self._model.family)
            _logger.info(
                "the request to %s has %d tokens (%s, factor %.3f)", self._model.id, total.tokens, total.source, factor
            )

    def counted(self, count: TokenCount | None) -> None:
        """Replaces the estimate by the upstream's own count; None changes nothing."""
        if count is not None:
            self._estimate = replace(self._made, total=count)

    def answered(self, finish: Finish) -> DataPart | None:
        """Learns from the end of an answer, and makes the usage part for the host; None without a reported usage."""
        cost = cost_of(finish, self._pricing)
        if finish.usage is not None and (unusable := unusable_counts(finish.usage.raw)):
            shown = ", ".join(unusable)
            _logger.warning(
                "%s reports numbers of tokens that cannot be, they count as unknown: %s", self._model.id, shown
            )
        if finish.edits:
            _logger.info("%s took out of the conversation by itself: %s", self._model.id, "; ".join(finish.edits))
        if finish.error is None and finish.usage is not None:
            used = finish.usage
            self._check_limit((used.input_tokens if used.context_tokens is None else used.context_tokens) or 0)
        before = self._accounting.factor(self._model.family)
        self._accounting.answered(self._made, finish.usage, conversation=self._conversation, cost=cost)
        self._say_how_good(finish.usage, before)
        return None if finish.usage is None else usage_part(finish.usage, cost, finish.edits)

    def _say_how_good(self, usage: Usage | None, factor: float) -> None:
        """Logs the reported beside the expected tokens, and what that taught."""
        if usage is None or usage.input_tokens is None:
            _logger.info("%s reported no tokens of the request", self._model.id)
            return
        total = self._made.total
        _logger.info(
            "%s took %d tokens where %d were expected (%s), and gave %s; factor %.3f, before %.3f",
            self._model.id,
            usage.input_tokens,
            total.tokens,
            total.source,
            "no number" if usage.output_tokens is None else usage.output_tokens,
            self._accounting.factor(self._model.family),
            factor,
        )

    def _check_limit(self, input_tokens: int) -> None:
        """Lifts the limit of a model that took more: its local server was loaded with a larger context.

        The model is advertised with the limit that was learned, here or by another process. So an input below what is
        advertised lifts none but one that was learned here meanwhile, and the file of the ledger is not read for it:
        all other answers would wait for that.
        """
        may_be_lower = input_tokens > self._model.max_input_tokens or self._accounting.has_learned_limit(self._model)
        if may_be_lower and self._accounting.took(self._model, input_tokens):
            _logger.info("%s took %s tokens, more than it was said to take", self._model.id, f"{input_tokens:,}")
            self._on_limit_change()

    def refused(self, error: UpstreamError, overflow: Overflow) -> ContextLengthExceededError:
        """Learns from the refusal of a too long input, and makes its error.

        Args:
            error: The refusal.
            overflow: The numbers that it names.
        """
        limit = overflow.limit or self._limit_without_a_number(overflow)
        self._accounting.overflowed(self._made, limit=limit, actual=overflow.count)
        self._on_limit_change()
        return ContextLengthExceededError(
            self._model.name,
            limit=overflow.limit,
            count=overflow.count,
            http_status=error.http_status,
            provider_code=error.provider_code,
        )

    def _limit_without_a_number(self, overflow: Overflow) -> int | None:
        """A limit below the sent tokens, so that the next request is shorter; at least half of the known limit.

        None where the bytes of a request were too many: that says nothing of tokens.
        """
        if not overflow.speaks_of_tokens:
            return None
        known = self._model.max_input_tokens
        return max(known // 2, min(known, int(self._made.total.tokens * NEARLY_FULL)))
