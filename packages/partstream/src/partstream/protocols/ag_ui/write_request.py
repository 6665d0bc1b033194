"""Writes a request as `RunAgentInput`; `partstream.conversation.turns` has prepared it.

AG-UI has no fixed path: an agent is an address. So the base URL is the agent's own, and the model's id, which VS Code
shows, is in `forwardedProps`, unless the setting `agentPath` puts it into the path.

An agent has no other memory than the messages (docs/wires/ai-sdk.md#ag-ui-memory): its own calls and their results,
which VS Code does not know, come back as items (:mod:`partstream.protocols.ag_ui.provider_state`) and go to their place
in the step in which the model made the call. Where the items are lost, the messages hold what VS Code knows, which is a
conversation too. Every call is followed by its result.

Source: `RunAgentInput`, `ContentPart` and `PartSource` of ag-ui-protocol 1.0.
"""

from __future__ import annotations
from base64 import b64encode
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any, Final

from partstream.conversation.preparation import ChatRequest, ConversationRules, ToolImages
from partstream.conversation.turns import (
    FAILED_SILENTLY,
    Attachment,
    Call,
    CallIdRule,
    IdForm,
    MergedTurn,
    Reasoning,
    Result,
    ResultContent,
    Text,
    TurnRole,
    joined_texts,
    merged_turns,
    shown_by_user,
)
from partstream.lm.messages import Tool
from partstream.protocols.ag_ui import provider_state
from partstream.protocols.ag_ui.errors import ERRORS
from partstream.protocols.ag_ui.settings import AGUISettings, Thread, forwarded_options
from partstream.protocols.ag_ui.tool_calls import resume_entries
from partstream.protocols.options import call_arguments, with_extra_fields
from partstream.protocols.protocol import RequestWriterSpec
from partstream.protocols.read_response import identifier, mapping, objects
from partstream.protocols.schemas import PLAIN
from partstream.protocols.serve import MODEL, WireRequest, path_for_model

# ---- One answer of an agent as messages ----

NOT_RUN: Final = "The result of this call is not known. Call the tool again if it is needed."
"""The result of a call of the agent's own that has none in the conversation: servers refuse a call without a result."""


@dataclass(slots=True)
class _Step:
    """The response to one request of the agent to its model, and the results of its calls.

    Attributes:
        parent: The agent's id of the message, as far as a call names it.
        texts: Its texts, separated by other content.
    """

    parent: str | None = None
    thoughts: list[_Wire] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    calls: dict[str, _Wire] = field(default_factory=dict)
    results: dict[str, _Wire] = field(default_factory=dict)

    @property
    def is_begun(self) -> bool:
        return bool(self.texts or self.calls)


def _named(name: str) -> _Wire:
    return {"name": name} if name else {}


class Answer:
    """One answer of the conversation.

    Args:
        before: The answers before it: an agent may give the result of a call that it made before it asked a person.
        name: The name of who speaks; empty for none.

    Attributes:
        asked: What the run waits for at its end, or None.
    """

    def __init__(self, before: Sequence[Answer], name: str = "") -> None:
        self.asked: Mapping[str, Any] | None = None
        self._named = _named(name)
        self._before = before
        self._steps = [_Step()]
        self._of_calls: dict[str, Mapping[str, Any]] = {}  # items of calls that VS Code knows
        self._goes_on = False  # whether the next text continues the last one

    def add(self, piece: Text | Call | Reasoning) -> None:
        """Takes the next piece."""
        match piece:
            case Text():
                self._text(piece.value)
            case Call():
                self._goes_on = False
                said = self._of_calls.get(piece.call_id, {})
                wire = _function(piece.call_id, piece.name, call_arguments(piece).decode())
                if encrypted := identifier(said, provider_state.ENCRYPTED):
                    wire[provider_state.ENCRYPTED] = encrypted
                self._place_call(piece.call_id, wire, identifier(said, provider_state.PARENT))
            case Reasoning(item) if item.get("type") == provider_state.ITEM_TYPE:
                self._item(item)

    def give(self, call_id: str, result: _Wire) -> bool:
        """Gives a call its result; returns whether the call is one of this answer."""
        step = next((one for one in self._steps if call_id in one.calls), None)
        if step is not None:
            step.results[call_id] = result
        return step is not None

    def has_result(self, call_id: str) -> bool:
        """Whether a call of this answer has its result."""
        return any(call_id in one.results for one in self._steps)

    def waits_for(self, call_id: str) -> bool:
        """Whether a call of this answer still lacks its result."""
        return any(call_id in one.calls and call_id not in one.results for one in self._steps)

    def messages(self, waits: Collection[str | None]) -> list[_Wire]:
        """The messages.

        Args:
            waits: The calls that wait for a reply which the same request brings: they have no result yet.
        """
        said: list[_Wire] = []
        for step in self._steps:
            said += step.thoughts
            if step.is_begun:
                text = joined_texts(step.texts)
                content = {"content": text} if text or not step.calls else {}
                message: _Wire = {"role": "assistant"} | self._named | content
                said.append(message | ({"toolCalls": list(step.calls.values())} if step.calls else {}))
            for call_id in step.calls:
                result = step.results.get(call_id)
                if result is None and call_id not in waits:
                    result = {"content": NOT_RUN}
                if result is not None:
                    said.append({"role": "tool", "toolCallId": call_id, **result})
        return said

    def _text(self, value: str) -> None:
        if not value:  # the end of a turn
            self._goes_on = False
            return
        step = self._steps[-1]
        if step.calls and step.results:
            step = self._next()
            value = value.lstrip("\n")  # which parts it, for people, from what was said before the calls
        if self._goes_on and step.texts:
            step.texts[-1] += value
        else:
            step.texts.append(value)
        self._goes_on = True

    def _place_call(self, call_id: str, wire: _Wire, parent: str | None) -> None:
        """Puts a call into the step in which the model made it."""
        step = next((one for one in self._steps if parent is not None and one.parent == parent), None)
        if step is None:
            step = self._steps[-1]
            if step.results or (parent is not None and step.parent not in (None, parent)):
                step = self._next()
            step.parent = step.parent or parent
        step.calls[call_id] = wire

    def _next(self) -> _Step:
        self._steps.append(_Step())
        return self._steps[-1]

    def _item(self, item: Mapping[str, Any]) -> None:
        name = next((name for name in _ITEMS if name in item), None)
        if name is not None:
            _ITEMS[name](self, item)
        elif provider_state.INTERRUPTED in item:
            self.asked = mapping(item, provider_state.INTERRUPTED)
        elif provider_state.TOOL_CALL_ID in item:
            self._of_calls[str(item[provider_state.TOOL_CALL_ID])] = item

    def _carried_message(self, item: Mapping[str, Any]) -> None:
        message = mapping(item, provider_state.MESSAGE)
        if message.get("role") == "reasoning":
            step = self._steps[-1]
            # A thought between two calls of a batch goes before it: nothing separates a call from its result.
            if step.is_begun and not (step.calls and not step.results):
                step = self._next()
            step.thoughts.append(dict(message))
            return
        call_id = identifier(message, provider_state.TOOL_CALL_ID) or ""
        result = {name: value for name, value in message.items() if name not in {"role", provider_state.TOOL_CALL_ID}}
        if not self.give(call_id, result):
            any(one.give(call_id, result) for one in self._before)

    def _inner_call(self, item: Mapping[str, Any]) -> None:
        call = mapping(item, provider_state.CALL)
        call_id = identifier(call, "id")
        # A run that goes on after a question may say its call again: it is the one that waited for the answer.
        if call_id is not None and not any(one.waits_for(call_id) for one in self._before):
            wire = _function(call_id, str(call.get("name", "")), str(call.get("arguments", "{}")))
            if encrypted := identifier(call, provider_state.ENCRYPTED):
                wire[provider_state.ENCRYPTED] = encrypted
            self._place_call(call_id, wire, identifier(item, provider_state.PARENT))

    def _late_value(self, item: Mapping[str, Any]) -> None:
        entity, value = identifier(item, provider_state.ENTITY), identifier(item, provider_state.ENCRYPTED)
        for step in self._steps:
            for message in (*step.thoughts, *step.results.values()):
                if value is not None and message.get("id") == entity:
                    message[provider_state.ENCRYPTED] = value


_ITEMS: Final[dict[str, Callable[[Answer, Mapping[str, Any]], None]]] = {
    provider_state.MESSAGE: Answer._carried_message,  # noqa: SLF001 - the table of the class
    provider_state.CALL: Answer._inner_call,  # noqa: SLF001
    provider_state.ENTITY: Answer._late_value,  # noqa: SLF001
}
"""The field that tells an item's form, in the order in which they are looked for."""


def _function(call_id: str, name: str, arguments: str) -> _Wire:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


# ---- Content: a string, or parts with a source ----

_KINDS: Final[Mapping[str, str]] = {"image": "image", "audio": "audio", "video": "video"}
"""The type of a part by the first half of a media type; every other file is a document."""


def content_of(pieces: Sequence[ResultContent]) -> str | list[dict[str, Any]]:
    """The content of a message of the user: one text is a string, which agents of every version take."""
    if len(pieces) == 1 and isinstance(pieces[0], Text):
        return pieces[0].value
    return [_part(piece) for piece in pieces]


def result_content_of(pieces: Sequence[ResultContent]) -> str | list[dict[str, Any]]:
    """The content of a result: a string, unless files are in it."""
    if any(isinstance(piece, Attachment) for piece in pieces):
        return [_part(piece) for piece in pieces]
    return joined_texts(piece.value for piece in pieces if isinstance(piece, Text))


def _part(piece: ResultContent) -> dict[str, Any]:
    if isinstance(piece, Text):
        return {"type": "text", "text": piece.value}
    if piece.url:
        source = {"type": "url", "value": piece.url, "mimeType": piece.media_type}
    else:
        source = {"type": "data", "value": b64encode(piece.data).decode(), "mimeType": piece.media_type}
    return {"type": _KINDS.get(piece.media_type.partition("/")[0], "document"), "source": source}


# ---- The messages of a conversation ----

_Wire = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Conversation:
    """A conversation on the wire.

    Attributes:
        messages: The messages, each with an id.
        resume: The answers to the interrupts of the last run; empty where it has none.
        thread_id: The thread of that run; None where it waits for nothing, or names no thread.
    """

    messages: list[_Wire]
    resume: list[_Wire] = field(default_factory=list)
    thread_id: str | None = None


def conversation_of(request: ChatRequest) -> Conversation:
    """The messages of a conversation, and the person's reply if a run waits for one."""
    native = request.settings.tool_images is ToolImages.NATIVE
    turns = merged_turns(shown_by_user(request.turns, of_results=not native, of_assistant=True), by_name=True)
    writer = _Writer()
    if request.instructions:
        named = _named(request.instructions_name)
        writer.messages.append({"role": "system", **named, "content": request.instructions})
    for place, turn in enumerate(turns):
        writer.add(turn, is_last=place == len(turns) - 1)
    return writer.end()


class _Writer:
    """The conversation so far."""

    def __init__(self) -> None:
        self.messages: list[_Wire | Answer] = []
        self._answers: list[Answer] = []
        self._asked: Mapping[str, Any] | None = None  # what the run before waits for
        self._reply: tuple[int, Mapping[str, Any]] | None = None  # the place of a reply, and its interrupts
        self._resume: list[_Wire] = []
        self._thread_id: str | None = None

    def add(self, turn: MergedTurn, *, is_last: bool) -> None:
        _WRITERS[turn.role](self, turn, is_last)

    def end(self) -> Conversation:
        waits = {identifier(one, "toolCallId") for one in objects(self._asked, "interrupts")} if self._resume else set()
        said = (one.messages(waits) if isinstance(one, Answer) else [one] for one in self.messages)
        return Conversation(provider_state.with_ids([*chain.from_iterable(said)]), self._resume, self._thread_id)

    def _system(self, turn: MergedTurn, _is_last: bool) -> None:
        if text := "".join(piece.value for piece in turn.content if isinstance(piece, Text)):
            self.messages.append({"role": "system", **_named(turn.name), "content": text})

    def _user(self, turn: MergedTurn, is_last: bool) -> None:
        said = [piece for piece in turn.content if isinstance(piece, Text | Attachment)]
        if self._asked is not None and is_last:
            self._resume = resume_entries(self._asked, joined_texts(one.value for one in said if isinstance(one, Text)))
            self._thread_id = identifier(self._asked, "threadId")
            said = [one for one in said if isinstance(one, Attachment)]
        elif self._asked is not None:
            self._reply = len(self.messages), self._asked
            self._asked = None
        if said:
            self.messages.append({"role": "user", **_named(turn.name), "content": content_of(said)})

    def _assistant(self, turn: MergedTurn, _is_last: bool) -> None:
        answer = Answer(self._answers, turn.name)
        for piece in _joined(turn):
            answer.add(piece)
        for result in turn.results:
            answer.give(result.call_id, _result(result))
        self.messages.append(answer)
        self._answers.append(answer)
        # A reply whose outcome the agent has now, in the results of its calls, goes out of the messages.
        if self._reply is not None:
            place, asked = self._reply
            self._reply = None
            calls = [identifier(one, "toolCallId") for one in objects(asked, "interrupts")]
            if calls and all(call is not None and any(one.has_result(call) for one in self._answers) for call in calls):
                del self.messages[place]
        self._asked = answer.asked

    def _tool(self, turn: MergedTurn, _is_last: bool) -> None:
        """Writes results without a call: pairing leaves none."""
        self.messages += [{"role": "tool", "toolCallId": one.call_id, **_result(one)} for one in turn.results]


_WRITERS: Final = {
    TurnRole.SYSTEM: _Writer._system,  # noqa: SLF001 - the table of the class
    TurnRole.USER: _Writer._user,  # noqa: SLF001
    TurnRole.ASSISTANT: _Writer._assistant,  # noqa: SLF001
    TurnRole.TOOL: _Writer._tool,  # noqa: SLF001
}


def _joined(turn: MergedTurn) -> Iterable[Text | Call | Reasoning]:
    """The pieces of an answer; the texts of two turns are paragraphs, and an attachment has moved to the user."""
    for place, one in enumerate(turn.turns):
        for piece in one.content:
            if isinstance(piece, Text | Call | Reasoning):
                yield piece
        if place < len(turn.turns) - 1:
            yield Text("")


def _result(result: Result) -> _Wire:
    """The fields of a result; a tool that failed says so beside its content."""
    content = result_content_of(result.content)
    if not result.is_error:
        return {"content": content}
    said = content if isinstance(content, str) else ""
    return {"content": content or FAILED_SILENTLY, "error": said or FAILED_SILENTLY}


# ---- The request ----

PROTOCOL_VERSION: Final = "1.0"
FORWARDED: Final = "forwardedProps"
_THREAD: Final = "threadId"
_RUN: Final = "runId"


def build_request(request: ChatRequest) -> dict[str, Any]:
    """The JSON body that asks for a run.

    There is no field that forces a call: a request that demands one is sent like any other.

    Raises:
        RequestNotExpressibleError: Something holds what JSON has no form for.
    """
    settings = request.settings
    own = settings.own_settings(AGUISettings)
    conversation = conversation_of(request)
    seen = provider_state.digest_of(request.cache_key, conversation.messages, conversation.resume)
    keeps = own.thread is Thread.CONVERSATION
    forwarded = forwarded_options(request)
    if MODEL not in own.agent_path:
        forwarded = {"model": request.model_id, **forwarded}
    body: dict[str, Any] = {
        _THREAD: conversation.thread_id or f"thread_{_first_words(request) if keeps else seen}",
        _RUN: f"run_{seen}",
        "protocolVersion": PROTOCOL_VERSION,
        "state": {},
        "messages": conversation.messages,
        "tools": [_tool(tool) for tool in request.tools],
        "context": [],
        FORWARDED: forwarded,
    }
    if conversation.resume:
        body["resume"] = conversation.resume
    extra = dict(settings.extra_body)
    if isinstance(extra.get(FORWARDED), dict):
        extra[FORWARDED] = with_extra_fields(forwarded, extra[FORWARDED])
    return with_extra_fields(body, extra)


def _first_words(request: ChatRequest) -> str:
    """The key of a conversation: the host's id of it, else its beginning."""
    if request.cache_key is not None:
        return provider_state.digest_of(request.cache_key)
    return provider_state.digest_of([repr(turn.content) for turn in request.turns[:1]])


def _tool(tool: Tool) -> dict[str, Any]:
    return {"name": tool.name, "description": tool.description, "parameters": dict(tool.input_schema or {})}


def _write(request: ChatRequest) -> WireRequest:
    own = request.settings.own_settings(AGUISettings)
    return WireRequest(path_for_model(own.agent_path, request.model_id), build_request(request))


def _identify(request: WireRequest, identity: str) -> WireRequest:
    """Makes a run one of its own; the thread too, but that of a conversation, or of a run that goes on."""
    body = dict(request.body)
    if body[_THREAD] == body[_RUN].replace("run_", "thread_", 1):
        body[_THREAD] = f"thread_{identity}"
    return replace(request, body=body | {_RUN: f"run_{identity}"})


WRITE_REQUEST: Final = RequestWriterSpec(
    write=_write,
    path="",
    lists_models=False,
    conversation_rules=lambda _settings, _model_id: ConversationRules(CallIdRule(IdForm(256)), tool_schema=PLAIN.of),
    errors=ERRORS,
    identify=_identify,
)
