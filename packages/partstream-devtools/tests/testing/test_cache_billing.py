"""The replay upstream bills prompts where it is asked to: the usage says what was read, written and neither."""

import json
from typing import Any

import pytest

from partstream import ChatMessage, DataPart, RequestOptions, Tool
from partstream_devtools.testing.admission import BASE_PATHS
from partstream_devtools.testing.upstream import ReplayUpstream
from partstream_devtools.testing.vendors import VENDORS
from upstreams.upstreams import ask, gateway_to, run

TOOL = Tool("f", "x" * 40_000, {"type": "object"})
HISTORY = [ChatMessage.system("y" * 4000), ChatMessage.user("Hi")]
BILLED = [name for name in BASE_PATHS if name in VENDORS]


def details(parts: list[Any]) -> dict[str, int]:
    """The tokens of its prompt that an answer reports."""
    (usage,) = (json.loads(part.data) for part in parts if isinstance(part, DataPart) and part.mime_type == "usage")
    return {"prompt": usage["prompt_tokens"], **usage.get("prompt_tokens_details", {})}


async def asked_twice(protocol: str, **settings: Any) -> list[dict[str, int]]:
    async with (
        ReplayUpstream(**settings) as upstream,
        gateway_to(upstream.base_url_of(protocol), protocol=protocol) as provider,
    ):
        options, said = RequestOptions(tools=(TOOL,)), []
        for history in (HISTORY, [*HISTORY, ChatMessage.assistant("Ho"), ChatMessage.user("Go on")]):
            answer = await ask(provider, history, options=options)
            assert answer.error is None
            said.append(details(answer.parts))
    return said


@pytest.mark.parametrize("protocol", BILLED)
def test_the_second_request_reads_what_the_first_one_had(protocol: str) -> None:
    async def test() -> None:
        first, second = await asked_twice(protocol, bills_cache=True)
        assert first.get("cached_tokens", 0) == 0
        if "cached_tokens" in second:  # Ollama has no word for it
            assert second["cached_tokens"] > 10_000
            new = second["prompt"] - second["cached_tokens"] - second.get("cache_creation_input_tokens", 0)
            assert 0 <= new < 100

    run(test())


def test_nothing_is_billed_unless_it_is_asked_for() -> None:
    async def test() -> None:
        plain, billed = [await asked_twice("openresponses", bills_cache=bills) for bills in (False, True)]
        assert plain[0]["prompt"] < billed[0]["prompt"]  # a block is counted with the names of its fields

    run(test())


def test_a_wire_of_which_no_cache_is_known_is_not_billed() -> None:
    async def test() -> None:
        plain, billed = [await asked_twice("ai-gateway", bills_cache=bills) for bills in (False, True)]
        assert plain == billed

    assert "ai-gateway" not in VENDORS
    run(test())
