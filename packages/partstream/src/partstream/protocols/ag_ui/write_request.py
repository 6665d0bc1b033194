"""Writes a request as `RunAgentInput`; `partstream.conversation.turns` has prepared it.

AG-UI has no fixed path: an agent is an address. So the base URL is the agent's own, and the model's id, which VS Code
shows, is in `forwardedProps`, unless the setting `agentPath` puts it into the path.

An agent has no other memory than the messages (docs/wires/ai-sdk.md#ag-ui-memory): its own calls and their results,
which VS Code does not know, come back as items (:mod:`partstream.protocols.ag_ui.tool_calls`) and go to their place
in the step in which the model made the call. Where the items are lost, the messages hold what VS Code knows, which is a
conversation too. Every call is followed by its result.

Source: `RunAgentInput`, `ContentPart` and `PartSource` of ag-ui-protocol 1.0.
"""

from __future__ import annotations
import re
from base64 import b64encode
from collections.abc import Collection, Mapping, Sequence
from hashlib import blake2b
from itertools import chain
from typing import Any, Final

from partstream.codec.checks import dataclass, field, replace
from partstream.conversation.preparation import ChatRequest, ConversationRules, RequestSettings, ToolImages
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
    canonical_json,
    joined_texts,
    merged_turns,
    shown_by_user,
)
from partstream.protocols.ag_ui import tool_calls
from partstream.protocols.ag_ui.read_response import ERRORS
from partstream.protocols.options import text_of_arguments, with_extra_fields
from partstream.protocols.protocol import OwnSettings, RequestWriter
from partstream.protocols.read_response import identifier, mapping, objects
from partstream.protocols.schemas import PLAIN
from partstream.protocols.serve import MODEL, WireRequest, path_for_model
from partstream.settings.kinds import Choice, choice, text_of
from partstream.settings.row import Setting

# ---- Settings ----

_PATH: Final = re.compile(r"(?:/(?:[\w.~!$&'()*+,;=:@%-]|\{model\})*)*", re.ASCII)


class Thread(Choice):
    """What the agent takes for one conversation."""

    REQUEST = "request", "Each request, which holds the whole conversation; an interrupted run continues in its own"
    CONVERSATION = "conversation", "The conversation, for agents that keep it themselves, such as those of Google's ADK"


@dataclass(frozen=True, slots=True)
class AGUISettings:
    """The request settings of AG-UI alone.

    Attributes:
        agent_path: Where the agent is below the base URL; `{model}` is the model's id. Empty where the base URL
            is the agent's own.
        thread: What the agent takes for one conversation.
    """

    agent_path: str = ""
    thread: Thread = Thread.REQUEST


OWN_SETTINGS: Final = OwnSettings(
    AGUISettings,
    (
        Setting(
            "agentPath",
            text_of(_PATH.fullmatch, "a path such as `/agents/{model}`, or nothing"),
            "The agent's path below the base URL, such as `/agents/{model}`; `{model}` is replaced by the model's id",
            otherwise="the base URL is the agent's own, and `forwardedProps` names the model",
        ),
        Setting(
            "thread",
            choice(Thread),
            "What the agent treats as one conversation: each request holds all of it, so the agent need not keep any",
            "request",
        ),
    ),
    request_fields=frozenset({"threadId", "runId", "messages", "tools", "resume"}),
)

# ---- Options of a request as `forwardedProps` ----
# It holds the values that an application passes to its agent untouched. Agents take what they know of it and leave the
# rest; a model of `partstream serve` takes all of it.

EFFORT: Final = "reasoningEffort"
MOST: Final = "maxOutputTokens"
_EFFORT_NAMES: Final = (EFFORT, "reasoning_effort")
_NAMES: Final = dict.fromkeys(("maxTokens", "max_tokens", "max_completion_tokens", "max_output_tokens"), MOST)
"""The most tokens of an answer in the words of other protocols."""
NOT_OPTIONS: Final = frozenset(
    {"model", "messages", "stream", "tools", "tool_choice", "stream_options", "store", "parallel_tool_calls"}
    | {"prompt", "input", "instructions", "previous_response_id"}
)
"""Options that would replace the request itself, and fields of other wires that mean nothing here."""


def chosen_options(given: Mapping[str, Any]) -> dict[str, Any]:
    """The options that are passed on, with the reasoning effort under its one name."""
    passed = {name: value for name, value in given.items() if name not in NOT_OPTIONS and not name.startswith("_")}
    kept = {_NAMES.get(name, name): value for name, value in passed.items()}
    effort = next((kept.pop(name) for name in _EFFORT_NAMES if isinstance(kept.get(name), str)), None)
    kept = {name: value for name, value in kept.items() if name not in _EFFORT_NAMES}
    return kept | ({EFFORT: effort} if effort else {})


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
                wire = _function(piece.call_id, piece.name, text_of_arguments(piece), said)
                self._place_call(piece.call_id, wire, identifier(said, tool_calls.PARENT))
            case Reasoning(item) if item.get("type") == tool_calls.ITEM_TYPE:
                self._item(item)

    def give(self, call_id: str, result: _Wire) -> bool:
        """Gives a call its result; returns whether the call is one of this answer."""
        step = next((one for one in self._steps if call_id in one.calls), None)
        if step is not None:
            step.results[call_id] = result
        return step is not None

    def has_call(self, call_id: str, *, with_result: bool) -> bool:
        """Whether this answer has a call, with its result or without one."""
        return any(call_id in one.calls and (call_id in one.results) is with_result for one in self._steps)

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
        """Takes an item by the field that tells its form; the order decides where there are several."""
        if tool_calls.MESSAGE in item:
            self._carried_message(item)
        elif tool_calls.CALL in item:
            call = mapping(item, tool_calls.CALL)
            call_id = identifier(call, "id")
            # A run that goes on after a question may say its call again: it is the one that waited for the answer.
            if call_id is not None and not any(one.has_call(call_id, with_result=False) for one in self._before):
                wire = _function(call_id, str(call.get("name", "")), str(call.get("arguments", "{}")), call)
                self._place_call(call_id, wire, identifier(item, tool_calls.PARENT))
        elif tool_calls.ENTITY in item:
            entity, value = identifier(item, tool_calls.ENTITY), identifier(item, tool_calls.ENCRYPTED)
            for step in self._steps:
                for message in (*step.thoughts, *step.results.values()):
                    if value is not None and message.get("id") == entity:
                        message[tool_calls.ENCRYPTED] = value
        elif tool_calls.INTERRUPTED in item:
            self.asked = mapping(item, tool_calls.INTERRUPTED)
        elif tool_calls.TOOL_CALL_ID in item:
            self._of_calls[str(item[tool_calls.TOOL_CALL_ID])] = item

    def _carried_message(self, item: Mapping[str, Any]) -> None:
        message = mapping(item, tool_calls.MESSAGE)
        if message.get("role") == "reasoning":
            step = self._steps[-1]
            # A thought between two calls of a batch goes before it: nothing separates a call from its result.
            if step.is_begun and not (step.calls and not step.results):
                step = self._next()
            step.thoughts.append(dict(message))
            return
        call_id = identifier(message, tool_calls.TOOL_CALL_ID) or ""
        result = {name: value for name, value in message.items() if name not in {"role", tool_calls.TOOL_CALL_ID}}
        if not self.give(call_id, result):
            any(one.give(call_id, result) for one in self._before)


def _function(call_id: str, name: str, arguments: str, carried: Mapping[str, Any]) -> _Wire:
    wire = {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}
    encrypted = identifier(carried, tool_calls.ENCRYPTED)
    return wire | ({tool_calls.ENCRYPTED: encrypted} if encrypted else {})


# ---- The messages of a conversation ----

_Wire = dict[str, Any]


class _Conversation:
    """A conversation on the wire.

    Attributes:
        resume: The answers to the interrupts of the last run, from the person's reply; empty where it has none.
        thread_id: The thread of that run; None where it waits for nothing, or names no thread.
    """

    def __init__(self, request: ChatRequest) -> None:
        self.resume: list[_Wire] = []
        self.thread_id: str | None = None
        self._said: list[_Wire | Answer] = []
        self._answers: list[Answer] = []
        self._asked: Mapping[str, Any] | None = None  # what the run before waits for
        self._reply: tuple[int, Mapping[str, Any]] | None = None  # the place of a reply, and its interrupts
        native = request.settings.tool_images is ToolImages.NATIVE
        turns = [*merged_turns(shown_by_user(request.turns, of_results=not native, of_assistant=True), by_name=True)]
        self._system(request.instructions, request.instructions_name)
        for turn in turns:
            match turn.role:
                case TurnRole.SYSTEM:
                    self._system("".join(one.value for one in turn.content if isinstance(one, Text)), turn.name)
                case TurnRole.USER:
                    self._user(turn, is_last=turn is turns[-1])
                case TurnRole.ASSISTANT:
                    self._assistant(turn)
                case TurnRole.TOOL:  # results without a call: pairing leaves none
                    self._said += [{"role": "tool", "toolCallId": one.call_id, **_result(one)} for one in turn.results]
        waits = {identifier(one, "toolCallId") for one in objects(self._asked, "interrupts")} if self.resume else set()
        said = (one.messages(waits) if isinstance(one, Answer) else [one] for one in self._said)
        # The messages, each with an id as its first field.
        messages = [*chain.from_iterable(said)]
        digest = blake2b(digest_size=_SIZE)
        named = []
        for message in messages:
            digest.update(canonical_json(message))
            fields = {name: value for name, value in message.items() if name != "id"}
            named.append({"id": message.get("id") or f"msg_{digest.copy().hexdigest()}", **fields})
        self.messages = named

    def _system(self, said: str, name: str) -> None:
        if said:
            self._said.append({"role": "system", **_named(name), "content": said})

    def _user(self, turn: MergedTurn, *, is_last: bool) -> None:
        said = [piece for piece in turn.content if isinstance(piece, Text | Attachment)]
        if self._asked is not None and is_last:
            self.resume = tool_calls.resume_entries(
                self._asked, joined_texts(one.value for one in said if isinstance(one, Text))
            )
            self.thread_id = identifier(self._asked, "threadId")
            said = [one for one in said if isinstance(one, Attachment)]
        elif self._asked is not None:
            self._reply = len(self._said), self._asked
            self._asked = None
        if said:
            # One text is a string, which agents of every version take.
            content = said[0].value if len(said) == 1 and isinstance(said[0], Text) else [_part(one) for one in said]
            self._said.append({"role": "user", **_named(turn.name), "content": content})

    def _assistant(self, turn: MergedTurn) -> None:
        answer = Answer(self._answers, turn.name)
        for number, one in enumerate(turn.turns):
            if number:  # the texts of two turns are paragraphs
                answer.add(Text(""))
            for piece in one.content:
                if isinstance(piece, Text | Call | Reasoning):  # an attachment has moved to the user
                    answer.add(piece)
        for result in turn.results:
            answer.give(result.call_id, _result(result))
        self._said.append(answer)
        self._answers.append(answer)
        # A reply whose outcome the agent has now, in the results of its calls, goes out of the messages.
        if self._reply is not None:
            place, asked = self._reply
            self._reply = None
            calls = [identifier(one, "toolCallId") or "" for one in objects(asked, "interrupts")]
            if calls and all(any(one.has_call(call, with_result=True) for one in self._answers) for call in calls):
                del self._said[place]
        self._asked = answer.asked


def _result(result: Result) -> _Wire:
    """The fields of a result; a tool that failed says so beside its content."""
    has_files = any(isinstance(piece, Attachment) for piece in result.content)
    said = "" if has_files else joined_texts(piece.value for piece in result.content if isinstance(piece, Text))
    content = [_part(piece) for piece in result.content] if has_files else said
    if not result.is_error:
        return {"content": content}
    return {"content": content or FAILED_SILENTLY, "error": said or FAILED_SILENTLY}


def _part(piece: ResultContent) -> _Wire:
    if isinstance(piece, Text):
        return {"type": "text", "text": piece.value}
    kind, value = ("url", piece.url) if piece.url else ("data", b64encode(piece.data).decode())
    first = piece.media_type.partition("/")[0]
    source = {"type": kind, "value": value, "mimeType": piece.media_type}
    return {"type": first if first in {"image", "audio", "video"} else "document", "source": source}


# ---- Ids of messages: the agent's own, else a digest of the conversation up to the message ----
# A message has the same id in every request with the same conversation, so that agents which keep messages by their
# ids know those that they have.

_SIZE: Final = 12


def digest_of(*values: object) -> str:
    """A text that is the same for the same values."""
    return blake2b(canonical_json({"values": list(values)}), digest_size=_SIZE).hexdigest()


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
    conversation = _Conversation(request)
    seen = digest_of(request.cache_key, conversation.messages, conversation.resume)
    thread = seen
    if own.thread is Thread.CONVERSATION:  # the host's id of it, else its beginning
        first = request.cache_key or [repr(turn.content) for turn in request.turns[:1]]
        thread = digest_of(first)
    chosen = chosen_options(request.options)
    if request.reasoning_effort is not None:
        chosen.setdefault(EFFORT, request.reasoning_effort)
    most = settings.max_output_tokens
    named = {} if MODEL in own.agent_path else {"model": request.model_id}
    forwarded = {**named, **({} if most is None else {MOST: most}), **chosen}
    body: dict[str, Any] = {
        _THREAD: conversation.thread_id or f"thread_{thread}",
        _RUN: f"run_{seen}",
        "protocolVersion": PROTOCOL_VERSION,
        "state": {},
        "messages": conversation.messages,
        "tools": [
            {"name": one.name, "description": one.description, "parameters": dict(one.input_schema or {})}
            for one in request.tools
        ],
        "context": [],
        FORWARDED: forwarded,
    }
    if conversation.resume:
        body["resume"] = conversation.resume
    extra = dict(settings.extra_body)
    if isinstance(extra.get(FORWARDED), dict):
        extra[FORWARDED] = with_extra_fields(forwarded, extra[FORWARDED])
    return with_extra_fields(body, extra)


class AGUIRequestWriter(RequestWriter):
    """Writes requests to agents."""

    path = ""
    errors = ERRORS
    lists_models = False

    def write(self, request: ChatRequest) -> WireRequest:  # noqa: D102
        own = request.settings.own_settings(AGUISettings)
        return WireRequest(path_for_model(own.agent_path, request.model_id), build_request(request))

    def conversation_rules(self, _settings: RequestSettings, _model_id: str) -> ConversationRules:  # noqa: D102
        return ConversationRules(CallIdRule(IdForm(256)), tool_schema=PLAIN.of)

    def identify(self, request: WireRequest, identity: str) -> WireRequest:
        """Makes a run one of its own; the thread too, but that of a conversation, or of a run that goes on."""
        body = dict(request.body)
        if body[_THREAD] == body[_RUN].replace("run_", "thread_", 1):
            body[_THREAD] = f"thread_{identity}"
        return replace(request, body=body | {_RUN: f"run_{identity}"})


WRITE_REQUEST: Final = AGUIRequestWriter()
