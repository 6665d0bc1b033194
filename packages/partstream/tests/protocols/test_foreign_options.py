"""Options of a client that speaks another wire: servers get those that they know, and the form of the answer."""

from __future__ import annotations
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from partstream import ChatMessage, RequestOptions, Tool, ToolMode
from partstream.conversation.preparation import ASKED_IN, ASKS_TO_THINK, ModelCapabilities, RequestSettings, prepare
from partstream.conversation.provider_state import Origin
from partstream.lm.outputs import InboundRequest
from partstream.protocols.protocol import PROTOCOLS
from partstream.protocols.serve import WireRequest
from partstream.runtime.translation import write_question
from rows import one_test_for

SCHEMA = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
CLOSED = {**SCHEMA, "additionalProperties": False}
"""The schema as Anthropic's models take it."""
USUAL = {"model", "input", "messages", "stream", "stream_options", "store", "max_tokens", "contents"}
RESPONSES, CHAT, MESSAGES, GEMINI = "openresponses", "chat-completions", "anthropic-messages", "gemini"

CLIENTS: dict[str, tuple[str, dict[str, Any]]] = {
    RESPONSES: (
        "/responses",
        {
            "input": "Hi",
            "temperature": 0.5,
            "truncation": "auto",
            "metadata": {"a": "b"},
            "service_tier": "flex",
            "brand_new": 1,
            "text": {"format": {"type": "json_schema", "name": "person", "schema": SCHEMA, "strict": True}},
        },
    ),
    CHAT: (
        "/chat/completions",
        {
            "messages": [{"role": "user", "content": "Hi"}],
            "temperature": 0.5,
            "logprobs": True,
            "prediction": {"type": "content", "content": "x"},
            "metadata": {"a": "b"},
            "min_p": 0.1,
            "response_format": {
                "type": "json_schema",
                "json_schema": {"name": "person", "schema": SCHEMA, "strict": True},
            },
        },
    ),
    MESSAGES: (
        "/messages",
        {
            "messages": [{"role": "user", "content": "Hi"}],
            "temperature": 0.5,
            "betas": ["x"],
            "brand_new": 1,
            "output_config": {"format": {"type": "json_schema", "schema": SCHEMA}},
        },
    ),
    GEMINI: (
        "/models/m:generateContent",
        {
            "contents": [{"role": "user", "parts": [{"text": "Hi"}]}],
            "safetySettings": [],
            "generationConfig": {
                "temperature": 0.5,
                "responseMimeType": "application/json",
                "responseJsonSchema": SCHEMA,
            },
        },
    ),
}

BOTH: dict[tuple[str, str], dict[str, Any]] = {
    (RESPONSES, CHAT): {"metadata": {"a": "b"}, "service_tier": "flex"},
    (CHAT, RESPONSES): {"metadata": {"a": "b"}, "include": ["message.output_text.logprobs"]},
}
"""Fields that both wires have."""


def _asked(wire: str, *, over_a_server: bool = True, **fields: Any) -> InboundRequest:
    path, body = CLIENTS[wire]
    corner = PROTOCOLS[wire].read_request
    assert corner is not None
    asked = corner().read(WireRequest(path, {"model": "m", **body, **fields}))
    options = {**asked.options.model_options, **({ASKED_IN: wire} if over_a_server else {})}
    return replace(asked, options=replace(asked.options, model_options=options))


def _sent(asked: InboundRequest, wire: str) -> dict[str, Any]:
    return {name: value for name, value in write_question(PROTOCOLS[wire], asked).body.items() if name not in USUAL}


def _formats(name: str, strict: dict[str, Any]) -> dict[str, dict[str, Any]]:
    schema = {"name": name, "schema": SCHEMA, **strict}
    return {
        RESPONSES: {"text": {"format": {"type": "json_schema", **schema}}},
        CHAT: {"response_format": {"type": "json_schema", "json_schema": schema}},
        MESSAGES: {"output_config": {"format": {"type": "json_schema", "schema": CLOSED}}},
    }


@one_test_for("upstream", [RESPONSES, CHAT, MESSAGES])
@one_test_for("client", CLIENTS)
def test_a_server_of_another_wire_gets_no_field_that_it_does_not_know(client: str, upstream: str) -> None:
    if client == upstream:
        return
    named, strict = ("person", {"strict": True}) if client in {RESPONSES, CHAT} else ("answer", {})
    wanted = {"temperature": 0.5, **_formats(named, strict)[upstream], **BOTH.get((client, upstream), {})}
    assert _sent(_asked(client), upstream) == wanted


@pytest.mark.parametrize("wire", [RESPONSES, CHAT, MESSAGES])
def test_a_server_of_the_same_wire_gets_every_field(wire: str) -> None:
    assert _sent(_asked(wire), wire) == _sent(_asked(wire, over_a_server=False), wire)
    assert _sent(_asked(wire), wire).keys() & {"brand_new", "min_p"}


def test_any_json_is_asked_for_where_the_wire_can_ask_for_it() -> None:
    asked = _asked(CHAT, response_format={"type": "json_object"})
    both = {"temperature": 0.5, **BOTH[CHAT, RESPONSES]}
    assert _sent(asked, RESPONSES) == {**both, "text": {"format": {"type": "json_object"}}}
    assert _sent(asked, MESSAGES) == {"temperature": 0.5}


def test_an_effort_in_other_words_still_counts() -> None:
    asked = _asked(CHAT, response_format={"type": "text"}, reasoning={"effort": "low", "enabled": True})
    assert asked.options.model_configuration == {"reasoningEffort": "low"}
    assert _sent(asked, RESPONSES)["reasoning"] == {"effort": "low", "summary": "auto"}


def test_a_program_that_names_options_by_itself_has_them_sent_as_they_are() -> None:
    options = RequestOptions(model_options={"brand_new": 1, "temperature": 0.5})
    asked = InboundRequest("m", (ChatMessage.user("Hi"),), options)
    for wire in (RESPONSES, CHAT, MESSAGES):
        assert _sent(asked, wire) == {"brand_new": 1, "temperature": 0.5}


@pytest.mark.parametrize(
    ("wire", "names"), [(CHAT, ()), (RESPONSES, ("messages[].name",)), ("ollama", ("messages[].name", "tool_choice"))]
)
def test_what_a_client_says_outside_of_its_options_is_named_where_a_wire_has_no_place_for_it(
    wire: str, names: tuple[str, ...]
) -> None:
    corner = PROTOCOLS[wire].write_request
    assert corner is not None
    options = RequestOptions((Tool("f", "Does."),), ToolMode.REQUIRED, {ASKED_IN: "made-up"})
    prepared = prepare(Origin("", "m"), (ChatMessage.user("Hi", "Ada"),), options, RequestSettings())
    assert tuple(name for note in corner().notes(prepared.whole) for name in note.dropped) == names
    plain = replace(options, model_options={})
    prepared = prepare(Origin("", "m"), (ChatMessage.user("Hi", "Ada"),), plain, RequestSettings())
    assert corner().notes(prepared.whole) == ()


PDF = "data:application/pdf;base64,JVBERi0xLjQKJSVFT0YK"
PNG = "iVBORw0KGgoAAAAAAAAAAAAAAAAAAA=="
BYTES = {"type": "base64", "media_type": "application/pdf", "data": PDF.rpartition(",")[2]}
FILES: dict[str, list[dict[str, Any]]] = {
    RESPONSES: [
        {"type": "input_file", "file_data": PDF, "filename": "tides.pdf"},
        {"type": "input_image", "image_url": f"data:image/png;base64,{PNG}", "detail": "low"},
    ],
    CHAT: [
        {"type": "file", "file": {"file_data": PDF, "filename": "tides.pdf"}},
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}", "detail": "low"}},
    ],
    MESSAGES: [
        {"type": "document", "source": BYTES, "title": "Tides", "context": "c", "citations": {"enabled": True}},
    ],
    GEMINI: [
        {"inlineData": {"mimeType": "application/pdf", "data": BYTES["data"], "displayName": "tides.pdf"}},
        {"fileData": {"fileUri": "https://youtu.be/a"}, "videoMetadata": {"fps": 1}},
    ],
}
"""Files with what a client says about them, on each wire."""

ABOUT: list[tuple[str, str, list[tuple[str, Any]], list[str]]] = [
    (RESPONSES, RESPONSES, [("filename", "tides.pdf"), ("detail", "low")], []),
    (RESPONSES, CHAT, [("filename", "tides.pdf"), ("detail", "low")], []),
    (RESPONSES, MESSAGES, [("title", "tides.pdf")], ["content[].detail"]),
    (RESPONSES, GEMINI, [], ["content[].detail", "content[].filename"]),
    (CHAT, RESPONSES, [("filename", "tides.pdf"), ("detail", "low")], []),
    (CHAT, MESSAGES, [("title", "tides.pdf")], ["content[].detail"]),
    (CHAT, "ollama", [], ["content[].detail", "content[].filename", "content[] (application/pdf in words)"]),
    (MESSAGES, MESSAGES, [("title", "Tides"), ("context", "c"), ("citations", {"enabled": True})], []),
    (MESSAGES, RESPONSES, [("filename", "Tides.pdf")], ["content[].citations", "content[].context"]),
    (MESSAGES, CHAT, [("filename", "Tides.pdf")], ["content[].citations", "content[].context"]),
    (GEMINI, GEMINI, [("videoMetadata", {"fps": 1})], ["content[].displayName"]),
    (GEMINI, RESPONSES, [("filename", "tides.pdf")], ["content[].videoMetadata"]),
]
"""The client, the upstream, what it gets of it, and what is named as dropped."""


@pytest.mark.parametrize(("client", "upstream", "wanted", "dropped"), ABOUT)
def test_what_a_client_says_about_a_file_arrives_or_is_named(
    client: str, upstream: str, wanted: list[tuple[str, Any]], dropped: list[str]
) -> None:
    if client == GEMINI:
        asked = _asked(client, contents=[{"parts": FILES[client]}], generationConfig={})
    else:
        asked = _asked(client, **{"input" if client == RESPONSES else "messages": [_user(FILES[client])]})
    corner = PROTOCOLS[upstream].write_request
    assert corner is not None
    writer = corner()
    options, rules = RequestOptions(model_options={ASKED_IN: client}), writer.conversation_rules(SETTINGS, "m")
    prepared = prepare(Origin("", "m"), asked.messages, options, SETTINGS, rules=rules)
    assert [*_about(writer.write(prepared.whole).body)] == wanted
    notes = (*prepared.notes, *writer.notes(prepared.whole))
    assert [name for note in notes for name in note.dropped] == dropped
    assert not any("content" in name for name in asked.unmapped)


SETTINGS = RequestSettings()


def _user(content: list[dict[str, Any]]) -> dict[str, Any]:
    return {"role": "user", "content": content}


def _about(value: Any) -> Iterator[tuple[str, Any]]:
    """What a body says about its files, in its own words."""
    if isinstance(value, dict):
        words = {"filename", "title", "detail", "context", "citations", "videoMetadata", "displayName"}
        for name, inner in value.items():
            if name in words and inner != "auto":
                yield name, inner
            else:
                yield from _about(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _about(inner)


def test_words_about_a_document_of_text_are_named() -> None:
    source = {"type": "text", "media_type": "text/plain", "data": "Words"}
    asked = _asked(MESSAGES, messages=[_user([{"type": "document", "source": source, "title": "T", "context": ""}])])
    prepared = prepare(Origin("", "m"), asked.messages, RequestOptions(), SETTINGS)
    assert [note.dropped for note in prepared.notes] == [("content[].title",)]


def test_a_description_of_the_form_of_an_answer_is_in_its_schema_where_nothing_else_holds_it() -> None:
    form = {"name": "person", "schema": SCHEMA, "description": "Who it is."}
    asked = _asked(CHAT, response_format={"type": "json_schema", "json_schema": form})
    held = {"description": "Who it is.", **SCHEMA}
    assert _sent(asked, RESPONSES)["text"]["format"]["description"] == "Who it is."
    assert _sent(asked, MESSAGES)["output_config"]["format"]["schema"] == {**held, **CLOSED}
    assert _sent(asked, GEMINI)["generationConfig"]["responseJsonSchema"] == held
    assert _sent(asked, "ollama")["format"] == held


@one_test_for("wire", [RESPONSES, MESSAGES, GEMINI, "ollama"])
def test_an_option_whose_value_means_nothing_is_named(wire: str) -> None:
    corner = PROTOCOLS[wire].write_request
    assert corner is not None
    options = RequestOptions(model_options={"reasoning_effort": 7, "temperature": 0.5})
    prepared = prepare(Origin("", "m"), (ChatMessage.user("Hi"),), options, SETTINGS)
    assert [name for note in corner().notes(prepared.whole) for name in note.dropped] == ["reasoning_effort"]


def test_a_window_that_no_field_takes_is_named() -> None:
    options = RequestOptions((), ToolMode.AUTO, {ASKED_IN: "ollama"}, {"contextSize": 8192})
    for wire, dropped in ((CHAT, ["options.num_ctx"]), ("ollama", [])):
        corner = PROTOCOLS[wire].write_request
        assert corner is not None
        prepared = prepare(Origin("", "m"), (ChatMessage.user("Hi"),), options, SETTINGS)
        assert [name for note in corner().notes(prepared.whole) for name in note.dropped] == dropped


THINKERS: dict[str, tuple[str, dict[str, Any], bool, dict[str, Any], list[str]]] = {
    "a model that thinks gives its summary": (
        RESPONSES, {ASKS_TO_THINK: True}, True, {"reasoning": {"summary": "auto"}}, [],
    ),
    "one of which that is not known may refuse the field": (RESPONSES, {ASKS_TO_THINK: True}, False, {}, []),
    "one that does not think": ("ollama", {ASKS_TO_THINK: True}, False, {}, ["thinking"]),
    "one that does not think, by an effort": ("ollama", {"reasoning_effort": "high"}, False, {}, ["thinking"]),
    "one that does not think, and need not": ("ollama", {"reasoning_effort": "none"}, False, {}, []),
    "one that thinks": ("ollama", {ASKS_TO_THINK: True}, True, {"think": True}, []),
    "a budget that leaves it open": (
        MESSAGES, {"thinkingConfig": {"thinkingBudget": -1}, ASKS_TO_THINK: True}, True, {"type": "enabled"}, [],
    ),
}  # fmt: skip


@one_test_for(("wire", "said", "thinks", "sent", "dropped"), THINKERS.values(), ids=THINKERS)
def test_a_client_that_wants_thinking_gets_it_or_reads_that_there_is_none(wire, said, thinks, sent, dropped):
    options = {
        ASKED_IN: GEMINI,
        **{ASKS_TO_THINK if name == "asksToThink" else name: one for name, one in said.items()},
    }
    corner = PROTOCOLS[wire].write_request
    assert corner is not None
    settings = RequestSettings(capabilities=ModelCapabilities(reasoning=thinks or None))
    asked = RequestOptions((), ToolMode.AUTO, options)
    prepared = prepare(Origin("", "claude-sonnet-4-5"), (ChatMessage.user("Hi"),), asked, settings)
    body = corner().write(prepared.whole).body
    about = body.get("thinking") or {name: body[name] for name in ("reasoning", "think") if name in body}
    assert sent.items() <= about.items()
    assert bool(about) is bool(sent)
    assert [name for note in corner().notes(prepared.whole) for name in note.dropped] == dropped


OLLAMA, INTERACTIONS = "ollama", "gemini-interactions"
ASKS: dict[str, tuple[str, dict[str, Any]]] = {
    **{wire: CLIENTS[wire] for wire in (RESPONSES, CHAT, MESSAGES, GEMINI)},
    OLLAMA: ("/chat", {"messages": [{"role": "user", "content": "Hi"}], "format": SCHEMA}),
    INTERACTIONS: (
        "/interactions",
        {"input": "Hi", "response_format": {"type": "text", "mime_type": "application/json", "schema": SCHEMA}},
    ),
}
"""Each wire's form of a schema for the answer."""
HELD: dict[str, tuple[str, ...]] = {
    RESPONSES: ("text", "format", "schema"),
    CHAT: ("response_format", "json_schema", "schema"),
    MESSAGES: ("output_config", "format", "schema"),
    GEMINI: ("generationConfig", "responseJsonSchema"),
    OLLAMA: ("format",),
    INTERACTIONS: ("response_format", "schema"),
}
"""Where each wire's requests hold it."""


@pytest.mark.parametrize("upstream", HELD)
@pytest.mark.parametrize("client", ASKS)
def test_a_schema_for_the_answer_arrives_in_the_upstream_s_own_word(client: str, upstream: str) -> None:
    path, body = ASKS[client]
    corner = PROTOCOLS[client].read_request
    assert corner is not None
    asked = corner().read(WireRequest(path, {"model": "m", **body}))
    options = {**asked.options.model_options, ASKED_IN: client}
    sent = write_question(PROTOCOLS[upstream], replace(asked, options=replace(asked.options, model_options=options)))
    held: Any = sent.body
    for name in HELD[upstream]:
        held = held[name]
    assert held == (CLOSED if upstream == MESSAGES != client else SCHEMA)


def test_an_upstream_that_takes_no_bounds_gets_them_in_words_and_closed_objects() -> None:
    tag = {"type": "string", "maxLength": 3, "pattern": "^a$"}
    given = {
        "type": "object",
        "properties": {
            "age": {"type": "integer", "minimum": 1, "description": "Years"},
            "tags": {"type": "array", "items": {"type": "object", "properties": {"tag": tag}}, "minItems": 1},
            "any": {"type": "object", "additionalProperties": {"type": "string"}},
        },
        "additionalProperties": True,
    }
    asked = _asked(CHAT, response_format={"type": "json_schema", "json_schema": {"name": "a", "schema": given}})
    sent = _sent(asked, MESSAGES)["output_config"]["format"]["schema"]
    assert sent["additionalProperties"] is False
    assert sent["properties"]["age"] == {"type": "integer", "description": "Years (at least 1)"}
    tags = sent["properties"]["tags"]
    assert (tags["minItems"], tags["items"]["additionalProperties"]) == (1, False)
    shown = {"type": "string", "pattern": "^a$", "description": "(at most 3 characters)"}
    assert tags["items"]["properties"]["tag"] == shown
    assert sent["properties"]["any"] == given["properties"]["any"]  # type: ignore[index]
