"""The vendors of `make interop TRY=agents`: they refuse what real ones refuse, and answer as the official types say."""

import asyncio
import json
from pathlib import Path
from typing import Any

import httpx
import pytest
import websockets

from interop.clients.agents.workers import WORKERS
from interop.clients.vendors.chat import Chat
from interop.clients.vendors.gemini import Gemini
from interop.clients.vendors.messages import Messages
from interop.clients.vendors.official_types import Wrong, mismatches
from interop.clients.vendors.responses import Responses
from interop.clients.vendors.vendor import Answer, Asked, Call, Say, Think, Vendor, VendorWire
from interop.freshness.census import read_kept
from partstream.protocols.failures import RefusedRequestError
from rows import one_test_for

RESULTS = json.loads((Path(__file__).parent.parent / "interop/clients/agents/results.json").read_text(encoding="utf-8"))
MODEL, SIGNED = "model-1", "signed-1"
GIVEN = {SIGNED: "A thought."}
WIRES: dict[str, VendorWire] = {wire.name: wire for wire in (Responses(), Messages(), Chat(), Gemini())}

SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}}
CALL = {"type": "function_call", "call_id": "c1", "name": "read", "arguments": "{}"}
RESULT = {"type": "function_call_output", "call_id": "c1", "output": "apple"}
REASONING = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": SIGNED}
THINKING = {"type": "thinking", "thinking": "A thought.", "signature": SIGNED}
USE = {"type": "tool_use", "id": "t1", "name": "read", "input": {}}
USED = {"type": "tool_result", "tool_use_id": "t1", "content": "apple"}
ASKED = {"role": "user", "content": "Read."}
FUNCTION = {"functionCall": {"name": "read", "args": {}}, "thoughtSignature": SIGNED}

PLAIN: dict[str, tuple[str, dict[str, str], dict[str, Any]]] = {
    "openresponses": (
        "/v1/responses",
        {"authorization": "Bearer k"},
        {
            "model": MODEL,
            "stream": True,
            "store": False,
            "input": [ASKED, REASONING, CALL, RESULT],
            "tools": [{"type": "function", "name": "read", "parameters": SCHEMA, "strict": False}],
        },
    ),
    "anthropic-messages": (
        "/v1/messages",
        {"x-api-key": "k", "anthropic-version": "2023-06-01"},
        {
            "model": MODEL,
            "stream": True,
            "max_tokens": 100,
            "thinking": {"type": "adaptive"},
            "messages": [ASKED, {"role": "assistant", "content": [THINKING, USE]}, {"role": "user", "content": [USED]}],
            "tools": [{"name": "read", "input_schema": SCHEMA}],
        },
    ),
    "chat-completions": (
        "/v1/chat/completions",
        {"authorization": "Bearer k"},
        {
            "model": MODEL,
            "stream": True,
            "stream_options": {"include_usage": True},
            "messages": [ASKED],
            "tools": [{"type": "function", "function": {"name": "read", "parameters": SCHEMA}}],
        },
    ),
    "gemini": (
        f"/v1beta/models/{MODEL}:streamGenerateContent",
        {"x-goog-api-key": "k"},
        {
            "contents": [
                {"role": "user", "parts": [{"text": "Read."}]},
                {"role": "model", "parts": [FUNCTION]},
                {"role": "user", "parts": [{"functionResponse": {"name": "read", "response": {"output": "apple"}}}]},
            ],
            "tools": [{"functionDeclarations": [{"name": "read", "parametersJsonSchema": SCHEMA}]}],
        },
    ),
}


def asked(wire: str, headers: dict[str, str] | None = None, **fields: Any) -> Asked:
    path, usual, body = PLAIN[wire]
    said = {name: value for name, value in {**body, **fields}.items() if value is not None}
    return Asked(1, path, usual if headers is None else headers, said, "answer")


@one_test_for("wire", WIRES)
def test_a_vendor_takes_what_its_official_client_sends(wire: str):
    WIRES[wire].check(asked(wire), (MODEL,), GIVEN)


@one_test_for(
    ("wire", "request_", "says"),
    [
        ("openresponses", {"headers": {}}, "Missing bearer"),
        ("openresponses", {"model": "other"}, "does not exist"),
        ("openresponses", {"foo": 1}, "Unknown parameter: 'foo'"),
        ("openresponses", {"input": [{**ASKED, "foo": 1}]}, "Unknown parameter: 'input[0].foo'"),
        ("openresponses", {"tools": [{"type": "magic", "name": "x"}]}, "Invalid value: 'magic'"),
        ("openresponses", {"input": [ASKED, CALL]}, "No tool output found for function call c1"),
        ("openresponses", {"input": [ASKED, RESULT]}, "No tool call found for function call output with call_id c1"),
        ("openresponses", {"input": [ASKED, {**REASONING, "encrypted_content": "x"}, CALL, RESULT]}, "be verified"),
        ("openresponses", {"input": [ASKED, REASONING]}, "without its required following item"),
        ("openresponses", {"input": [ASKED, {"type": "reasoning", "id": "rs", "summary": []}, ASKED]}, "not persisted"),
        ("openresponses", {"tool_choice": {"type": "function", "name": "other"}}, "not found in 'tools'"),
        ("openresponses", {"tool_choice": "required", "tools": None}, "only allowed when 'tools'"),
        ("openresponses", {"max_output_tokens": 500_000}, "above maximum value"),
        ("openresponses", {"temperature": 0.5}, "Unsupported parameter: 'temperature'"),
        ("openresponses", {"previous_response_id": "resp_0"}, "not found"),
        ("openresponses", {"input": [{"type": "compaction_trigger"}, ASKED]}, "must be the final input item"),
        ("anthropic-messages", {"headers": {"x-api-key": "k"}}, "anthropic-version: header is required"),
        ("anthropic-messages", {"model": "other"}, "model: other"),
        ("anthropic-messages", {"foo": 1}, "foo: Extra inputs are not permitted"),
        ("anthropic-messages", {"context_management": {"edits": []}}, "context_management: Extra inputs"),
        ("anthropic-messages", {"tools": [{"type": "magic_1", "name": "x"}]}, "Input should be"),
        ("anthropic-messages", {"messages": [ASKED, {"role": "assistant", "content": [USE]}, ASKED]}, "`tool_use` ids"),
        ("anthropic-messages", {"messages": [{"role": "user", "content": [USED]}]}, "unexpected `tool_use_id`"),
        ("anthropic-messages", {"tool_choice": {"type": "tool", "name": "other"}}, "not found in provided tools"),
        ("anthropic-messages", {"max_tokens": 500_000}, "maximum allowed number of output tokens"),
        ("chat-completions", {"foo": 1}, "Unknown parameter: 'foo'"),
        ("chat-completions", {"max_completion_tokens": 500_000}, "max_tokens is too large"),
        ("chat-completions", {"tool_choice": "required", "tools": None}, "only allowed when 'tools'"),
        (
            "chat-completions",
            {"messages": [ASKED, {"role": "tool", "tool_call_id": "c1", "content": ""}]},
            "must be a response to",
        ),
        ("gemini", {"headers": {}}, "unregistered callers"),
        ("gemini", {"foo": 1}, 'Unknown name "foo"'),
        ("gemini", {"contents": [{"role": "user", "parts": [{"text": 1}]}]}, "Invalid value at 'contents[0].parts"),
        ("gemini", {"generationConfig": {"maxOutputTokens": 500_000}}, "supported range"),
        ("gemini", {"toolConfig": {"functionCallingConfig": {"allowedFunctionNames": ["x"]}}}, "function declarations"),
    ],
)
def test_a_vendor_refuses_what_the_real_one_refuses(wire: str, request_: dict[str, Any], says: str):
    with pytest.raises(RefusedRequestError) as raised:
        WIRES[wire].check(asked(wire, **request_), (MODEL,), GIVEN)
    assert says in str(raised.value)


@one_test_for("wire", WIRES)
def test_a_changed_signature_is_refused(wire: str):
    if wire != "chat-completions":  # it has none
        with pytest.raises(RefusedRequestError, match=r"verified|Invalid `signature`|Corrupted"):
            WIRES[wire].check(asked(wire), (MODEL,), {})


@one_test_for("wire", WIRES)
def test_answers_are_of_the_official_types_and_bring_a_call_in_the_form_of_the_tool(wire: str):
    kept, answer = read_kept(wire), Answer([Think("Hm."), Call("read", {"path": "one.txt"}), Say("Done.")])
    events = [event for _, event in WIRES[wire].events(answer, asked(wire), lambda _text: SIGNED)]
    for event in events:
        said = [] if event == "[DONE]" else mismatches(event, kept["roots"]["event"], kept["types"])
        # Google's chunks and OpenAI's answers have fields more than their types, which clients pass over.
        assert [one for one in said if one.wrong is Wrong.MISSING] == []
    assert "one.txt" in json.dumps(events)


@one_test_for(
    ("value", "kind", "wrong"),
    [
        ("x", "string", []),
        (True, "integer", [((), Wrong.TYPE)]),
        ("c", {"words": ["a", "b"]}, [((), Wrong.WORD)]),
        ([1, "x"], {"list": "integer"}, [((1,), Wrong.TYPE)]),
        ({"a": "x"}, {"map": "integer"}, [(("a",), Wrong.TYPE)]),
        ({"type": "b", "size": "x"}, {"one": [{"is": "A"}, {"is": "B"}]}, [(("size",), Wrong.TYPE)]),
        ({"type": "a", "size": 1}, {"one": [{"is": "A"}, {"is": "B"}]}, [(("size",), Wrong.UNKNOWN)]),
        ({"type": "b"}, {"is": "B"}, [(("size",), Wrong.MISSING)]),
        ({"type": "a", "note": None}, {"is": "A"}, []),
        (1, {"one": ["string", {"is": "A"}]}, [((), Wrong.TYPE)]),
    ],
)
def test_a_value_is_held_against_its_type(value: Any, kind: Any, wrong: list[Any]):
    types = {
        "A": {"required": ["type"], "fields": {"type": {"words": ["a"]}, "note": "string"}},
        "B": {"required": ["type", "size"], "fields": {"type": {"words": ["b"]}, "size": "integer"}},
    }
    assert [(one.path, one.wrong) for one in mismatches(value, kind, types)] == wrong


def test_a_vendor_answers_and_refuses_over_http_and_remembers_a_connection():
    asyncio.run(_over_http_and_socket())


async def _over_http_and_socket():
    vendor = Vendor(Responses(), (MODEL,), lambda _asked: Answer([Say("Done.")]))
    async with vendor.listening(), httpx.AsyncClient(headers={"authorization": "Bearer k"}) as client:
        url = f"{vendor.url}/responses"
        whole = (await client.post(url, json={"model": MODEL, "input": "Hi"})).json()
        assert whole["output"][0]["content"][0]["text"] == "Done."
        refused = await client.post(url, json={"model": MODEL, "input": "Hi", "foo": 1})
        assert (refused.status_code, refused.json()["error"]["code"]) == (400, "unknown_parameter")
        assert (await client.post(f"{vendor.url}/nothing")).status_code == 404

        address = url.replace("http", "ws")
        async with websockets.connect(address, additional_headers={"authorization": "Bearer k"}) as socket:
            said: list[Any] = []
            for more in ({"generate": False}, {"previous_response_id": "resp_3"}):
                body = {"type": "response.create", "model": MODEL, "input": [ASKED], **more}
                await socket.send(json.dumps(body))
                while not said or said[-1]["type"] != "response.completed":
                    said.append(json.loads(await asyncio.wait_for(socket.recv(), 5)))
                assert len(vendor.log[-1].body["input"]) == (1 if "generate" in more else 2)
                outputs, said = said[-1]["response"]["output"], []
            assert outputs[0]["content"][0]["text"] == "Done."
    assert [one.refused[:17] for one in vendor.log] == ["", "Unknown parameter", "", ""]


def test_the_results_have_each_job_of_each_way_at_the_pinned_version():
    for worker in WORKERS:
        result = RESULTS[worker.name]
        assert result["package"] == worker.package
        assert {way: list(seen) for way, seen in result["seen"].items()} == {
            way.name: list(worker.jobs(way)) for way in worker.ways
        }
