"""Completions of an upstream: which endpoint is asked, with what, and what is read of its answer."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from listening import deliver, listening
from partstream import CompletionRequest, CompletionSnippet, LanguageModelError, RequestOptions
from partstream.lm.completions import COMPLETION
from partstream.lm.outputs import Finish, Outcome
from partstream.lm.parts import DataPart
from partstream.protocols.completions import TEMPLATES, template_for
from partstream.settings.known_servers import known_server
from partstream.upstream import completing
from partstream.upstream.completing import ways_at
from partstream.upstream.configuration import CompletionWay
from partstream_devtools.testing.faults import End, Head, Send
from rows import one_test_for
from upstreams.upstreams import MODEL, Answer, configuration, gateway_to, respond, run

REQUEST = CompletionRequest("def f(", "):\n", "python", "f.py", [CompletionSnippet("g.py", "def g(x): ...\n")])
OPTIONS = RequestOptions(
    model_options={COMPLETION: REQUEST.fields, "max_tokens": 9, "stop": ["\n\n"], "temperature": 0.2}
)
SUFFIX = ({"choices": [{"text": "a, ", "index": 0}]}, {"choices": [{"text": "b", "finish_reason": "stop"}]},
          {"choices": [], "usage": {"prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 7}})  # fmt: skip
CHAT = ({"choices": [{"index": 0, "delta": {"content": "```python\ndef f(a, b"}}]},
        {"choices": [{"index": 0, "delta": {"content": "\n```"}, "finish_reason": "stop"}]})  # fmt: skip
INFILL = ({"content": "a, ", "stop": False},
          {"content": "b", "stop": True, "stop_type": "eos", "tokens_evaluated": 5, "tokens_predicted": 2})  # fmt: skip
OLLAMA = ({"model": "m", "response": "a, ", "done": False},
          {"model": "m", "response": "b", "done": True, "done_reason": "stop", "prompt_eval_count": 5,
           "eval_count": 2})  # fmt: skip
MISTRAL = ({"choices": [{"index": 0, "delta": {"role": "assistant", "content": "a, "}}]},
           {"choices": [{"index": 0, "delta": {"content": "b"}, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 7}})  # fmt: skip


def _steps(said: Any) -> list[Any]:
    """A stream of events, lines for Ollama; or an error, as a status and a message."""
    if isinstance(said[0], int):
        status, message = said
        body = json.dumps({"error": {"message": message}}).encode()
        return [Head(status, (("content-type", "application/json"),)), Send(body), End()]
    is_lines = "response" in said[0]
    kind = "application/x-ndjson" if is_lines else "text/event-stream"
    events = [json.dumps(one).encode() for one in said]
    pieces = [one + b"\n" if is_lines else b"data: %b\n\n" % one for one in events]
    if "choices" in said[0]:
        pieces.append(b"data: [DONE]\n\n")
    return [Head(200, (("content-type", kind),)), *map(Send, pieces), End()]


class Ends(Answer):
    finished: Finish | None = None

    def finish(self, finish: Finish) -> None:
        self.finished = finish


async def _completed(
    answers: Mapping[str, Any], *model_ids: str, path: str = "/v1", **changes: Any
) -> tuple[list[Ends], list[tuple[str, dict[str, Any]]]]:
    """What a gateway says to a request for a completion, and what the server was asked."""
    asked = []

    async def serve(connection: Any) -> None:
        while (request := await connection.next_request()) is not None:
            asked.append((request.path, json.loads(request.body or b"{}")))
            await deliver(connection, request, _steps(answers.get(request.path, (404, "no such path"))))

    said = []
    async with listening(serve) as url, gateway_to(f"{url}{path}", **changes) as gateway:
        for model_id in model_ids or ("text",):
            said.append(answer := Ends())
            await respond(gateway, REQUEST.messages, answer, model_id=model_id, options=OPTIONS)
    return said, asked


CHAT_WIRE = {"protocol": "chat-completions"}


@one_test_for(
    ("way", "answers", "model", "path", "changes", "fields"),
    [
        pytest.param(
            "suffix", {"/v1/completions": SUFFIX}, "text", "/v1", CHAT_WIRE,
            {"prompt": "# g.py\n# def g(x): ...\ndef f(", "suffix": "):\n", "stop": ["\n\n"], "max_tokens": 9,
             "temperature": 0.2, "stream": True},
            id="suffix",
        ),
        pytest.param(
            "template", {"/v1/completions": SUFFIX}, "Qwen/Qwen2.5-Coder-7B", "/v1", CHAT_WIRE,
            {"prompt": "<|file_sep|>g.py\ndef g(x): ...\n\n<|file_sep|>f.py\n<|fim_prefix|>def f(<|fim_suffix|>):\n"
             "<|fim_middle|>", "max_tokens": 9},
            id="template",
        ),
        pytest.param(
            "infill", {"/infill": INFILL}, "text", "/v1", {**CHAT_WIRE, "completions": CompletionWay.INFILL},
            {"input_prefix": "def f(", "input_suffix": "):\n", "n_predict": 9, "stop": ["\n\n"],
             "input_extra": [{"filename": "g.py", "text": "def g(x): ...\n"}]},
            id="infill",
        ),
        pytest.param(
            "ollama", {"/api/generate": OLLAMA}, "text", "/api", {"protocol": "ollama"},
            {"prompt": "# g.py\n# def g(x): ...\ndef f(", "suffix": "):\n",
             "options": {"num_predict": 9, "temperature": 0.2, "stop": ["\n\n"], "num_ctx": 2000}},
            id="Ollama",
        ),
        pytest.param(
            "mistral", {"/v1/fim/completions": MISTRAL}, "codestral-latest", "/v1",
            {**CHAT_WIRE, "completions": CompletionWay.MISTRAL},
            {"prompt": "# g.py\n# def g(x): ...\ndef f(", "suffix": "):\n", "max_tokens": 9},
            id="Mistral",
        ),
    ],
)  # fmt: skip
def test_each_endpoint_gets_the_cursor_in_its_own_words(way, answers, model, path, changes, fields):
    async def main():
        [said], asked = await _completed(answers, model, path=path, **changes)
        assert said.text == "a, b"
        assert [one for one, _ in asked] == [*answers]
        body = asked[0][1]
        assert {name: body.get(name) for name in fields} == fields
        assert body["model"] == model
        assert said.finished.outcome is Outcome.COMPLETED
        usage = said.finished.usage
        assert (usage.input_tokens, usage.output_tokens) == (5, 2)
        assert any(isinstance(part, DataPart) for part in said.parts)  # the usage, for hosts

    run(main())


@one_test_for(
    ("refusal",),
    [
        pytest.param((404, "Not Found"), id="no path"),
        pytest.param((400, "suffix is not currently supported"), id="vLLM"),
        pytest.param((501, "Infill is not supported by this model"), id="llama.cpp"),
        pytest.param((500, "Unsupported param: suffix"), id="older llama.cpp"),
    ],
)
def test_a_way_that_is_refused_is_left_for_a_chat_and_not_asked_again(refusal):
    async def main():
        answers = {"/v1/completions": refusal, "/v1/chat/completions": CHAT}
        said, asked = await _completed(answers, "text", "text", **CHAT_WIRE)
        assert [one.text for one in said] == ["a, b", "a, b"]  # without the fence and the repeated line
        assert [path for path, _ in asked] == ["/v1/completions", "/v1/chat/completions", "/v1/chat/completions"]
        assert "def f(<|cursor|>):" in asked[1][1]["messages"][-1]["content"]

    run(main())


def test_the_ways_of_the_models_that_were_asked_last_are_remembered_and_no_more(monkeypatch):
    monkeypatch.setattr(completing, "MOST_KNOWN", 2)

    async def main():
        answers = {"/v1/completions": (404, "Not Found"), "/v1/chat/completions": CHAT}
        _, asked = await _completed(answers, *"ababcab", **CHAT_WIRE)
        assert [body["model"] for path, body in asked if path == "/v1/completions"] == [*"abcab"]

    run(main())


@pytest.mark.parametrize("refusal", [(401, "the key is wrong"), (429, "slow down"), (503, "busy")])
def test_an_error_that_holds_for_every_way_is_the_answer(refusal):
    async def main():
        with pytest.raises(LanguageModelError, match=refusal[1]):
            await _completed({"/v1/completions": refusal, "/v1/chat/completions": CHAT}, retry=None, **CHAT_WIRE)

    run(main())


def test_nothing_at_the_cursor_is_an_answer_too():
    async def main():
        nothing = ({"choices": [{"text": "", "finish_reason": "stop"}]},)
        [said], _ = await _completed({"/v1/completions": nothing}, **CHAT_WIRE)
        assert (said.text, said.finished.outcome) == ("", Outcome.COMPLETED)

    run(main())


def test_a_stream_that_breaks_off_is_an_error():
    async def main():
        with pytest.raises(LanguageModelError, match="ended before"):
            await _completed({"/infill": INFILL[:1]}, completions=CompletionWay.INFILL, **CHAT_WIRE)

    run(main())


@one_test_for(
    ("server", "protocol", "model", "base_url", "ways"),
    [
        pytest.param("llama.cpp", "chat-completions", "m", "/v1", ["/infill", "chat"], id="llama.cpp"),
        pytest.param(
            "llama.cpp", "openresponses", "starcoder2", "/v1", ["/infill", "/v1 template", "chat"], id="known tokens"
        ),
        pytest.param("ollama", "ollama", "m", "/api", ["/api ollama", "chat"], id="Ollama"),
        pytest.param(
            "ollama", "chat-completions", "codellama", "/v1",
            ["/api ollama", "/api ollama-template", "chat"], id="Ollama at /v1",
        ),
        pytest.param("mistral", "chat-completions", "m", "/v1", ["/v1 mistral", "chat"], id="Mistral"),
        pytest.param("deepseek", "chat-completions", "m", "/v1", ["/beta suffix", "chat"], id="DeepSeek"),
        pytest.param("vllm", "openresponses", "qwen3-coder", "/v1", ["/v1 template", "/v1 suffix", "chat"], id="vLLM"),
        pytest.param("anthropic", "anthropic-messages", "m", "/v1", ["chat"], id="Anthropic"),
        pytest.param("", "gemini", "m", "/v1beta", ["chat"], id="Gemini"),
        pytest.param("", "openresponses", "m", "/v1", ["/v1 suffix", "chat"], id="unknown"),
    ],
)  # fmt: skip
def test_the_ways_follow_the_server_the_protocol_and_the_family(server, protocol, model, base_url, ways):
    at = configuration(f"http://127.0.0.1:1{base_url}", protocol=protocol, models=(MODEL,))
    found = ways_at(at, known_server(server) if server else None, model)
    shown = [
        "chat" if one.protocol is None else f"{one.base_url.removeprefix('http://127.0.0.1:1')} {one.kind.value}"
        for one in found
    ]
    assert shown == [one.replace("/infill", " infill") for one in ways]


@one_test_for(
    ("model", "begins"),
    [
        pytest.param("qwen2.5-coder:1.5b", "<|fim_prefix|>P<|fim_suffix|>S<|fim_middle|>", id="Qwen"),
        pytest.param("bigcode/starcoder2-3b", "<fim_prefix>P<fim_suffix>S<fim_middle>", id="StarCoder"),
        pytest.param("granite-8b-code-base", "<fim_prefix>P<fim_suffix>S<fim_middle>", id="Granite"),
        pytest.param("CodeLlama-7b-hf", "<PRE> P <SUF>S <MID>", id="CodeLlama"),
        pytest.param(
            "deepseek-coder-6.7b-base",
            "<\uff5cfim\u2581begin\uff5c>P<\uff5cfim\u2581hole\uff5c>S<\uff5cfim\u2581end\uff5c>",
            id="DeepSeek",
        ),
        pytest.param("Codestral-22B-v0.1", "[SUFFIX]S[PREFIX]P", id="Codestral"),
        pytest.param("codegemma-2b", "<|fim_prefix|>P<|fim_suffix|>S<|fim_middle|>", id="CodeGemma"),
    ],
)
def test_a_family_has_its_own_tokens(model, begins):
    template = template_for(model)
    assert template is not None
    assert template.write(CompletionRequest("P", "S")) == begins


def test_every_family_has_a_source_and_other_models_have_no_template():
    assert all(one.source for one in TEMPLATES)
    others = ("gpt-4o", "llama3.1", "SmolLM2-135M-Instruct", "mamba-codestral-7b", "qwen2.5-7b", "granite-4.0-h-tiny")
    assert [template_for(one) for one in others] == [None] * len(others)


def test_a_prefix_that_looks_like_a_place_of_the_template_stays():
    template = template_for("codellama")
    assert template is not None
    assert template.write(CompletionRequest("{suffix}", "{prefix}")) == "<PRE> {suffix} <SUF>{prefix} <MID>"
