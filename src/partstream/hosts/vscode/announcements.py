"""Tells the extension what happens without having been asked for; may be called on any thread."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from partstream.rpc.connection import encode_notification

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop
    from collections.abc import Sequence

    from partstream.hosts.vscode import wire
    from partstream.rpc.outbox import Outbox

__all__ = ["Announcements"]


class Announcements:
    """A :class:`partstream.hosts.vscode.listening.HostListener` that writes notifications.

    Args:
        loop: Where messages are put into their queue: a provider may tell of changes from a thread of its own.
        outbox: Their queue.
    """

    def __init__(self, loop: AbstractEventLoop, outbox: Outbox) -> None:
        self._loop = loop
        self._outbox = outbox

    def models_did_change(self, group: str | None) -> None:
        """`languageModels/didChange`."""
        params: wire.ModelsDidChangeParams = {"group": group}
        self._post("languageModels/didChange", params)

    def token_counts_did_change(self, group: str | None, models: Sequence[str]) -> None:
        """`languageModels/tokenCountsDidChange`; nothing where it concerns no model."""
        params: wire.TokenCountsDidChangeParams = {"group": group, "models": list(models)}
        if models:
            self._post("languageModels/tokenCountsDidChange", params)

    def did_answer(self, params: wire.DidAnswerParams) -> None:
        """`languageModels/didAnswer`."""
        self._post("languageModels/didAnswer", params)

    def _post(self, method: str, params: Any) -> None:
        self._loop.call_soon_threadsafe(self._outbox.post, encode_notification(method, params))
