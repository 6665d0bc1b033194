"""Tools that are no plain functions, from the request of a client of one wire to an upstream of another, and back."""

from __future__ import annotations
from dataclasses import replace
from typing import Any

import pytest

from partstream import ToolCallPart, ToolMode
from partstream.conversation.preparation import RequestSettings, prepare
from partstream.conversation.provider_state import Origin
from partstream.conversation.tool_forms import KNOWN_TOOLS
from partstream.errors import InvalidRequestError, RequestNotExpressibleError
from partstream.lm.outputs import HOSTED, Finish, InboundRequest, Outcome, Reply, StreamOutput
from partstream.lm.parts import TextPart, ToolResultPart
from partstream.protocols.protocol import PROTOCOLS
from partstream.protocols.serve import WireRequest
from partstream.runtime.translation import write_answer, write_document
from rows import one_test_for

RESPONSES, CHAT, MESSAGES, GEMINI = "openresponses", "chat-completions", "anthropic-messages", "gemini"
HI: dict[str, dict[str, Any]] = {
    RESPONSES: {"input": "Hi"},
    CHAT: {"messages": [{"role": "user", "content": "Hi"}]},
    MESSAGES: {"max_tokens": 9, "messages": [{"role": "user", "content": "Hi"}]},
    GEMINI: {"contents": [{"role": "user", "parts": [{"text": "Hi"}]}]},
}
SEARCH_FUNCTION = {"type": "function", "name": "search", "description": "Finds.", "parameters": {"type": "object"}}
GRAMMAR = {"type": "grammar", "syntax": "lark", "definition": "start: /.+/"}
PATCH = {"type": "custom", "name": "apply_patch", "description": "Patches.", "format": GRAMMAR}
USER = [{"role": "user", "content": "Hi"}]
DOCS = {"type": "namespace", "name": "mcp__docs", "description": "The docs.", "tools": [SEARCH_FUNCTION]}


def read(wire: str, **body: Any) -> InboundRequest:
    corner = PROTOCOLS[wire].read_request
    assert corner is not None
    return corner().read(WireRequest("/models/m:generateContent", {"model": "m", **HI[wire], **body}))


def written(wire: str, asked: InboundRequest, model: str = "m") -> tuple[dict[str, Any], tuple[str, ...]]:
    """The body for an upstream, and what its notes name as dropped."""
    corner = PROTOCOLS[wire].write_request
    assert corner is not None
    writer, settings = corner(), RequestSettings()
    options = replace(asked.options, model_options={HOSTED: asked.hosted_tools})
    rules = writer.conversation_rules(settings, model)
    prepared = prepare(Origin("u", model), asked.messages, options, settings, rules=rules)
    body = dict(writer.write(prepared.request()).body)
    return body, tuple(name for note in prepared.notes for name in note.dropped)


def names(asked: InboundRequest) -> list[str]:
    return [tool.name for tool in asked.options.tools]


# ---- Tools in namespaces, tools for text, tools of a type ----


@pytest.mark.parametrize(
    "body",
    [
        {"tools": [DOCS, PATCH]},
        {"input": [{"type": "additional_tools", "role": "developer", "tools": [DOCS, PATCH]}, *USER]},
        {
            "input": [
                {"role": "user", "content": "Hi"},
                {"type": "tool_search_call", "call_id": "c", "execution": "client", "arguments": {"query": "x"}},
                {"type": "tool_search_output", "call_id": "c", "execution": "client", "tools": [DOCS, PATCH]},
            ]
        },
    ],
    ids=["tools", "an item with tools", "tools that a search found"],
)  # fmt: skip
def test_each_tool_of_codex_is_a_function(body: dict[str, Any]) -> None:
    asked = read(RESPONSES, **body)
    search, patch = asked.options.tools
    assert (search.name, search.description) == ("mcp__docs__search", "The docs.\n\nFinds.")
    assert patch.name == "apply_patch"
    assert patch.description.endswith("lark grammar:\nstart: /.+/")
    assert patch.input_schema is not None
    assert patch.input_schema["required"] == ["input"]
    assert not asked.unmapped


def test_joined_names_are_short_and_each_has_one_tool() -> None:
    long = {"type": "namespace", "name": "n" * 60, "tools": [SEARCH_FUNCTION, {**SEARCH_FUNCTION, "name": "s2"}]}
    asked = read(RESPONSES, tools=[{**SEARCH_FUNCTION, "name": "mcp__docs__search"}, DOCS, long])
    assert len(set(names(asked))) == 4
    assert all(len(name) <= 64 for name in names(asked))
    assert {form.namespace for form in asked.tool_forms.values()} == {"mcp__docs", "n" * 60}


ITEMS = {
    "namespace": (
        DOCS,
        ToolCallPart("c", "mcp__docs__search", {"q": 1}),
        {"type": "function_call", "call_id": "c", "name": "search", "namespace": "mcp__docs", "arguments": '{"q":1}'},
    ),
    "text": (
        PATCH,
        ToolCallPart("c", "apply_patch", {"input": "*** Begin"}),
        {"type": "custom_tool_call", "call_id": "c", "name": "apply_patch", "input": "*** Begin"},
    ),
    "local shell": (
        {"type": "local_shell"},
        ToolCallPart("c", "local_shell", {"command": ["ls"]}),
        {"type": "local_shell_call", "call_id": "c", "action": {"type": "exec", "env": {}, "command": ["ls"]}},
    ),
    "shell": (
        {"type": "shell"},
        ToolCallPart("c", "shell", {"commands": ["ls"]}),
        {"type": "shell_call", "call_id": "c", "action": {"commands": ["ls"]}},
    ),
    "patch": (
        {"type": "apply_patch"},
        ToolCallPart("c", "apply_patch", {"type": "delete_file", "path": "a"}),
        {"type": "apply_patch_call", "call_id": "c", "operation": {"type": "delete_file", "path": "a"}},
    ),
    "search for tools": (
        {"type": "tool_search", "execution": "client", "parameters": {"type": "object"}},
        ToolCallPart("c", "tool_search", {"query": "x"}),
        {"type": "tool_search_call", "call_id": "c", "execution": "client", "arguments": {"query": "x"}},
    ),
}


@one_test_for("name", ITEMS)
def test_a_call_goes_back_in_the_form_of_its_tool_and_is_read_again(name: str) -> None:
    tool, call, item = ITEMS[name]
    asked = read(RESPONSES, tools=[tool])
    assert names(asked) == [call.name]
    answer: list[StreamOutput] = [call, Finish(Outcome.COMPLETED)]
    events = write_answer(PROTOCOLS[RESPONSES], asked, answer, Reply("i", 0))
    (done,) = [event["item"] for event in events if event["type"] == "response.output_item.done"]
    assert {key: value for key, value in done.items() if key not in ("id", "status")} == item
    document = write_document(PROTOCOLS[RESPONSES], asked, answer, Reply("i", 0))[1]
    assert document["output"] == [done]
    again = read(RESPONSES, tools=[tool], input=[{"role": "user", "content": "Hi"}, done]).messages[-1].content[0]
    assert isinstance(again, ToolCallPart)
    assert again.name == call.name
    assert call.input.items() <= again.input.items()


def test_the_text_of_a_call_streams_in_events_of_its_own() -> None:
    asked, call = read(RESPONSES, tools=[PATCH]), ToolCallPart("c", "apply_patch", {"input": "abcde"})
    events = write_answer(PROTOCOLS[RESPONSES], asked, [call, Finish(Outcome.COMPLETED)], Reply("i", 0, 2))
    pieces = [event for event in events if event["type"].startswith("response.custom_tool_call_input")]
    assert [event.get("delta") or event["input"] for event in pieces] == ["ab", "cd", "e", "abcde"]


@pytest.mark.parametrize("stream", [True, False])
def test_a_client_of_chat_completions_gets_the_text_of_a_call(stream: bool) -> None:
    tools = [{"type": "custom", "custom": {"name": "p", "format": {"type": "grammar", "grammar": GRAMMAR}}}]
    asked = read(CHAT, tools=tools, tool_choice={"type": "custom", "custom": {"name": "p"}}, stream=stream)
    assert "lark" in asked.options.tools[0].description
    answer: list[StreamOutput] = [ToolCallPart("c", "p", {"input": "raw"}), Finish(Outcome.COMPLETED)]
    if not stream:
        (call,) = write_document(PROTOCOLS[CHAT], asked, answer, Reply("i", 0))[1]["choices"][0]["message"][
            "tool_calls"
        ]
        assert call == {"id": "c", "type": "custom", "custom": {"name": "p", "input": "raw"}}
        return
    deltas = [event["choices"][0]["delta"] for event in write_answer(PROTOCOLS[CHAT], asked, answer, Reply("i", 0))]
    first, second = (delta["tool_calls"][0] for delta in deltas if "tool_calls" in delta)
    assert (first["type"], first["custom"]) == ("custom", {"name": "p", "input": ""})
    assert second["custom"] == {"input": "raw"}


OLDER = [{"name": "look", "description": "Looks.", "parameters": {"type": "object"}}, {"name": "other"}]


@pytest.mark.parametrize(
    ("choice", "offered", "mode"),
    [
        (None, ["look", "other"], ToolMode.AUTO),
        ("auto", ["look", "other"], ToolMode.AUTO),
        ("none", [], ToolMode.AUTO),
        ({"name": "look"}, ["look"], ToolMode.REQUIRED),
    ],
)
def test_functions_in_the_older_form_are_tools(choice: Any, offered: list[str], mode: ToolMode) -> None:
    asked = read(CHAT, functions=OLDER, **({} if choice is None else {"function_call": choice}))
    assert (names(asked), asked.options.tool_mode) == (offered, mode)
    assert asked.options.model_options == {"parallel_tool_calls": False}
    assert not asked.unmapped


@pytest.mark.parametrize("stream", [True, False])
def test_a_client_of_the_older_form_gets_one_call_in_it(stream: bool) -> None:
    asked = read(CHAT, functions=OLDER, stream=stream)
    calls = [ToolCallPart("c1", "look", {"at": "x"}), ToolCallPart("c2", "other", {})]
    answer: list[StreamOutput] = [*calls, Finish(Outcome.COMPLETED)]
    called = {"name": "look", "arguments": '{"at":"x"}'}
    if not stream:
        (choice,) = write_document(PROTOCOLS[CHAT], asked, answer, Reply("i", 0, 4))[1]["choices"]
        assert choice["finish_reason"] == "function_call"
        assert choice["message"] == {"role": "assistant", "content": None, "refusal": None, "function_call": called}
        return
    events = write_answer(PROTOCOLS[CHAT], asked, answer, Reply("i", 0, 4))
    deltas = [event["choices"][0]["delta"] for event in events]
    assert not any("tool_calls" in delta for delta in deltas)
    pieces = [delta["function_call"] for delta in deltas if "function_call" in delta]
    assert {key: "".join(piece.get(key, "") for piece in pieces) for key in called} == called
    assert events[-1]["choices"][0]["finish_reason"] == "function_call"


def test_the_history_keeps_calls_of_all_forms_in_order() -> None:
    history = [
        {"role": "user", "content": "Hi"},
        {"type": "custom_tool_call", "call_id": "c1", "name": "apply_patch", "input": "p"},
        {"type": "custom_tool_call_output", "call_id": "c1", "output": "Done"},
        {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search", "query": "x"}},
        {"type": "local_shell_call", "call_id": "c2", "action": {"type": "exec", "command": ["ls"], "env": {}}},
        {"type": "local_shell_call_output", "id": "c2", "output": "a.txt"},
        {"type": "shell_call", "call_id": "c3", "action": {"commands": ["ls"]}},
        {"type": "shell_call_output", "call_id": "c3", "output": [{"stdout": "b", "stderr": ""}]},
        {"type": "function_call", "call_id": "c4", "name": "search", "namespace": "mcp__docs", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c4", "output": "found"},
    ]
    asked = read(RESPONSES, input=history, tools=[DOCS, PATCH])
    parts = [part for message in asked.messages[1:] for part in message.content]
    called = [part.name if isinstance(part, ToolCallPart) else "" for part in parts]
    assert called == ["apply_patch", "", "web_search", "", "local_shell", "", "shell", "", "mcp__docs__search", ""]
    results = [part.content[0] for part in parts if isinstance(part, ToolResultPart)]
    texts = [one.value for one in results if isinstance(one, TextPart)]
    assert texts[0::2] == ["Done", "a.txt", "found"]
    assert texts[3] == '[{"stdout":"b","stderr":""}]'
    assert not asked.unmapped


# ---- Tools of Anthropic Messages ----


def test_dated_tools_that_the_client_runs_have_a_schema() -> None:
    dated = {
        "bash": "bash_20250124",
        "str_replace_based_edit_tool": "text_editor_20250728",
        "memory": "memory_20250818",
        "computer": "computer_20250124",
    }
    size = {"display_width_px": 800, "display_height_px": 600}
    asked = read(MESSAGES, tools=[{"type": kind, "name": name, **size} for name, kind in dated.items()])
    assert names(asked) == list(dated)
    assert [tool.input_schema for tool in asked.options.tools] == [
        KNOWN_TOOLS[kind][1] for kind in list(KNOWN_TOOLS)[:4]
    ]
    assert "800 x 600" in asked.options.tools[3].description
    (block,) = write_document(
        PROTOCOLS[MESSAGES],
        asked,
        [ToolCallPart("c", "bash", {"command": "ls"}), Finish(Outcome.COMPLETED)],
        Reply("i", 0),
    )[1]["content"]
    assert block == {"type": "tool_use", "id": "c", "name": "bash", "input": {"command": "ls"}}


LATER = {"name": "Later", "input_schema": {"type": "object"}, "defer_loading": True}
LOADED = [
    {"role": "user", "content": "Hi"},
    {"role": "assistant", "content": [{"type": "tool_use", "id": "c", "name": "ToolSearch", "input": {}}]},
    {
        "role": "user",
        "content": [
            {
                "type": "tool_result",
                "tool_use_id": "c",
                "content": [{"type": "tool_reference", "tool_name": "Later"}],
            }
        ],
    },
]


@pytest.mark.parametrize(
    ("body", "offered"),
    [
        ({"tools": [LATER]}, []),
        ({"tools": [LATER], "messages": LOADED}, ["Later"]),
        ({"tools": [LATER, {"type": "tool_search_tool_regex_20251119", "name": "tool_search_tool_regex"}]}, ["Later"]),
    ],
    ids=["not loaded", "loaded by a result", "a server would search for it"],
)
def test_a_tool_that_waits_is_offered_once_it_is_loaded(body: dict[str, Any], offered: list[str]) -> None:
    asked = read(MESSAGES, **body)
    assert names(asked) == offered
    assert not asked.unmapped
    results = [part for message in asked.messages for part in message.content if isinstance(part, ToolResultPart)]
    assert [part.content for part in results] == ([(TextPart("The tool Later can be called now."),)] if results else [])


# ---- Tools that servers run ----

OFFERS: dict[str, tuple[str, dict[str, Any]]] = {
    "R": (RESPONSES, {"tools": [{"type": "web_search"}]}),
    "C": (CHAT, {"web_search_options": {}}),
    "M": (MESSAGES, {"tools": [{"type": "web_search_20250305", "name": "web_search"}]}),
    "G": (GEMINI, {"tools": [{"googleSearch": {}}]}),
}
RUN: dict[str, tuple[str, str, Any]] = {
    "R": (RESPONSES, "m", [{"type": "web_search"}]),
    "M": (MESSAGES, "claude-sonnet-4-5", [{"type": "web_search_20250305", "name": "web_search"}]),
    "G": (GEMINI, "gemini-3-pro-preview", [{"googleSearch": {}}]),
}


@one_test_for("upstream", RUN)
@one_test_for("client", OFFERS)
def test_a_search_runs_where_the_upstream_has_one(client: str, upstream: str) -> None:
    wire, body = OFFERS[client]
    to, model, tools = RUN[upstream]
    sent, dropped = written(to, read(wire, **body), model)
    said = [{key: value for key, value in tool.items() if key != "cache_control"} for tool in sent["tools"]]
    assert (said, dropped) == (tools, ())


@pytest.mark.parametrize("client", OFFERS)
def test_an_offer_that_no_upstream_runs_is_named(client: str) -> None:
    wire, body = OFFERS[client]
    asked = read(wire, **body)
    sent, dropped = written(CHAT, asked)
    assert "tools" not in sent
    assert dropped == (asked.hosted_tools[0].where,)
    assert written(CHAT, asked, "gpt-4o-search-preview")[0]["web_search_options"] == {}


def test_details_go_on_where_they_have_a_place() -> None:
    tool = {"type": "web_search_20250305", "name": "web_search", "allowed_domains": ["a.example"], "max_uses": 8}
    sent, dropped = written(RESPONSES, read(MESSAGES, tools=[tool]))
    assert sent["tools"] == [{"type": "web_search", "filters": {"allowed_domains": ["a.example"]}}]
    assert dropped == ("tools[].web_search_20250305.max_uses",)
    back, _ = written(MESSAGES, read(RESPONSES, tools=sent["tools"]), "claude-sonnet-4-5")
    assert back["tools"][0]["allowed_domains"] == ["a.example"]


PLACE = {"city": "Bremen", "country": "DE"}
NEAR = {"type": "approximate", **PLACE}
NESTED = {"user_location": {"type": "approximate", "approximate": PLACE}}


def test_where_the_user_is_goes_on_in_the_form_of_each_wire() -> None:
    asked = read(CHAT, web_search_options=NESTED)
    assert written(RESPONSES, asked)[0]["tools"][0]["user_location"] == NEAR
    assert written(MESSAGES, asked, "claude-sonnet-4-5")[0]["tools"][0]["user_location"] == NEAR
    asked = read(RESPONSES, tools=[{"type": "web_search", "user_location": NEAR}])
    assert written(CHAT, asked, "gpt-4o-search-preview")[0]["web_search_options"] == NESTED
    assert written(GEMINI, asked, "gemini-3-pro-preview")[1] == ("tools[].web_search.user_location",)


DEMAND = {"type": "tool", "name": "web_search"}


@pytest.mark.parametrize(
    ("upstream", "model", "choice"),
    [
        (RESPONSES, "m", {"type": "web_search"}),
        (MESSAGES, "claude-sonnet-4-5", DEMAND),
    ],
)
def test_a_demanded_search_is_demanded_of_the_upstream(upstream: str, model: str, choice: dict[str, Any]) -> None:
    asked = read(MESSAGES, **OFFERS["M"][1], tool_choice=DEMAND)
    assert written(upstream, asked, model)[0]["tool_choice"] == choice


def test_a_demanded_search_that_no_upstream_runs_is_refused() -> None:
    asked = read(MESSAGES, **OFFERS["M"][1], tool_choice=DEMAND)
    with pytest.raises(RequestNotExpressibleError) as refused:
        written(CHAT, asked)
    assert refused.value.where == "tool_choice"


def test_a_demanded_tool_that_nothing_reads_is_refused_only_where_the_request_is_translated() -> None:
    asked = read(RESPONSES, tools=[{"type": "mcp", "server_label": "a"}], tool_choice={"type": "mcp"})
    assert asked.dropped == ("tools[].mcp",)
    with pytest.raises(RequestNotExpressibleError) as refused:
        written(CHAT, asked)
    assert refused.value.where == "tool_choice"


def test_an_older_gemini_runs_what_is_demanded_in_place_of_functions() -> None:
    function = {"name": "f", "input_schema": {"type": "object"}}
    tools = [*OFFERS["M"][1]["tools"], function]
    demanded = read(MESSAGES, tools=tools, tool_choice=DEMAND)
    sent, dropped = written(GEMINI, demanded, "gemini-2.5-flash")
    assert (sent["tools"], dropped) == ([{"googleSearch": {}}], ("tool_choice",))
    sent, dropped = written(GEMINI, read(MESSAGES, tools=tools), "gemini-2.5-flash")
    assert [list(tool) for tool in sent["tools"]] == [["functionDeclarations"]]
    assert dropped == ("tools[].web_search_20250305",)


# ---- Choices that name nothing ----

F = {"R": {"type": "function", "name": "f"}, "C": {"type": "function", "function": {"name": "f"}}}


@one_test_for(
    ("wire", "body", "where"),
    [
        (RESPONSES, {"tools": [F["R"]], "tool_choice": {"type": "function", "name": "g"}}, "tool_choice.name"),
        (RESPONSES, {"tools": [F["R"]], "tool_choice": {"type": "custom", "name": "g"}}, "tool_choice.name"),
        (RESPONSES, {"tools": [F["R"]], "tool_choice": {"type": "mcp", "server_label": "x"}}, "tool_choice"),
        (RESPONSES, {"tools": [F["R"]], "tool_choice": {"type": "web_search"}}, "tool_choice"),
        (
            RESPONSES,
            {"tools": [F["R"]], "tool_choice": {"type": "allowed_tools", "tools": [{"type": "function", "name": "g"}]}},
            "tool_choice.tools",
        ),
        (
            CHAT,
            {"tools": [F["C"]], "tool_choice": {"type": "function", "function": {"name": "g"}}},
            "tool_choice.function.name",
        ),
        (MESSAGES, {"tools": [], "tool_choice": {"type": "tool", "name": "g"}}, "tool_choice.name"),
        (
            GEMINI,
            {"toolConfig": {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["g"]}}},
            "toolConfig.functionCallingConfig.mode",
        ),
    ],
)
def test_a_choice_of_a_tool_that_is_not_there_is_refused(wire: str, body: dict[str, Any], where: str) -> None:
    with pytest.raises(InvalidRequestError) as refused:
        read(wire, **body)
    assert refused.value.where == where
