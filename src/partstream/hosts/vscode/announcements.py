"""The events that the sidecar announces to the extension on its own; may be announced on any thread."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from partstream.vscode.rpc import encode_notification

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop
    from collections.abc import Sequence

    from partstream.hosts.vscode.redaction import GroupSecrets
    from partstream.vscode import rpc_types as wire
    from partstream.vscode.rpc import Outbox, RequestId

__all__ = ["Announcements"]


class Announcements:
    """Sends the notifications. `group` is a group's id; None means the user's own providers.

    Args:
        loop: The event loop on which messages are queued: a provider may announce changes from a thread of its own.
        outbox: The queue.
        redactor: Removes secrets.
    """

    def __init__(self, loop: AbstractEventLoop, outbox: Outbox, redactor: GroupSecrets) -> None:
        self._loop = loop
        self._outbox = outbox
        self._redactor = redactor
        self._scheduled: set[bytes] = set()

    def models_did_change(self, group: str | None) -> None:
        """Sends `languageModels/didChange`."""
        params: wire.ModelsDidChangeParams = {"group": group}
        self._post_once("languageModels/didChange", params)

    def provider_did_load(self, params: wire.ProviderDidLoadParams) -> None:
        """Sends `languageModels/providerDidLoad`, without secrets: the message of an error may quote anything."""
        self._post("languageModels/providerDidLoad", self._redactor.redact_values(params))

    def token_counts_did_change(self, group: str | None, models: Sequence[str]) -> None:
        """Sends `languageModels/tokenCountsDidChange`, unless there are no models."""
        params: wire.TokenCountsDidChangeParams = {"group": group, "models": list(models)}
        if models:
            self._post_once("languageModels/tokenCountsDidChange", params)

    def waits(self, progress_token: RequestId, reason: str, seconds: float) -> None:
        """Sends a `$/progress` without parts: why the answer does not begin yet."""
        wait: wire.AnswerWait = {"reason": self._redactor.redact(reason), "seconds": seconds}
        params: wire.ProgressParams = {"token": progress_token, "value": {"parts": [], "wait": wait}}
        self._post("$/progress", params)

    def did_answer(self, params: wire.DidAnswerParams) -> None:
        """Sends `languageModels/didAnswer`."""
        self._post("languageModels/didAnswer", params)

    def did_record(self, params: wire.DidRecordParams) -> None:
        """Sends `languageModels/didRecord`."""
        self._post("languageModels/didRecord", params)

    def _post(self, method: str, params: Any) -> None:
        self._loop.call_soon_threadsafe(self._outbox.post, encode_notification(method, params))

    def _post_once(self, method: str, params: Any) -> None:
        """Sends a notification that says no more when it is sent twice: once in a turn of the event loop."""
        frame = encode_notification(method, params)
        if frame in self._scheduled:
            return
        self._scheduled.add(frame)
        self._loop.call_soon_threadsafe(self._post_scheduled, frame)

    def _post_scheduled(self, frame: bytes) -> None:
        self._scheduled.discard(frame)
        self._outbox.post(frame)
