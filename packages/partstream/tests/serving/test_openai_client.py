"""OpenAI's official Python client against the server, on loopback: streams, sockets, and everything that is stored."""

from __future__ import annotations
import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from partstream.runtime.demo_provider import DemoProvider
from partstream.server.application import app
from partstream.server.listening import ConnectionLimits, listening_sockets
from partstream.server.settings import ServingSettings
from partstream.server.stored_answers import SQLiteAnswers
from partstream.server.uvicorn_server import HttpServer
from partstream.upstream.endpoint import Secret
from serving.asgi import WAIT
from serving.test_stored_responses import Silent

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    from openai import AsyncOpenAI

TOKEN = "a-token-of-the-tests"  # noqa: S105 - of no server but these
TOOL: Any = {
    "type": "function",
    "name": "get_weather",
    "parameters": {
        "type": "object",
        "properties": {"city": {"type": "string"}},
        "required": ["city"],
        "additionalProperties": False,
    },
    "strict": True,
}


def ask(tmp_path: Path, use: Callable[[AsyncOpenAI], Awaitable[Any]], provider: Any = None) -> Any:
    """Serves on loopback, and asks with the client."""
    from openai import AsyncOpenAI  # a second, which only these tests pay

    async def main() -> Any:
        store = SQLiteAnswers(tmp_path / "answers")
        settings = ServingSettings(token=Secret(TOKEN), store=store, state_folder=tmp_path)
        limits = ConnectionLimits()
        sockets = listening_sockets("127.0.0.1", 0, limits.peer_seconds)
        server = HttpServer(app(provider or DemoProvider(), settings), sockets, limits=limits, drain_seconds=1)
        listening = asyncio.Event()
        serving = asyncio.create_task(server.serve(listening.set))
        try:
            async with asyncio.timeout(WAIT):
                await listening.wait()
                url = f"http://127.0.0.1:{sockets[0].getsockname()[1]}/v1"
                async with AsyncOpenAI(base_url=url, api_key=TOKEN, max_retries=0) as client:
                    return await use(client)
        finally:
            server.stop()
            await serving
            await store.close()

    return asyncio.run(main())


def test_its_stream_helper_reads_thinking_a_call_and_its_answer(tmp_path: Path) -> None:
    async def use(client: AsyncOpenAI) -> Any:
        question = "What is the weather in Rome?"
        async with client.responses.stream(model="demo", input=question, tools=[TOOL]) as stream:
            kinds = [event.type async for event in stream]
            asked = await stream.get_final_response()
        [called] = [item for item in asked.output if item.type == "function_call"]
        output: Any = {"type": "function_call_output", "call_id": called.call_id, "output": "sunny"}
        answered = await client.responses.create(
            model="demo", input=[output], previous_response_id=asked.id, tools=[TOOL]
        )
        return kinds, called, asked, answered

    kinds, called, asked, answered = ask(tmp_path, use)
    assert "response.reasoning_summary_text.delta" in kinds
    assert kinds[-1] == "response.completed"
    assert called.parsed_arguments == {"city": "Rome"}
    assert asked.usage.output_tokens > 0
    assert answered.output_text == "The tools say: sunny"


def test_what_is_stored_is_retrieved_resumed_listed_and_deleted(tmp_path: Path) -> None:
    from openai import NotFoundError

    async def use(client: AsyncOpenAI) -> Any:
        sent = [
            event
            async for event in await client.responses.create(model="demo", input="Count from 1 to 9.", stream=True)
        ]
        response_id = sent[-1].response.id  # type: ignore[union-attr]
        found = await client.responses.retrieve(response_id)
        rest = [event async for event in await client.responses.retrieve(response_id, stream=True, starting_after=3)]
        async with client.responses.stream(response_id=response_id, starting_after=5) as helper:
            helped = [event.sequence_number async for event in helper]
        items = [item async for item in client.responses.input_items.list(response_id, order="asc", limit=1)]
        await client.responses.delete(response_id)
        with pytest.raises(NotFoundError):
            await client.responses.retrieve(response_id)
        return sent, found, rest, helped, items

    sent, found, rest, helped, items = ask(tmp_path, use)
    assert found.output_text == "1, 2, 3, 4, 5, 6, 7, 8, 9"
    assert [event.sequence_number for event in rest] == list(range(4, len(sent)))
    assert helped == list(range(6, len(sent)))
    assert [item.content[0].text for item in items] == ["Count from 1 to 9."]


def test_a_running_response_is_cancelled(tmp_path: Path) -> None:
    async def use(client: AsyncOpenAI) -> Any:
        stream = await client.responses.create(model="demo", input="Hi", stream=True)
        events, cancelled = [], None
        async for event in stream:
            events.append(event)
            if event.type == "response.output_text.delta" and event.delta == "said":
                cancelled = await client.responses.cancel(events[0].response.id)  # type: ignore[union-attr]
        return events, cancelled

    events, cancelled = ask(tmp_path, use, Silent())
    assert cancelled.status == "cancelled"
    assert cancelled.output_text == "half said"
    assert events[-1].type == "response.incomplete"


# The client's own type of an output has no messages of users, which `compact` returns by its own documentation.
@pytest.mark.filterwarnings("ignore:Pydantic serializer warnings")
def test_a_request_is_counted_and_a_conversation_compacted(tmp_path: Path) -> None:
    async def use(client: AsyncOpenAI) -> Any:
        counted = await client.responses.input_tokens.count(model="demo", input="How many?")
        compacted = await client.responses.compact(model="demo", input="Remember: slate.")
        again: Any = compacted.output  # as its documentation has it
        answered = await client.responses.create(model="demo", input=[*again, {"role": "user", "content": "Go on."}])
        return counted, compacted, answered

    counted, compacted, answered = ask(tmp_path, use)
    assert counted.input_tokens > 0
    assert [item.type for item in compacted.output] == ["message", "compaction"]
    assert compacted.usage.total_tokens > 0
    assert answered.status == "completed"


# Its types of 3.52 know no trigger; those of 3.57 do.
@pytest.mark.filterwarnings("ignore:Pydantic serializer warnings")
def test_a_trigger_at_the_end_of_an_input_compacts_it_and_the_conversation_goes_on(tmp_path: Path) -> None:
    async def use(client: AsyncOpenAI) -> Any:
        trigger: Any = {"type": "compaction_trigger"}
        items: Any = [{"role": "developer", "content": "Be terse."}, {"role": "user", "content": "Remember: slate."}]
        stream = await client.responses.create(model="demo", input=[*items, trigger], stream=True)
        events = [event async for event in stream]
        compacted: Any = events[-1].response  # type: ignore[union-attr]
        whole = await client.responses.create(model="demo", input=[*items, trigger])
        question: Any = {"role": "user", "content": "Go on."}
        answered = [
            await client.responses.create(model="demo", input=[question], previous_response_id=compacted.id),
            await client.responses.create(model="demo", input=[*compacted.output, question]),
        ]
        return [event.type for event in events], compacted, whole, answered

    kinds, compacted, whole, answered = ask(tmp_path, use)
    assert kinds == [
        "response.created", "response.in_progress", "response.output_item.added", "response.compaction.compacting",
        "response.output_item.done", "response.completed",
    ]  # fmt: skip
    for response in (compacted, whole):
        assert [item.type for item in response.output] == ["compaction"]
        assert response.output[0].encrypted_content
    assert [one.status for one in answered] == ["completed", "completed"]


def test_its_connection_continues_over_a_socket(tmp_path: Path) -> None:
    async def use(client: AsyncOpenAI) -> Any:
        seen: list[list[Any]] = []
        async with client.responses.connect() as connection:
            for word in ("first", "second"):
                previous: Any = {"previous_response_id": seen[-1][-1].response.id} if seen else {}
                await connection.response.create(
                    model="demo", input=f"Reply with exactly: {word}", store=False, **previous
                )
                seen.append([])
                async for event in connection:
                    seen[-1].append(event)
                    if event.type in ("response.completed", "error"):
                        break
        return seen

    for events, word in zip(ask(tmp_path, use), ("first", "second"), strict=True):
        assert [event.sequence_number for event in events] == list(range(len(events)))
        assert events[-1].response.output_text == word


def test_a_wrong_request_is_an_error_with_its_param_code_and_request_id(tmp_path: Path) -> None:
    from openai import BadRequestError

    async def use(client: AsyncOpenAI) -> Any:
        raised = []
        for body in ({"previous_response_id": "resp_none"}, {"background": True}, {"conversation": "conv_1"}):
            with pytest.raises(BadRequestError) as caught:
                await client.responses.create(model="demo", input="Hi", **body)  # type: ignore[call-overload]
            raised.append((caught.value.param, caught.value.code, bool(caught.value.request_id)))
        return raised

    assert ask(tmp_path, use) == [
        ("previous_response_id", "previous_response_not_found", True),
        ("background", "unsupported_parameter", True),
        ("conversation", "unsupported_parameter", True),
    ]
