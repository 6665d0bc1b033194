"""The cache doctor: ways to spoil a prompt cache, sent to a real upstream that bills by the rules of its vendor."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from partstream import (
    CancellationTokenSource,
    ChatMessage,
    GatewayConfiguration,
    GatewayProvider,
    LanguageModelChatInformation,
    Pricing,
    RequestOptions,
    Tool,
    ToolMode,
)
from partstream.codec.json_codec import dumps, loads
from partstream_devtools.bundles.exchange import Bundle, Chunk
from partstream_devtools.capturing.bundling import bundle_of, snapshot_of
from partstream_devtools.capturing.capture import LastAnswers
from partstream_devtools.commands_inspect import summary
from partstream_devtools.inspector.page.assembly import skeleton_html
from partstream_devtools.inspector.shapes import CacheView, View
from partstream_devtools.inspector.sharing import summary_markdown
from partstream_devtools.inspector.view import ViewedFile, view_of
from partstream_devtools.testing.upstream import ReplayUpstream
from rows import one_test_for

MODEL = LanguageModelChatInformation("claude-opus-5", "Opus", "claude", "1", 200_000, 1000)
PRICE = Pricing(Decimal("0.000005"), Decimal("0.000025"), Decimal("0.0000005"), Decimal("0.00000625"))
LONG = "A sentence that a model reads and a cache keeps. " * 200
TOOLS = tuple(Tool(name, f"{name} files. {LONG[:2000]}", {"type": "object"}) for name in ("read", "list", "write"))
SYSTEM = ChatMessage.system(f"You help with files. {LONG}")
ASKED = (ChatMessage.user(f"First. {LONG}"), ChatMessage.assistant("One."), ChatMessage.user(f"Second. {LONG}"))
NEXT = (ChatMessage.assistant("Two."), ChatMessage.user("Third."))


class Silent:
    def report(self, _part: object) -> None:
        pass


Request = tuple[LanguageModelChatInformation, Sequence[ChatMessage], RequestOptions]


def request(
    messages: Sequence[ChatMessage],
    tools: Sequence[Tool] = TOOLS,
    system: ChatMessage = SYSTEM,
    model: str = MODEL.id,
    **options: Any,
) -> Request:
    return replace(MODEL, id=model), [system, *messages], RequestOptions(tools, **options)


def asked(protocol: str, *requests: Request) -> Bundle:
    """What a host captures of requests, one after the other."""
    answers = LastAnswers()

    async def run() -> None:
        async with ReplayUpstream(bills_cache=True) as upstream:
            base_url = upstream.base_url_of(protocol)
            provider = GatewayProvider(GatewayConfiguration(base_url, protocol=protocol, models=(MODEL,)))
            for model, messages, options in requests:
                with answers.capture("vscode", model.id) as answer:
                    token = CancellationTokenSource().token
                    await provider.provide_language_model_chat_response(model, messages, options, Silent(), token)
                    answer.end("completed")
            await provider.aclose()

    asyncio.run(asyncio.wait_for(run(), 30))
    return bundle_of(snapshot_of(answers.answers), "vscode")


def viewed(bundle: Bundle, **more: Any) -> View:
    return view_of([ViewedFile("answers", "bundle", bundle, **more)], prices=lambda _: PRICE)


def found(bundle: Bundle) -> CacheView:
    cache = viewed(bundle)["answers"][-1]["cache"]
    assert cache is not None
    return cache


FIRST = request(ASKED)
EDITED = ChatMessage.user(f"First, in other words. {LONG}")
WAYS: dict[str, tuple[Request, str, str]] = {
    "the order of the tools": (request((*ASKED, *NEXT), TOOLS[::-1]), "tool order", "tools[0]"),
    "a tool less": (request((*ASKED, *NEXT), TOOLS[:2]), "tools", "tools[2]"),
    "the description of a tool": (
        request((*ASKED, *NEXT), (*TOOLS[:2], Tool("write", "It is 12:01.", {"type": "object"}))),
        "tool",
        "tools[2]",
    ),
    "the time in the system prompt": (
        request((*ASKED, *NEXT), system=ChatMessage.system(f"You help with files. It is 12:01. {LONG}")),
        "system",
        "system",
    ),
    "another model": (request((*ASKED, *NEXT), model="claude-sonnet-5"), "model", "model"),
    "a message that was edited": (request((EDITED, *ASKED[1:], *NEXT)), "edited", "messages[0]"),
    "messages that were taken out": (request((*ASKED[2:], *NEXT)), "removed", "messages[0]"),
    "a message between": (
        request((ASKED[0], ChatMessage.assistant("Zero."), ChatMessage.user("Wait."), *ASKED[1:], *NEXT)),
        "inserted",
        "messages[1]",
    ),
    "the choice of tools": (request((*ASKED, *NEXT), tool_mode=ToolMode.REQUIRED), "options", "tool_choice"),
}
WHERE = {
    "anthropic-messages": {},
    # The system prompt is the first message there.
    "chat-completions": {"system": "messages[0]", "messages[0]": "messages[1]", "messages[1]": "messages[2]"},
    "openresponses": {"system": "instructions", "messages[0]": "input[0]", "messages[1]": "input[1]"},
}


@pytest.mark.parametrize("protocol", WHERE)
@one_test_for("way", WAYS)
def test_each_way_to_spoil_a_cache_is_named_with_its_place_its_byte_its_cost_and_what_helps(
    way: str, protocol: str
) -> None:
    spoiled, kind, where = WAYS[way]
    bundle = asked(protocol, FIRST, spoiled)
    cache = found(bundle)
    names = WHERE[protocol]
    assert (cache["kind"], cache["where"].split("[")[0]) == (kind, names.get(where, where).split("[")[0]), cache
    if protocol == "anthropic-messages":
        assert cache["where"].startswith(where)
    assert cache["before"] == "Answer 1"
    # The bytes before the named one are the same, and are in the body of both requests, as far as a body has one order.
    assert 0 <= cache["byte"] < cache["bytes"]
    assert (cache["byte"] == 0) == (kind == "model")
    # Servers of OpenAI's wires read a prompt from the cache whatever tool has to be called.
    is_free = kind == "options" and protocol != "anthropic-messages"
    assert (bool(cache["missedTokens"]), bool(cache["advice"])) == (not is_free, not is_free)
    assert cache["cost"] == pytest.approx(cache["missedTokens"] * (6.25 - 0.5) / 1_000_000)
    note = cache["text"]
    assert f"up to byte {cache['byte']:,} of {cache['bytes']:,}" in note
    assert ("all the same" if is_free else "What helps: ") in note


def test_the_byte_is_that_of_the_first_difference() -> None:
    def body(system: str) -> bytes:
        return bytes(dumps({"model": "m", "system": system, "messages": [{"role": "user", "content": "Hi"}]}))

    bundle = asked("anthropic-messages", FIRST, FIRST)
    texts = ["0123456789 first", "0123456789 other"]
    exchanges = tuple(
        replace(one, request=replace(one.request, body=body(text)))  # type: ignore[type-var] # it has one
        for one, text in zip(bundle.exchanges, texts, strict=True)
    )
    cache = found(replace(bundle, exchanges=exchanges))
    assert (cache["kind"], cache["byte"]) == ("system", len('"0123456789 '))


def test_a_conversation_that_goes_on_spoils_nothing_and_a_cache_that_gives_nothing_all_the_same_is_named() -> None:
    bundle = asked("anthropic-messages", FIRST, request((*ASKED, *NEXT)))
    cache = found(bundle)
    assert (cache["kind"], cache["advice"], cache["vendor"]) == ("nothing", "", "")
    assert "the whole prompt before is the beginning of this one" in cache["text"]
    last = bundle.exchanges[-1]
    body = last.body.replace(b"cache_read_input_tokens", b"cache_nothing_here_tokens")
    expired = replace(last, chunks=(Chunk(0, body),))
    cache = found(replace(bundle, exchanges=(bundle.exchanges[0], expired)))
    assert cache["kind"] == "nothing"


VENDORS = {
    "anthropic-messages": (
        {"diagnostics": {"cache_miss_reason": {"type": "tools_changed", "cache_missed_input_tokens": 1234}}},
        b'"type":"message",',
        "tools_changed, 1,234 tokens not read from the cache",
    ),
    "openresponses": (
        {"prompt_cache_diagnostics": {"type": "cache_miss", "reason": "input_changed", "cache_missed_tokens": 55}},
        b'"object":"response",',
        "input_changed, 55 tokens not read from the cache",
    ),
}


@one_test_for("protocol", VENDORS)
def test_what_the_vendor_itself_found_is_shown_beside_it(protocol: str) -> None:
    said, before, words = VENDORS[protocol]
    bundle = asked(protocol, FIRST, WAYS["the order of the tools"][0])
    last = bundle.exchanges[-1]
    assert before in last.body
    body = last.body.replace(before, before + bytes(dumps(said))[1:-1] + b",")
    bundle = replace(bundle, exchanges=(bundle.exchanges[0], replace(last, chunks=(Chunk(0, body),))))
    cache = found(bundle)
    assert cache["vendor"] == words
    assert cache["text"].endswith(f"The server says: {words}.")


def test_the_request_before_is_that_of_the_same_conversation_among_others() -> None:
    other = request([ChatMessage.user("A title for this, please.")], (), ChatMessage.system("You write titles."))
    bundle = asked("anthropic-messages", FIRST, other, request((*ASKED, *NEXT)))
    answers = viewed(bundle)["answers"]
    assert [answer["cache"] and answer["cache"]["before"] for answer in answers] == [None, None, "Answer 1"]


def test_a_page_of_the_last_answer_alone_compares_it_with_those_before() -> None:
    last, before = asked("anthropic-messages", FIRST, WAYS["a tool less"][0]).last_alone()
    view = viewed(last, earlier=before)
    (answer,) = view["answers"]
    assert answer["id"] == "1.1"
    assert answer["cache"] is not None
    assert answer["cache"]["before"] == "the answer before"
    lines = "\n".join(line for line, _ in summary(view))
    for shown in (skeleton_html(view), summary_markdown(view).decode(), lines):
        assert "the list of tools changed" in shown


@one_test_for("body", [b"", b"no JSON", b"[]", b'{"model": 1}', b'{"other": 3}', b"\xff"])
def test_a_request_that_is_no_prompt_has_no_finding(body: bytes) -> None:
    bundle = asked("anthropic-messages", FIRST, FIRST)
    first, last = bundle.exchanges
    assert last.request is not None
    odd = replace(last, request=replace(last.request, body=body))
    assert viewed(replace(bundle, exchanges=(first, odd)))["answers"][-1]["cache"] is None
    assert loads(last.request.body)["system"]
