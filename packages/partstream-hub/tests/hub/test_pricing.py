"""What a model costs, what a request can take at most, and how long an answer may be with what is reserved."""

from __future__ import annotations
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from partstream import ChatMessage, LanguageModelChatInformation
from partstream.conversation.preparation import ASKED_IN
from partstream.lm.messages import RequestOptions, Tool
from partstream.lm.outputs import InboundRequest
from partstream.lm.parts import DataPart, TextPart, ThinkingPart, ToolCallPart, ToolResultPart, Usage
from partstream.protocols.serve import WireRequest
from partstream.runtime.translation import write_question
from partstream.server.models import CataloguedModel
from partstream.server.settings import HeldText
from partstream.tokens import Counters, MessageCounter
from partstream.tokens.amounts import DOLLAR, BudgetUnit, Period
from partstream.tokens.bounds import asked_output, close_bound, wide_bound
from partstream_hub.directory import (
    BudgetRule,
    Directory,
    Key,
    ModelPrice,
    ModelRoute,
    Owner,
    OwnerKind,
    Person,
    Team,
    may_use,
)
from partstream_hub.pricing import (
    BUDGET_SPENT,
    LEAST_OUTPUT,
    AnswerMeter,
    RequestBound,
    charged_price,
    cost_of_usage,
    highest_cost,
    output_within,
    shrunk,
    with_output_limit,
)
from partstream_hub.routing import routed_information
from rows import one_test_for
from serving.wires import WIRES, Wire

PRICE = ModelPrice(3 * DOLLAR, 15 * DOLLAR, 3 * DOLLAR // 10, 15 * DOLLAR // 4)


def model(**extra: object) -> CataloguedModel:
    information = LanguageModelChatInformation("m", "M", "f", "1", 1000, 100, extra=extra)
    return CataloguedModel("m", "p", None, information)  # type: ignore[arg-type] # it is not asked


# ---- prices ----


def test_the_price_of_a_route_counts_before_that_of_the_provider():
    directory = Directory(routes={"m": ModelRoute("m", price=PRICE)})
    found = charged_price(directory, model(inputCost=1, outputCost=2))
    assert found is not None
    assert (found.price, found.is_of_route) == (PRICE, True)


def test_the_price_that_a_provider_lists_is_in_cents_for_a_million_tokens():
    found = charged_price(Directory(), model(inputCost=300, outputCost=1.5, cacheCost=30))
    assert found is not None
    assert found.price == ModelPrice(3 * DOLLAR, 15_000_000, 300_000_000)


def test_a_request_may_cost_as_much_as_the_dearest_prices_of_long_conversations():
    found = charged_price(
        Directory(), model(inputCost=100, outputCost=200, longContextInputCost=150, longContextOutputCost=190)
    )
    assert found is not None
    assert found.highest == ModelPrice(DOLLAR * 3 // 2, 2 * DOLLAR)
    assert found.price == ModelPrice(DOLLAR, 2 * DOLLAR)


def test_a_request_may_cost_as_much_as_at_the_models_that_may_answer_in_its_place():
    routes = {"m": ModelRoute("m", fallbacks=("dear", "gone")), "dear": ModelRoute("dear", price=PRICE)}
    found = charged_price(Directory(routes=routes), model(inputCost=1, outputCost=2))
    assert found is not None
    assert (found.price.output, found.highest) == (20_000_000, PRICE)


def test_a_routed_model_lists_the_highest_price_that_an_answer_may_have():
    cheap, dear = (model(inputCost=cost, outputCost=cost).information for cost in (1, 5))
    unknown = model().information
    route = ModelRoute("m")
    assert routed_information(route, [cheap], [dear, unknown]).extra["inputCost"] == 5
    assert routed_information(route, [dear], [cheap]).extra["inputCost"] == 5
    assert "inputCost" not in routed_information(route, [cheap, unknown], [dear]).extra


@one_test_for(
    "extra",
    [
        {},
        {"inputCost": 1},
        {"inputCost": "1", "outputCost": 1},
        {"inputCost": True, "outputCost": 1},
        {"inputCost": -1, "outputCost": 1},
        {"inputCost": float("nan"), "outputCost": 1},
        {"inputCost": 1e300, "outputCost": 1},
    ],
)
def test_a_price_that_is_none_is_unknown(extra: dict[str, object]):
    assert charged_price(Directory(routes={"m": ModelRoute("m")}), model(**extra)) is None


def test_tokens_cost_what_the_prices_say_rounded_up():
    assert cost_of_usage(PRICE, Usage(1000, 100)) == 3_000_000 + 1_500_000
    assert cost_of_usage(PRICE, Usage(1000, 0, cached_tokens=600, cache_write_tokens=400)) == 180_000 + 1_500_000
    assert cost_of_usage(ModelPrice(1, 1), Usage(1, 1)) == 1
    assert cost_of_usage(PRICE, Usage()) == 0


tokens = st.integers(0, 10**7)
prices = st.builds(
    ModelPrice,
    st.integers(0, 10**12),
    st.integers(0, 10**12),
    st.none() | st.integers(0, 10**12),
    st.none() | st.integers(0, 10**12),
)


@given(price=prices, given_tokens=tokens, written=tokens, cached=st.none() | tokens, cache_write=st.none() | tokens)
def test_no_usage_within_its_bound_costs_more_than_the_bound(price, given_tokens, written, cached, cache_write):
    usage = Usage(given_tokens, written, cached_tokens=cached, cache_write_tokens=cache_write)
    assert cost_of_usage(price, usage) <= highest_cost(price, given_tokens, written)


# ---- the longest output ----


@one_test_for("wire", WIRES, ids=lambda wire: wire.name)
def test_the_limit_of_every_wire_is_read(wire: Wire):
    path, body, headers, query = wire.request("m", options=RequestOptions(model_options={"max_output_tokens": 500}))
    request = WireRequest(path.removeprefix(wire.base_path), body, headers, query, "POST", wire.base_path)
    assert wire.protocol.read_request is not None
    assert asked_output(wire.protocol.read_request().read(request)) == 500


@one_test_for("source", WIRES, ids=lambda wire: wire.name)
@one_test_for("target", WIRES, ids=lambda wire: wire.name)
def test_a_shorter_limit_reaches_the_upstream_of_every_wire_from_every_wire(source: Wire, target: Wire):
    path, body, headers, query = source.request("m", options=RequestOptions(model_options={"max_output_tokens": 500}))
    request = WireRequest(path.removeprefix(source.base_path), body, headers, query, "POST", source.base_path)
    assert source.protocol.read_request is not None
    asked = with_output_limit(source.protocol.read_request().read(request), 77)
    options = RequestOptions(model_options={**asked.options.model_options, ASKED_IN: source.name})
    sent = str(write_question(target.protocol, InboundRequest("m", (ChatMessage.user("Hi"),), options)).body)
    assert ("77" in sent, "500" in sent) == (True, False), sent


@one_test_for("said", [None, -1, 0, "many", True, 1e999])
def test_a_limit_that_is_none_counts_as_not_said(said: object):
    asked = InboundRequest("m", (), RequestOptions(model_options={"num_predict": said, "temperature": 1}))
    assert asked_output(asked) is None
    assert with_output_limit(asked, 9).options.model_options == {"max_output_tokens": 9, "temperature": 1}


# ---- the most tokens of an input ----

texts = st.text(max_size=200)
parts = st.one_of(
    texts.map(TextPart),
    texts.map(ThinkingPart),
    st.builds(ToolCallPart, st.just("c"), st.just("t"), st.dictionaries(texts, texts, max_size=3)),
    texts.map(lambda text: ToolResultPart("c", (TextPart(text),))),
)


@given(content=st.lists(parts, max_size=5), tools=st.lists(texts, max_size=2))
def test_no_tokenizer_finds_more_tokens_than_the_bound(content, tools):
    asked = InboundRequest(
        "m",
        (ChatMessage.assistant(content),),
        RequestOptions([Tool(f"t{place}", text, {"type": "object"}) for place, text in enumerate(tools)]),
    )
    counted = MessageCounter("gpt-4o").count_request(asked.messages, asked.options.tools).tokens
    assert counted <= wide_bound("gpt-4o", asked)


class OneByte:
    """A tokenizer with the most tokens that there can be: one for each byte."""

    def count(self, text: str) -> int:
        return len(text.encode(errors="replace"))


@given(text=texts)
def test_a_close_bound_is_never_wider_than_the_bytes_and_never_below_the_count(text: str):
    counters = Counters(())
    counters.register_counter("mine", OneByte())
    asked = InboundRequest("m", (ChatMessage.user(text),), RequestOptions())
    close = close_bound("mine", asked, counters)
    assert close is not None
    assert OneByte().count(text) <= close <= wide_bound("mine", asked)


FILES = {
    "a page six hundred times": (
        b"%PDF-1.7 1 0 obj<</Pages 2 0 R>>endobj 2 0 obj<</Kids[" + b"3 0 R " * 600 + b"]>>endobj 3 0 obj<<>>endobj",
        "application/pdf",
        600 * 1500,
    ),
    "an encrypted document": (b"%PDF-1.7 1 0 obj<</Encrypt 2 0 R>>endobj", "application/pdf", 600 * 1500),
    "a document behind an address": (b"https://files.example/a.pdf", "text/uri-list", 600 * 1500),
    "sound behind an address": (b"https://files.example/a", "text/uri-list;type=audio/*", 600 * 1500),
    "an hour of sound": (bytes(3_600_000), "audio/mpeg", 3600 * 32),
    "a video": (bytes(1000), "video/mp4", 600 * 1500),
    "an image behind an address": (b"https://files.example/a.png", "text/uri-list", 1568),
    "unknown bytes": (b"\x00\x01" * 50_000, "application/octet-stream", 100_000),
}


@one_test_for("name", list(FILES))
def test_the_bound_of_a_request_holds_for_its_files_also_within_results(name: str):
    data, media_type, least = FILES[name]
    part = DataPart(data, media_type)
    for content in ([part], [ToolResultPart("c", [part])]):
        asked = InboundRequest(
            model="m", messages=(ChatMessage.user(content),), options=RequestOptions(), stream=True, body={}
        )
        assert wide_bound("claude", asked) >= least


def test_there_is_no_close_bound_where_something_is_estimated():
    counters = Counters(())
    asked = InboundRequest("m", (ChatMessage.user("Hi"),), RequestOptions())
    assert close_bound("mine", asked, counters) is None
    counters.register_counter("mine", OneByte())
    image = InboundRequest("m", (ChatMessage.user([DataPart(b"\x89PNG\r\n\x1a\n", "image/png")]),), RequestOptions())
    assert close_bound("mine", image, counters) is None


def test_the_schema_of_the_answer_counts_as_input():
    schema = {"response_format": {"type": "json_schema", "json_schema": {"schema": {"description": "x" * 9000}}}}
    asked = InboundRequest("m", (), RequestOptions(model_options=schema))
    assert wide_bound("f", asked) > 9000


# ---- what is reserved ----

ANA = Owner(OwnerKind.PERSON, "ana")
MONEY = BudgetRule(ANA, BudgetUnit.MONEY, Period.DAY, DOLLAR)
TOKENS = BudgetRule(ANA, BudgetUnit.TOKENS, Period.DAY, 1000)


@dataclass
class Reserved:
    """What is reserved, as a test says."""

    amounts: dict[str, int]
    freed: dict[str, int] = field(default_factory=dict)

    def amount(self, rule: BudgetRule) -> int:
        return self.amounts[rule.id]

    def reduce(self, rule: BudgetRule, amount: int) -> None:
        self.freed[rule.id] = amount


def test_a_request_needs_its_whole_output_and_at_least_a_little_of_it():
    bound = RequestBound(1000, 4000, ModelPrice(DOLLAR, 2 * DOLLAR))
    money, tokens = bound.needs([MONEY, TOKENS])
    assert (money.amount, money.least) == (1_000_000 + 8_000_000, 1_000_000 + 2000 * LEAST_OUTPUT)
    assert (tokens.amount, tokens.least) == (5000, 1000 + LEAST_OUTPUT)


@given(
    bound=st.builds(RequestBound, st.integers(0, 10**6), st.integers(0, 10**6), prices),
    shares=st.tuples(st.floats(0, 1), st.floats(0, 1)),
)
def test_an_answer_within_its_limit_never_takes_more_than_is_reserved(bound, shares):
    needs = bound.needs([MONEY, TOKENS])
    amounts = {
        need.rule.id: need.least + int((need.amount - need.least) * share)
        for need, share in zip(needs, shares, strict=True)
    }
    reserved = Reserved(amounts)
    output = output_within(bound, reserved, [MONEY, TOKENS])
    assert min(bound.output_tokens, LEAST_OUTPUT) <= output <= bound.output_tokens
    shrunk(bound, reserved, [MONEY, TOKENS], output)
    for rule in (MONEY, TOKENS):
        rest = amounts[rule.id] - reserved.freed.get(rule.id, 0)
        assert bound.amount(rule, output) <= rest
        assert rest - bound.amount(rule, output) <= 0 or rule.id not in reserved.freed


def test_output_that_costs_nothing_is_not_limited_by_money():
    bound = RequestBound(10, 4000, ModelPrice(DOLLAR, 0))
    assert output_within(bound, Reserved({MONEY.id: bound.amount(MONEY, 0)}), [MONEY]) == 4000


# ---- counting while it answers ----


def words(text: str) -> int:
    """Counts a token for each word."""
    return len(text.split())


def test_an_answer_tops_up_behind_what_it_has_and_is_stopped_when_nothing_is_left():
    steps: list[int] = []

    def top_up(count: int) -> bool:
        steps.append(count)
        return len(steps) < 3

    meter = AnswerMeter(10, 5, top_up, words)
    seen = [meter.reported(TextPart("word ")) for _ in range(20)]
    assert seen == [None] * 19 + [BUDGET_SPENT]
    assert set(steps) == {5}


def test_an_answer_asks_for_more_before_it_needs_it_and_goes_on_if_that_comes_in_time():
    asked: list[int] = []

    def top_up(count: int) -> bool:
        asked.append(count)
        return len(asked) > 1  # leased in the background meanwhile

    meter = AnswerMeter(10, 5, top_up, words)
    assert [meter.reported(TextPart("word ")) for _ in range(14)] == [None] * 14


@one_test_for(
    "part",
    [
        TextPart("one two three "),
        ThinkingPart("one two three "),
        ToolCallPart("c", "one two three ", {}),
        DataPart(b"a" * 48, "image/png"),
        HeldText(9),
    ],
)
def test_an_answer_that_is_faster_than_the_database_waits_where_its_trust_ends(part):
    for most, trusted, unheard in ((10, 30, 1024), (2, 2, 1024), (10, None, 0)):
        unknown: Any = object()  # instead of a future
        meter = AnswerMeter(most, 5, lambda _, unknown=unknown: unknown, words, trusted)
        said = list(iter(lambda meter=meter: meter.reported(part), BUDGET_SPENT))
        assert 3 * said.count(None) <= (trusted or most)
        assert 3 * said.count(unknown) <= unheard + 3
        assert (unknown in said) == (trusted is not None)


def test_an_answer_that_its_budget_covers_goes_on_once_the_database_has_answered():
    unknown: Any = object()  # instead of a future
    answers = [unknown, True]
    meter = AnswerMeter(10, 5, lambda _: answers.pop(0) if len(answers) > 1 else True, words, trusted=20)
    assert meter.reported(TextPart("word " * 30)) is unknown
    assert meter.reported(HeldText(0)) is None
    assert [meter.reported(TextPart("word ")) for _ in range(40)] == [None] * 40


@pytest.mark.parametrize(
    ("part", "size"),
    [
        (TextPart("one two three"), 3),
        (ThinkingPart("one two three"), 3),
        (ToolCallPart("c", "one two three", {}), 3),
        (DataPart(b"a" * 48, "image/png"), 3),
    ],
)
def test_all_that_a_model_says_is_counted(part, size: int):
    assert AnswerMeter(size, 1, lambda _: False, words).reported(part) is BUDGET_SPENT
    assert AnswerMeter(size + 1, 1, lambda _: False, words).reported(part) is None


def test_what_comes_before_it_is_a_part_is_counted_once():
    meter = AnswerMeter(100, 1, lambda _: False, lambda text: len(text) // 3)
    assert [meter.reported(HeldText(30)) for _ in range(9)] == [None] * 9
    assert meter.reported(ToolCallPart("c", "f", {"a": "x" * 261})) is None
    assert meter.reported(HeldText(3)) is None
    assert meter.reported(HeldText(30)) is BUDGET_SPENT


@one_test_for("size", [1, 2, 3, 1000])
def test_arguments_and_unknown_events_end_an_answer_as_text_does(size: int):
    meter, said = AnswerMeter(100, 10, lambda _: False, words), 0
    while meter.reported(HeldText(size)) is None:
        said += size
        assert said < 400
    assert said + size >= 300


def test_one_part_that_is_larger_than_a_step_takes_several():
    steps: list[int] = []
    meter = AnswerMeter(1, 2, lambda count: steps.append(count) is None, words)
    assert meter.reported(TextPart("word " * 20)) is None
    assert sum(steps) >= 20


def test_an_upstream_is_trusted_with_its_limit_until_it_plainly_keeps_none():
    asked: list[int] = []

    def top_up(count: int) -> bool:
        asked.append(count)
        return False

    meter = AnswerMeter(10, 5, top_up, words, trusted=30)
    assert [meter.reported(TextPart("word ")) for _ in range(19)] == [None] * 19
    assert asked == []
    assert [meter.reported(TextPart("word ")) for _ in range(11)] == [None] * 10 + [BUDGET_SPENT]
    assert set(asked) == {20}


def test_all_that_an_upstream_without_a_limit_has_said_is_reserved_before_it_goes_on():
    asked: list[int] = []
    meter = AnswerMeter(10, 5, lambda count: asked.append(count) is None, words, trusted=30)
    assert [meter.reported(TextPart("word ")) for _ in range(31)] == [None] * 31
    assert asked[0] == 20
    assert 10 + sum(asked) >= 31


def test_an_answer_is_counted_seldom_while_much_is_left():
    looks: list[int] = []

    def count(text: str) -> int:
        looks.append(len(text))
        return words(text)

    meter = AnswerMeter(100_000, 1, lambda _: False, count)
    for _ in range(99_999):
        assert meter.reported(TextPart("word ")) is None
    assert len(looks) < 40
    assert meter.reported(TextPart("word ")) is BUDGET_SPENT


# ---- models ----

KEY = Key("k", bytes(32), "ana")


@one_test_for(
    ("key", "person", "team", "models"),
    [
        (None, None, None, {"gpt-5", "gpt-5-mini", "claude", "x/y"}),
        (("gpt-*",), None, None, {"gpt-5", "gpt-5-mini"}),
        (("gpt-*",), ("gpt-5", "claude"), None, {"gpt-5"}),
        (None, ("*",), ("claude",), {"claude"}),
        (None, None, (), set()),
        (("GPT-5",), None, None, set()),
        (None, ("x/*",), None, {"x/y"}),
    ],
)
def test_a_model_has_to_pass_the_lists_of_key_person_and_team(key, person, team, models):
    directory = Directory(teams={"red": Team("red", team)}, people={"ana": Person("ana", "red", models=person)})
    asked = ("gpt-5", "gpt-5-mini", "claude", "x/y")
    known = Key("k", bytes(32), "ana", models=key)
    assert {one for one in asked if may_use(directory, known, one)} == models


def test_a_person_who_is_gone_may_use_nothing():
    assert not may_use(Directory(), KEY, "m")
