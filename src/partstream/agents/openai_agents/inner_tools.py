"""The calls of the agent's own tools, and of tools that the model's provider runs, as the SDK's run items say them."""

from __future__ import annotations

import base64
import binascii
from typing import TYPE_CHECKING, Any, Final

from partstream.agents.adapter import AgentFile
from partstream.conversation.media import sniff
from partstream.inner_activity import InnerCall, InnerResult
from partstream.outputs import Unmapped
from partstream.protocols.read_response import read_arguments

if TYPE_CHECKING:
    from collections.abc import Collection

    from partstream.agents.adapter import AgentOutput

__all__ = ["InnerTools", "arguments_of", "call_id_of", "field_of", "name_of"]

_ARGUMENT_FIELDS: Final = ("arguments", "input", "action", "operation", "queries", "code")
"""Where the items of hosted tools hold what the tool is asked, the first that there is: OpenAI's reference,
`ResponseOutputItem`."""
_OUTPUT_FIELDS: Final = ("output", "error")
_CALL: Final = "_call"
_PICTURE: Final = "image_generation_call"


def field_of(item: Any, name: str) -> Any:
    """A field of an item of the SDK, which is an object of the client or a dict; None where it has none."""
    return item.get(name) if isinstance(item, dict) else getattr(item, name, None)


def call_id_of(item: Any) -> str:
    """The id of a call; items of hosted tools have none but their own."""
    return str(field_of(item, "call_id") or field_of(item, "id") or "")


def name_of(item: Any) -> str:
    """The name of the tool that an item calls; of a hosted tool its kind, such as `web_search`."""
    return str(field_of(item, "name") or str(field_of(item, "type") or "tool").removesuffix(_CALL))


def arguments_of(item: Any) -> object:
    """The arguments of a call: an object where they are one, or else as they came."""
    for name in _ARGUMENT_FIELDS:
        value = field_of(item, name)
        if value is not None:
            dump = getattr(value, "model_dump", None)
            value = dump(mode="json", exclude_none=True) if callable(dump) else value
            read = read_arguments(value)
            return value if read is None else read
    return {}


class InnerTools:
    """Which tools the agent has called and what came back.

    Args:
        external: The names of the host's tools: their calls are not the agent's own.
        asking: The names of tools that may want to be allowed: nobody knows that they run until they have.
    """

    def __init__(self, external: Collection[str], asking: Collection[str]) -> None:
        self._external = external
        self._asking = asking
        self._calls: dict[str, InnerCall] = {}
        self._waiting: set[str] = set()
        self._external_ids: set[str] = set()
        self._order: dict[str, int] = {}

    def called(self, item: Any, step: int) -> list[AgentOutput]:
        """A tool was called. A call of the host's is left out: it comes as an interruption of the run."""
        raw = field_of(item, "raw_item")
        call = InnerCall(call_id_of(raw), name_of(raw), arguments_of(raw), step)
        self._order.setdefault(call.call_id, len(self._order))
        if call.name in self._external:
            self._external_ids.add(call.call_id)
            return []
        if call.call_id in self._calls:
            return []
        self._calls[call.call_id] = call
        if call.name in self._asking:
            self._waiting.add(call.call_id)
            return []
        return [call, *_hosted_result(raw, call)]

    def answered(self, item: Any, step: int) -> list[AgentOutput]:
        """A tool has returned; what the host returned stands in the conversation already."""
        raw = field_of(item, "raw_item")
        call_id = call_id_of(raw)
        if call_id in self._external_ids:
            return []
        call = self._calls.get(call_id)
        outputs: list[AgentOutput] = []
        if call is not None and call_id in self._waiting:
            self._waiting.remove(call_id)
            outputs.append(call)
        name = "tool" if call is None else call.name
        is_error = field_of(raw, "status") in {"failed", "incomplete"}
        return [*outputs, InnerResult(call_id, name, field_of(item, "output"), is_error, call.step if call else step)]

    def expect(self, call_id: str, name: str, arguments: object) -> None:
        """Notes a call of an earlier run, which this one goes on with: its result is still to come."""
        if name in self._external:
            self._external_ids.add(call_id)
        else:
            self._calls[call_id] = InnerCall(call_id, name, arguments, 1)
            self._waiting.add(call_id)

    def place(self, call_id: str) -> int:
        """Where the model said a call, among the calls of the run; behind them for one that it did not say."""
        return self._order.get(call_id, len(self._order))


def _hosted_result(raw: Any, call: InnerCall) -> list[AgentOutput]:
    """The result of a tool that the model's provider has run: its item holds both."""
    if field_of(raw, "type") == "function_call":
        return []
    if field_of(raw, "type") == _PICTURE:
        return _picture(field_of(raw, "result"))
    for name in _OUTPUT_FIELDS:
        value = field_of(raw, name)
        if value is not None:
            return [InnerResult(call.call_id, call.name, value, name == "error", call.step)]
    return []


def _picture(result: Any) -> list[AgentOutput]:
    """The image that a server has made, in base64 (OpenAI's reference, `ImageGenerationCall`)."""
    if not isinstance(result, str):
        return []
    try:
        data = base64.b64decode(result, validate=True)
    except binascii.Error:
        return [Unmapped(_PICTURE, {"type": _PICTURE})]
    return [AgentFile(data, sniff(data) or "application/octet-stream")]
