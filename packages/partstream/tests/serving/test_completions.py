"""`/v1/completions`, asked by OpenAI's official client on loopback; docs/completions.md shows the call."""

from __future__ import annotations
from typing import TYPE_CHECKING, Any

import pytest

from partstream import CompletionRequest, LanguageModelError, chat_model, completion_model
from partstream.lm.outputs import Finish, Outcome
from partstream.lm.parts import FinishReason, ThinkingPart, UnifiedFinishReason, Usage
from serving.test_openai_client import ask

if TYPE_CHECKING:
    from pathlib import Path

    from openai import AsyncOpenAI

ASKED: dict[str, Any] = {"model": "fill", "prompt": "def f(", "suffix": "):\n", "max_tokens": 9, "stop": ["\n"]}
SEEN: list[CompletionRequest] = []


@completion_model
async def fill(request: CompletionRequest) -> Any:
    SEEN.append(request)
    if request.prefix == "fail":
        raise LanguageModelError("the machine is off")
    yield "a, "
    yield "b"


@chat_model(name="long")
async def long(messages: Any, options: Any) -> Any:
    assert options.model_options["max_tokens"] == 9
    yield ThinkingPart("hm")
    yield "a" if "def f(<|cursor|>):" in messages[-1].content[0].value else "?"
    yield Finish(Outcome.INCOMPLETE, FinishReason(UnifiedFinishReason.LENGTH), Usage(7, 9, 16))


def test_a_whole_completion_has_text_reason_and_usage(tmp_path: Path) -> None:
    async def use(client: AsyncOpenAI) -> Any:
        return await client.completions.create(**ASKED)

    SEEN.clear()
    said = ask(tmp_path, use, fill)
    assert [one.model_dump() for one in said.choices] == [
        {"finish_reason": "stop", "index": 0, "logprobs": None, "text": "a, b"}
    ]
    assert (said.object, said.model, said.id[:5]) == ("text_completion", "fill", "cmpl-")
    assert said.usage.total_tokens == said.usage.prompt_tokens + said.usage.completion_tokens > 0
    assert [CompletionRequest("def f(", "):\n")] == SEEN


def test_a_stream_has_a_chunk_for_each_piece_and_its_usage_last(tmp_path: Path) -> None:
    async def use(client: AsyncOpenAI) -> Any:
        stream = await client.completions.create(**ASKED, stream=True, stream_options={"include_usage": True})
        return [chunk async for chunk in stream]

    chunks = ask(tmp_path, use, fill)
    assert [[choice.text for choice in one.choices] for one in chunks] == [["a, "], ["b"], [""], []]
    assert [choice.finish_reason for one in chunks for choice in one.choices] == [None, None, "stop"]
    assert chunks[-1].usage.completion_tokens > 0


def test_a_chat_model_gets_the_cursor_in_a_message_and_its_thinking_is_left_out(tmp_path: Path) -> None:
    async def use(client: AsyncOpenAI) -> Any:
        return await client.completions.create(**{**ASKED, "model": "long"})

    said = ask(tmp_path, use, long)
    assert (said.choices[0].text, said.choices[0].finish_reason) == ("a", "length")
    assert said.usage.prompt_tokens == 7


def test_the_prompt_is_repeated_where_the_client_wants_it(tmp_path: Path) -> None:
    async def use(client: AsyncOpenAI) -> Any:
        return await client.completions.create(**ASKED, echo=True)

    assert ask(tmp_path, use, fill).choices[0].text == "def f(a, b"


def test_what_reaches_no_model_is_named(tmp_path: Path) -> None:
    async def use(client: AsyncOpenAI) -> Any:
        return (await client.completions.with_raw_response.create(**ASKED, logprobs=3)).headers

    assert ask(tmp_path, use, fill)["x-partstream-dropped"] == "logprobs"


@pytest.mark.parametrize(
    ("changed", "status", "said"),
    [
        pytest.param({"n": 2}, 400, "n: got 2", id="several answers"),
        pytest.param({"best_of": 3}, 400, "best_of: got 3", id="the best of several"),
        pytest.param({"prompt": [1, 2]}, 400, "prompt: got a list of 2", id="tokens"),
        pytest.param({"prompt": 3}, 400, "prompt: got int", id="no text"),
        pytest.param({"suffix": 3}, 400, "suffix: got int", id="suffix"),
        pytest.param({"model": "none"}, 404, "none", id="unknown model"),
        pytest.param({"prompt": "fail"}, 500, "the machine is off", id="the model fails"),
    ],
)
def test_errors_are_those_of_openai(tmp_path: Path, changed: dict[str, Any], status: int, said: str) -> None:
    import openai

    async def use(client: AsyncOpenAI) -> Any:
        with pytest.raises(openai.APIStatusError) as caught:
            await client.completions.create(**{**ASKED, **changed})
        return caught.value

    error = ask(tmp_path, use, fill)
    assert error.status_code == status
    assert said in error.body["message"]


def test_no_key_is_no_answer(tmp_path: Path) -> None:
    import openai

    async def use(client: AsyncOpenAI) -> Any:
        with pytest.raises(openai.AuthenticationError):
            await client.with_options(api_key="another").completions.create(**ASKED)

    ask(tmp_path, use, fill)
