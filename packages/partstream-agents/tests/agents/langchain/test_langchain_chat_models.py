"""Chat models of LangChain as models: what of their messages is shown, and what goes back to them."""

import asyncio
from base64 import b64encode
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from langchain_core.language_models import FakeListChatModel
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from scenarios import READ_FILE, Called, Chat, ModelScript, Step
from scripted_langchain import ScriptedChatModel

from partstream import (
    CancellationTokenSource,
    ChatMessage,
    DataPart,
    LanguageModelError,
    RequestOptions,
    TextPart,
    ToolArgumentsError,
    TruncatedStreamError,
    UnifiedFinishReason,
)
from partstream.lm.messages import ToolMode
from partstream.lm.parts import ToolCallPart, ToolResultPart
from partstream_agents import as_model
from partstream_agents.run import RunStates

READ = Called("outer_1", "read_file", {"path": "a.py"})
PNG = b"\x89PNG\r\n\x1a\n" + bytes(16)


class Saying(BaseChatModel):
    """Streams the given chunks.

    Attributes:
        chunks: The chunks.
        bound: The tools and settings that it was given.
        seen: The messages and settings of each request.
    """

    chunks: list[Any]
    bound: Any = None
    seen: list[Any] = []  # noqa: RUF012 - pydantic copies it

    @property
    def _llm_type(self) -> str:
        return "saying"

    def bind_tools(self, tools: Any, **settings: Any) -> Any:
        self.bound = (tools, settings)
        return self

    def _generate(self, messages: Any, stop: Any = None, run_manager: Any = None, **settings: Any) -> ChatResult:
        raise AssertionError("the model is streamed")

    async def _astream(
        self, messages: Any, stop: Any = None, run_manager: Any = None, **settings: Any
    ) -> AsyncIterator[ChatGenerationChunk]:
        self.seen.append((messages, settings))
        for chunk in self.chunks:
            yield ChatGenerationChunk(message=chunk)


def chat_with(model: Any, folder: Path) -> Chat:
    return Chat(as_model(model, name="Model", states=RunStates(folder)))


def said(folder: Path, *chunks: AIMessageChunk, fails: bool = False) -> Any:
    return asyncio.run(chat_with(Saying(chunks=list(chunks)), folder).say("Hi", fails=fails))


def block(kind: str, **fields: Any) -> AIMessageChunk:
    return AIMessageChunk([{"type": kind, **fields}])


# ---- what is shown ----


def test_thinking_in_a_field_of_its_own_is_thinking(tmp_path: Path):
    answer = said(tmp_path, AIMessageChunk("", additional_kwargs={"reasoning_content": "Hm."}), AIMessageChunk("Yes"))
    assert answer.thinking == "Hm."
    assert answer.text == "Yes"


@pytest.mark.parametrize("spoil", [str, lambda said: said.rstrip("="), lambda said: f"{said[:8]} {said[8:]}\n"])
def test_an_image_is_a_data_part(tmp_path: Path, spoil: Callable[[str], str]):
    image = block("image", base64=spoil(b64encode(PNG).decode()), mime_type="image/png", index=0)
    answer = said(tmp_path, image)
    assert DataPart(PNG, "image/png") in answer.parts


def test_an_image_that_is_an_address_is_a_picture_in_markdown(tmp_path: Path):
    answer = said(tmp_path, block("image", url="https://example.com/cat.png", index=0))
    assert answer.text.strip() == "![image](https://example.com/cat.png)"


def test_a_source_is_a_link_behind_the_text(tmp_path: Path):
    annotation = {"type": "citation", "url": "https://example.com/", "title": "Example"}
    answer = said(tmp_path, block("text", text="It is so.", annotations=[annotation], index=0))
    assert answer.text == "It is so. [Example](https://example.com/)"


def test_a_tool_that_the_server_runs_is_inner_work(tmp_path: Path):
    call = block("server_tool_call", id="s1", name="web_search", args={"query": "tea"}, index=0)
    result = block("server_tool_result", tool_call_id="s1", status="success", output="found", index=1)
    answer = said(tmp_path, call, result, block("text", text="Tea it is.", index=2))
    assert answer.text == "Tea it is."
    assert 'Called web_search(query="tea")' in answer.thinking
    assert not answer.calls


def test_the_end_says_why_and_which_model(tmp_path: Path):
    metadata = {"stop_reason": "max_tokens", "model_name": "model-1"}
    finish = said(tmp_path, AIMessageChunk("Cut", response_metadata=metadata)).finish
    assert finish.reason.unified is UnifiedFinishReason.LENGTH
    assert finish.reason.raw == "max_tokens"
    assert finish.model == "model-1"


class Named(Saying):
    """A model of a provider that always says why it stopped."""

    def _get_ls_params(self, stop: Any = None, **settings: Any) -> Any:
        return {"ls_provider": "openai"}


def test_an_answer_that_breaks_off_is_an_error(tmp_path: Path):
    chat = chat_with(Named(chunks=[AIMessageChunk("Half an ans")]), tmp_path)
    answer = asyncio.run(chat.say("Hi", fails=True))
    assert answer.text == "Half an ans"
    assert isinstance(answer.error, TruncatedStreamError)


@pytest.mark.parametrize(
    "last",
    [
        AIMessageChunk("", response_metadata={"finish_reason": "stop"}),
        AIMessageChunk("", usage_metadata={"input_tokens": 9, "output_tokens": 3, "total_tokens": 12}),
    ],
    ids=["reason", "tokens"],
)
def test_an_answer_that_says_its_end_is_whole(tmp_path: Path, last: AIMessageChunk):
    answer = asyncio.run(chat_with(Named(chunks=[AIMessageChunk("Whole"), last]), tmp_path).say("Hi"))
    assert answer.text == "Whole"


class Gone(ScriptedChatModel):
    """Fails with an error."""

    error: Any

    async def _astream(self, *args: Any, **settings: Any) -> Any:
        raise self.error
        yield


def test_a_server_that_is_not_there_is_an_error_with_a_reason(tmp_path: Path):
    model = Gone(script=None, error=ConnectionRefusedError("connection refused"))
    answer = asyncio.run(chat_with(model, tmp_path).say("Hi", fails=True))
    assert isinstance(answer.error, LanguageModelError)
    assert "connection refused" in str(answer.error)


def test_tokens_of_chunks_add_up(tmp_path: Path):
    start: Any = {"input_tokens": 9, "output_tokens": 0, "total_tokens": 9, "input_token_details": {"cache_read": 4}}
    end: Any = {"input_tokens": 0, "output_tokens": 3, "total_tokens": 3, "output_token_details": {"reasoning": 2}}
    answer = said(tmp_path, AIMessageChunk("Yes", usage_metadata=start), AIMessageChunk("", usage_metadata=end))
    assert answer.usage["prompt_tokens"] == 9
    assert answer.usage["completion_tokens"] == 3
    assert answer.usage["prompt_tokens_details"]["cached_tokens"] == 4
    assert answer.usage["completion_tokens_details"]["reasoning_tokens"] == 2


@pytest.mark.parametrize("text", ['{"path"; 1', '{"path": "a.p', "[]", "1"])
def test_arguments_that_are_no_whole_object_are_an_error(tmp_path: Path, text: str):
    piece: Any = {"name": "read_file", "args": text, "id": "c1", "index": 0, "type": "tool_call_chunk"}
    answer = said(tmp_path, AIMessageChunk("", tool_call_chunks=[piece]), fails=True)
    assert isinstance(answer.error, ToolArgumentsError)
    assert answer.error.name == "read_file"


def test_a_model_that_cannot_call_tools_answers_without_them(tmp_path: Path):
    answer = asyncio.run(chat_with(FakeListChatModel(responses=["Hello"]), tmp_path).say("Hi"))
    assert answer.text == "Hello"


def test_a_model_that_does_not_stream_answers_at_once(tmp_path: Path):
    class AtOnce(Saying):
        def _generate(self, messages: Any, stop: Any = None, run_manager: Any = None, **settings: Any) -> ChatResult:
            call: Any = {"name": "read_file", "args": {"path": "a.py"}, "id": "c1"}
            return ChatResult(generations=[ChatGeneration(message=AIMessage("I read.", tool_calls=[call]))])

    answer = asyncio.run(chat_with(AtOnce(chunks=[], disable_streaming=True), tmp_path).say("Hi"))
    assert answer.text == "I read."
    assert [(call.call_id, dict(call.input)) for call in answer.calls] == [("c1", {"path": "a.py"})]


# ---- what the model gets ----


async def ask(model: Any, messages: list[ChatMessage], options: RequestOptions, folder: Path) -> None:
    class Ignored:
        def report(self, part: Any) -> None:
            pass

    provider, token = as_model(model, name="Model", states=RunStates(folder)), CancellationTokenSource().token
    [information] = await provider.provide_language_model_chat_information(True, token)
    await provider.provide_language_model_chat_response(information, messages, options, Ignored(), token)


def test_a_request_holds_instructions_pictures_calls_and_failed_results(tmp_path: Path):
    model = Saying(chunks=[AIMessageChunk("Yes")])
    messages = [
        ChatMessage.system("Be kind."),
        ChatMessage.user([TextPart("Look"), DataPart.image(PNG, "image/png")]),
        ChatMessage.assistant([TextPart("I read."), ToolCallPart("c1", "read_file", {"path": "a.py"})]),
        ChatMessage.user([ToolResultPart("c1", [TextPart("no such file")], is_error=True)]),
    ]
    asyncio.run(ask(model, messages, RequestOptions((READ_FILE,)), tmp_path))
    system, user, assistant, result = model.seen[0][0]
    assert system.content == "Be kind."
    assert user.content == [
        {"type": "text", "text": "Look"},
        {"type": "image", "base64": b64encode(PNG).decode(), "mime_type": "image/png"},
    ]
    assert assistant.content == "I read."
    assert assistant.tool_calls == [{"name": "read_file", "args": {"path": "a.py"}, "id": "c1", "type": "tool_call"}]
    assert (result.tool_call_id, result.content, result.status) == ("c1", "no such file", "error")


def test_a_model_gets_the_schemas_and_must_call_a_tool_where_the_host_wants_it(tmp_path: Path):
    model = Saying(chunks=[AIMessageChunk("Yes")])
    options = RequestOptions((READ_FILE,), tool_mode=ToolMode.REQUIRED, model_options={"temperature": 0, "_own": 1})
    asyncio.run(ask(model, [ChatMessage.user("Hi")], options, tmp_path))
    [tool], settings = model.bound
    assert tool["function"] == {
        "name": "read_file",
        "description": READ_FILE.description,
        "parameters": READ_FILE.input_schema,
    }
    assert settings == {"tool_choice": "any"}
    assert model.seen[0][1] == {"temperature": 0}


@pytest.mark.parametrize("keeps_markers", [True, False], ids=["kept", "rebuilt"])
def test_the_signature_of_thinking_goes_back_with_the_results_of_its_calls(tmp_path: Path, keeps_markers: bool):
    script = ModelScript(Step(("I look.",), thinking="Hm.", signature="signed", calls=(READ,)), Step(("Empty.",)))
    model = ScriptedChatModel(script=script)
    chat = Chat(as_model(model, name="Model", states=RunStates(tmp_path)), keeps_markers=keeps_markers)

    async def show() -> None:
        await chat.say("Read a.py")
        assert (await chat.give({"read_file": "what was read"})).text == "Empty."

    asyncio.run(show())
    assert ("'signature': 'signed'" in script.requests[1].text) is keeps_markers
    assert "what was read" in script.requests[1].text
