"""The question of a host as a value, for whichever models are asked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from partstream.lm.cancellation import CancellationToken
    from partstream.lm.messages import ChatMessage, RequestOptions
    from partstream.upstreams.answer_progress import ForwardingProgress

__all__ = ["ModelCall"]


@dataclass(frozen=True, slots=True)
class ModelCall:
    """A conversation whose next message is asked for.

    Attributes:
        shown_model_id: The model as the host names it.
        messages: The conversation.
        options: What goes with it.
        progress: Where the answer is reported.
        token: Cancelled when nobody waits for the answer any more.
    """

    shown_model_id: str
    messages: Sequence[ChatMessage]
    options: RequestOptions
    progress: ForwardingProgress
    token: CancellationToken

    @property
    def may_be_asked_again(self) -> bool:
        """Whether another attempt may follow: nothing was reported, and the caller still waits."""
        return not self.progress.has_begun and not self.token.is_cancellation_requested
