"""Serves Google Interactions: reads requests of `POST /interactions`, and writes responses as events or a document.

Reading. The steps of a conversation become messages: the steps of the model up to the next one of the user are one
message. Nothing is stored here, so a request that continues an interaction is refused, as is one of an agent or in the
background. What a signature carries goes where :mod:`partstream.conversation.provider_state` looks for it.

Writing. Texts, thoughts and calls are steps, one after the other; a change of the kind ends a step. The id is empty
where the client wants nothing stored, as at Google; any other client expects one, though nothing here continues it.
State of this wire is written as the steps that it came in; all other state is sealed into the signatures of thoughts,
which clients give back as they came.

Types: `google-genai` 3.6.1 (docs/wires/gemini.md#interactions).
"""

from __future__ import annotations
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping, Sequence
from hashlib import sha256
from itertools import groupby
from typing import Any, Final

from partstream.codec.checks import places
from partstream.codec.json_codec import dumps, loads
from partstream.conversation.citations import SaidBytes, read_citation
from partstream.conversation.media import address_part
from partstream.errors import InvalidRequestError, UnsupportedParameterError
from partstream.lm.messages import ChatMessage, Tool, ToolMode
from partstream.lm.outputs import Facts, Finish, InboundRequest, Outcome, Repeated, Reply, StreamOutput
from partstream.lm.parts import DataPart, MessagePart, TextPart, ThinkingPart, ToolCallPart, ToolResultPart, is_mark
from partstream.protocols import read_request, serve
from partstream.protocols.gemini.provider_state import WrittenState, usable_signature
from partstream.protocols.gemini.serve import ReadState, chosen_tools, named_counts, read_blob, web_address
from partstream.protocols.gemini_interactions import errors
from partstream.protocols.gemini_interactions.errors import SIGNATURE
from partstream.protocols.gemini_interactions.read_response import CONTENT, FILES, ITEM_TYPE, STEP, TOOL_CALL_ID
from partstream.protocols.gemini_interactions.write_request import kind_of_file, read_item
from partstream.protocols.read_request import Counts, checked, optional_text, read_parts, required_text

# ---- Requests ----

_UNSUPPORTED: Final = {
    "agent": "a model",
    "background": "an answer while the client waits",
    "continuation_token": "the whole conversation in `input`",
    "previous_interaction_id": "the whole conversation in `input`",
}
"""The fields of requests that are refused, and what is expected in their place."""
_OF_THE_SERVER: Final = dict.fromkeys(("agent_config", "environment", "webhook_config"))
_READ: Final = frozenset(
    {"model", "input", "stream", "store", "system_instruction", "tools", "generation_config", "response_format"}
    | _UNSUPPORTED.keys()
    | _OF_THE_SERVER.keys()
)
"""The fields of a body that are no options under their own names."""


class InteractionsRequestReader(serve.RequestReader):
    """Reads requests of `POST /interactions`."""

    forwarding = serve.ForwardingRules(
        frozenset({"api-revision"}),
        frozenset({"alt"}),
        (("generation_config", "max_output_tokens"),),
        ("generation_config", "max_output_tokens"),
        is_for_us=lambda body: bool(body.get("background")),  # its client would ask this server for the end
        names_kept=lambda body: bool(body.get("previous_interaction_id")),
    )

    def read(self, request: serve.WireRequest) -> InboundRequest:  # noqa: D102
        body, counts = request.body, Counts()
        for name, expected in _UNSUPPORTED.items():
            if body.get(name):
                raise UnsupportedParameterError(name, f"{body[name]!r:.60}", expected)
        system = optional_text(body, "system_instruction")
        reader = _StepReader(counts)
        for step, where in _steps(body.get("input")):
            reader.read(step, where)
        read_request.count_unread(body, _FIELDS, counts)
        asked = read_request.AskedTools(counts)
        tools, mode, effort, options = _read_settings(body, asked)
        checked(body, "stream", bool, "true or false")
        messages = (*([ChatMessage.system(system)] if system else ()), *reader.end())
        return asked.asked(body, messages, (tools, mode), options, effort, _READ, _OF_THE_SERVER)


READ_REQUEST: Final = InteractionsRequestReader()


def _read_settings(
    body: Mapping[str, Any], declared: read_request.AskedTools
) -> tuple[tuple[Tool, ...], ToolMode, str, dict[str, Any]]:
    """The tools, whether one must be called, the reasoning effort, and the options of the generation."""
    declared.read(body.get("tools"))
    options = dict(checked(body, "generation_config", dict, "an object") or {})
    choice, at = options.pop("tool_choice", None), "generation_config.tool_choice"
    if isinstance(choice, dict):
        choice, at = checked(choice, "allowed_tools", dict, "an object", at) or {}, f"{at}.allowed_tools"
        tools, mode = chosen_tools(declared, optional_text(choice, "mode", at), choice.get("tools"), f"{at}.mode")
    elif choice is None or isinstance(choice, str):
        tools, mode = chosen_tools(declared, choice or "", None, at)
    else:
        raise InvalidRequestError(at, read_request.described(choice), "a word or an object")
    options.pop("thinking_summaries", None)
    effort = optional_text(options, "thinking_level", "generation_config")
    options.pop("thinking_level", None)
    formats = body.get("response_format")
    if formats is not None:
        options["response_format"] = formats[0] if isinstance(formats, list) and len(formats) == 1 else formats
    return tools, mode, effort, {name: value for name, value in options.items() if value is not None}


def _steps(value: object) -> Iterator[tuple[Mapping[str, Any], str]]:
    """The steps of the field `input`, each with its place; it may be a text, or contents of the user."""
    if isinstance(value, str):
        value = {"type": "text", "text": value} if value else []
    if isinstance(value, dict):
        value = [value]
    for where, step in read_request.objects_in(value, "input", "a text, contents or steps", are_typed=True):
        yield ({"type": "user_input", "content": [step]} if step["type"] in CONTENT else step), where


class _StepReader:
    """The messages of one request so far."""

    def __init__(self, counts: Counts) -> None:
        self._counts = counts
        self._messages = read_request.AskedMessages()
        self._said: list[MessagePart] = []  # by the model, since the user spoke last
        self._state = ReadState(ITEM_TYPE)

    def read(self, step: Mapping[str, Any], where: str) -> None:
        kind = step["type"]
        if (reader := _STEPS.get(kind)) is not None:
            reader(self, step, where)
        elif kind.endswith(("_call", "_result")):  # what the server ran goes back to it as it came
            self._state.carry({STEP: dict(step)})
        else:
            self._counts.add(f"input[].{kind}")

    def end(self) -> tuple[ChatMessage, ...]:
        self._end_answer()
        return self._messages.end()

    def _end_answer(self) -> None:
        parts = [*self._state.parts, *self._said]
        if parts:
            self._messages.add(ChatMessage.assistant(parts))
            self._said, self._state = [], ReadState(ITEM_TYPE)

    def _content(self, step: Mapping[str, Any], where: str) -> Sequence[Any]:
        return read_parts(step.get("content") or [], f"{where}.content", self._counts, _CONTENTS)

    def _user_input(self, step: Mapping[str, Any], where: str) -> None:
        self._end_answer()
        parts = self._content(step, where)
        for result in (part for part in parts if isinstance(part, ToolResultPart)):  # `@ai-sdk/google` 4
            self._messages.add_result(result)
        if others := [part for part in parts if not isinstance(part, ToolResultPart)]:
            self._messages.add(ChatMessage.user(others))

    def _function_result(self, step: Mapping[str, Any], where: str) -> None:
        self._end_answer()
        self._messages.add_result(_result(step, where, self._counts))

    def _model_output(self, step: Mapping[str, Any], where: str) -> None:
        for part in self._content(step, where):
            self._said.append(part)
            if isinstance(part, TextPart):
                self._state.place.add_text(part.value)

    def _thought(self, step: Mapping[str, Any], where: str) -> None:
        summary = read_parts(step.get("summary") or [], f"{where}.summary", self._counts, _CONTENTS)
        self._said += (ThinkingPart(part.value) for part in summary if isinstance(part, TextPart))
        signature = usable_signature(step.get(SIGNATURE))
        if signature is not None and not self._state.unseal(signature):
            self._state.carry({STEP: dict(step)})

    def _function_call(self, step: Mapping[str, Any], where: str) -> None:
        call_id, name = required_text(step, "id", where), required_text(step, "name", where)
        signature = usable_signature(step.get(SIGNATURE))
        if signature is not None and not self._state.unseal(signature):
            self._state.carry({TOOL_CALL_ID: call_id, SIGNATURE: signature})
        arguments = checked(step, "arguments", dict, "an object", where) or {}
        self._said.append(ToolCallPart(call_id, name, arguments))
        self._state.place.add_call()


_STEPS: Final[Mapping[str, Callable[[_StepReader, Mapping[str, Any], str], None]]] = {
    "user_input": _StepReader._user_input,
    "function_result": _StepReader._function_result,
    "model_output": _StepReader._model_output,
    "thought": _StepReader._thought,
    "function_call": _StepReader._function_call,
}


def _file(content: Mapping[str, Any], where: str, _counts: Counts) -> DataPart:
    """The bytes or the address of a file."""
    if (data := optional_text(content, "data", where)) != "":
        return read_blob(data, f"{where}.data", optional_text(content, "mime_type", where))
    usual = read_request.DOCUMENT if content["type"] == "document" else f"{content['type']}/*"
    return address_part(required_text(content, "uri", where), optional_text(content, "mime_type", where) or usual)


def _result(step: Mapping[str, Any], where: str, counts: Counts) -> ToolResultPart:
    """The result of a call: a text, contents, or an object."""
    call_id, result = required_text(step, "call_id", where), step.get("result")
    is_error = checked(step, "is_error", bool, "true or false", where) is True
    if isinstance(result, dict):
        result = dumps(result).decode()
    content = read_parts([] if result is None else result, f"{where}.result", counts, _CONTENTS)
    return ToolResultPart(call_id, content, is_error)


_CONTENTS: Final[Mapping[str, Callable[[Mapping[str, Any], str, Counts], Any]]] = {
    "text": lambda part, where, _counts: read_request.said(part, "text", where),
    "function_result": _result,
    **dict.fromkeys(FILES, _file),
}


_FIELDS: Final = places(
    {
        "input[user_input|model_output]": "type content",
        "input[function_call]": f"type id name arguments {SIGNATURE}",
        "input[function_result] input[].content[function_result]": "type call_id name result is_error",
        "input[text] input[].content[text]": "type text annotations",
        f"input[{'|'.join(FILES)}] input[].content[{'|'.join(FILES)}]": "type data mime_type uri",
        "tools[function]": "type name description parameters",
    }
)
"""The fields that are read of objects; thoughts go back as they came."""

# ---- Responses ----


class InteractionsResponseWriter(serve.ResponseWriter):
    """Writes one response of a server of Interactions."""

    says = Facts.MOST - {"logprobs", "finish_reason.filter", Facts.COUNTS[-1]} | Facts.FILES
    says |= Facts.PLACES - {"citation.citedText"}
    tiers = frozenset({"flex", "priority"})
    end_of_stream = b"event: done\ndata: [DONE]\n\n"

    def __init__(self, asked: InboundRequest, reply: Reply) -> None:
        super().__init__(asked, reply)
        self._created = serve.rfc3339(reply.created_at)
        is_named = asked.body.get("store") is not False
        own_id = f"interaction_{sha256(reply.identity.encode()).hexdigest()[:24]}" if is_named else ""
        self._head = {"id": own_id, "object": "interaction", "model": asked.model}
        self._carried = WrittenState(read_item)
        self._open = ""  # the type of the step that is open
        self._index = 0
        self._has_calls = False
        self._said = SaidBytes()

    def _adopt(self, event: serve.WireEvent) -> None:
        match event:
            case {"interaction": dict(said)}:
                super()._adopt(said)
            case {"event_type": "step.start", "index": int(index)}:
                self._index, self._open = index, "step"
            case {"event_type": "step.stop"}:
                self._index, self._open = self._index + 1, ""
            case _:  # nothing of the end depends on it
                pass

    def _begin(self, _output: StreamOutput) -> None:
        self._add("interaction.created", interaction={**self._head, "status": "in_progress"})
        self._add("interaction.status_update", interaction_id=self._head["id"], status="in_progress")

    def repeated(self, part: TextPart | ThinkingPart) -> Repeated | None:  # noqa: D102
        index = self._index
        if isinstance(part, TextPart) and self._open == "model_output":
            return Repeated(lambda text, _number: _delta(index, _said(text)), self._said.add)
        if isinstance(part, ThinkingPart) and self._open == "thought":
            return Repeated(lambda text, _number: _delta(index, _thought(text)))
        return None

    @staticmethod
    def frame(event: serve.WireEvent) -> bytes:
        """The bytes of one event, which has a name but for a bare error."""
        return b"event: %b\ndata: %b\n\n" % (event.get("event_type", "error").encode(), dumps(event))

    @staticmethod
    def document(events: Sequence[serve.WireEvent]) -> tuple[int, serve.WireEvent]:
        """The interaction with all of its steps."""
        last = events[-1]
        if "error" in last:
            return errors.status_of(last), {"error": last["error"]}
        steps: list[tuple[serve.WireEvent, list[serve.WireEvent]]] = []
        for event in events:
            if event["event_type"] == "step.start":
                steps.append((event["step"], []))
            elif event["event_type"] == "step.delta":
                steps[-1][1].append(event["delta"])
        return 200, {**last["interaction"], "steps": [_whole(*one) for one in steps]}

    error = staticmethod(errors.error_document)
    failed = staticmethod(errors.failed_reply)

    def _add(self, kind: str, **fields: Any) -> None:
        self._kept.append({**fields, "event_type": kind})

    def _open_step(self, step: serve.WireEvent) -> None:
        self._end()
        self._add("step.start", index=self._index, step=step)
        self._open = step["type"]

    def _end(self) -> None:
        if self._open:
            self._add("step.stop", index=self._index)
            self._index += 1
            self._open = ""

    def _say(self, kind: str, delta: serve.WireEvent) -> None:
        if self._open != kind:
            self._open_step({"type": kind})
        self._kept.append(_delta(self._index, delta))

    def _text(self, part: TextPart) -> None:
        if part.value:
            self._said.add(part.value)
            self._say("model_output", _said(part.value))

    def _thinking(self, part: ThinkingPart) -> None:
        if part.value:
            self._say("thought", _thought(part.value))
        for carried in self._carried.write(part.metadata or {}):
            signature = carried if isinstance(carried, str) else carried.get(SIGNATURE, "")
            if isinstance(carried, str) or carried.get("type") == "thought":
                self._say("thought", {"type": "thought_signature", SIGNATURE: signature})
            else:
                self._open_step(dict(carried))
            self._end()

    def _call(self, part: ToolCallPart) -> None:
        self._has_calls = True
        signature = self._carried.of_call(part.call_id)
        signed = {} if signature is None else {SIGNATURE: signature}
        self._open_step({"type": "function_call", "id": part.call_id, "name": part.name, "arguments": {}, **signed})
        for piece in serve.pieces_of_arguments(part, self._reply.argument_size):
            self._say("function_call", {"type": "arguments_delta", "arguments": piece})
        self._end()

    def _data(self, part: DataPart) -> None:
        source = read_citation(part)
        if source is not None and source.url is not None:
            cited: serve.WireEvent = {"type": "url_citation", "url": source.url}
            cited |= {"title": source.title} if source.title else {}
            if place := self._said.place(source):
                cited |= {"start_index": place[0], "end_index": place[1]}
            elif source.start is not None:
                self.dropped["citation.startIndex"] = None
            self._say("model_output", {"type": "text_annotation_delta", "annotations": [cited]})
        elif (content := file_content(part)) is not None:
            self._say("model_output", content)

    def _finish(self, finish: Finish) -> None:
        self._end()
        counts = named_counts(finish.usage, COUNTS)
        usage = {} if counts is None else {"usage": counts}
        if finish.outcome in {Outcome.FAILED, Outcome.TRUNCATED}:
            if usage:
                self._add("interaction.status_update", interaction_id=self._head["id"], status="failed", **usage)
            self._kept.append(errors.error_event(finish.error))
            return
        status = status_of(finish.outcome, has_calls=self._has_calls)
        about = {**usage, **self._tier(finish), "created": self._created, "updated": self._created}
        self._add("interaction.completed", interaction={**self._head, "status": status, **about})


COUNTS: Final = (
    "total_input_tokens", "total_output_tokens", "total_thought_tokens", "total_tokens", "total_cached_tokens"
)  # fmt: skip


def status_of(outcome: Outcome, *, has_calls: bool) -> str:
    """The status of an interaction that did not fail."""
    if outcome is Outcome.INCOMPLETE:
        return "incomplete"
    return "requires_action" if has_calls else "completed"


def _delta(index: int, delta: serve.WireEvent) -> serve.WireEvent:
    return {"index": index, "delta": delta, "event_type": "step.delta"}


def _said(text: str) -> serve.WireEvent:
    return {"type": "text", "text": text}


def _thought(text: str) -> serve.WireEvent:
    return {"type": "thought_summary", "content": _said(text)}


def file_content(part: DataPart) -> serve.WireEvent | None:
    """A file as a content: its bytes, or its address; None for an empty one, and for a mark of the host."""
    if is_mark(part.mime_type):
        return None
    if (address := web_address(part)) is not None:
        return {"type": "document", "uri": address}
    data = b64encode(part.data).decode()
    return {"type": kind_of_file(part.mime_type), "mime_type": part.mime_type, "data": data} if data else None


def _whole(step: serve.WireEvent, deltas: Sequence[serve.WireEvent]) -> serve.WireEvent:
    """A step with what was added to it."""
    content: list[serve.WireEvent] = []
    for kind, run in groupby(deltas, lambda delta: delta["type"]):
        added = list(run)
        if kind == "text":
            content.append(_said("".join(one["text"] for one in added)))
        elif kind == "text_annotation_delta":
            cited = [annotation for one in added for annotation in one["annotations"]]
            last = content.pop() if content and content[-1]["type"] == "text" else _said("")
            content.append({**last, "annotations": [*last.get("annotations", ()), *cited]})
        elif kind == "thought_summary":
            step = {**step, "summary": [_said("".join(one["content"]["text"] for one in added))]}
        elif kind == "thought_signature":
            step = {**step, SIGNATURE: added[-1][SIGNATURE]}
        elif kind == "arguments_delta":
            step = {**step, "arguments": loads("".join(one["arguments"] for one in added))}
        else:
            content += added
    return {**step, "content": content} if content else step
