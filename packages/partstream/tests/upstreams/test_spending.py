"""A person's own prices, budget and rates: what is refused, what waits, and what is charged, in several windows."""

import asyncio
import json
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from conversation.samples import PNG
from partstream import (
    CancellationTokenSource,
    ChatMessage,
    DataPart,
    RequestOptions,
    TextPart,
    Usage,
)
from partstream.config.loading import load_configuration
from partstream.errors import BudgetError, BudgetReachedError, BudgetUnknownError, LanguageModelError, RateReachedError
from partstream.lm.completions import COMPLETION, CompletionRequest
from partstream.lm.outputs import Finish, Outcome
from partstream.lm.parts import COST_KEY
from partstream.protocols.failures import FailureKind, failure_of
from partstream.settings.kinds import ConfigurationError
from partstream.tokens.files import file_bound
from partstream.upstream.configuration import Limits
from partstream.upstream.requests import cost_of
from partstream.upstream.spending import SpendingFile, Standing, Taken
from partstream_devtools.testing.faults import End, EndKind, Head, Send, document
from partstream_devtools.testing.upstream import ReplayUpstream
from rows import one_test_for
from upstream_settings import gateway_of
from upstreams.upstreams import Answer, ask, gateway_to, respond, run, server_of

SPENDER = Path(__file__).with_name("spender.py")
DOLLAR = 10**9
MILLION = 1_000_000
PRICES = {"*": {"input": 10, "output": 20}}
"""An answer of the scenario `text` has 1 token of input and 25 of output: 0.051 cents."""
ANSWER = 510_000


@pytest.fixture(autouse=True)
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PARTSTREAM_DATA", str(tmp_path / "data"))
    return tmp_path / "data" / "spending.sqlite3"


def settings(base_url: str, **more: Any) -> dict[str, Any]:
    """The changes of a gateway that the settings make."""
    configuration = gateway_of({"baseUrl": base_url, "prices": PRICES, **more})
    return {"limits": configuration.limits, "selection": configuration.selection, "retry": configuration.retry}


# ---- prices ----

OWN = {"gpt-5": {"input": 3, "output": 15}, "gpt-*": {"input": 1, "output": 2, "cached": 0.5, "cacheWrite": 4}}
REPORTED = Usage(MILLION, MILLION, raw={"cost": 99})


@one_test_for(
    ("model", "usage", "cost"),
    [
        ("gpt-5", Usage(MILLION, MILLION), 18),
        ("gpt-5", Usage(MILLION, 0, cached_tokens=MILLION), 3),
        ("gpt-5", REPORTED, 18),  # what a person says goes before what the server reports
        ("GPT-6", Usage(MILLION, MILLION), 3),
        ("gpt-6", Usage(MILLION, 0, cached_tokens=MILLION // 2, cache_write_tokens=MILLION // 2), 2.25),
        ("other", Usage(MILLION, MILLION), None),  # no price: never 0
        ("other", REPORTED, 99),
    ],
)
def test_an_answer_costs_what_a_person_says(model: str, usage: Usage, cost: float | None) -> None:
    prices = gateway_of({"baseUrl": "http://localhost/v1", "prices": OWN}).selection
    assert cost_of(Finish(Outcome.COMPLETED, usage=usage), prices.price_of(model)) == cost


def test_own_prices_are_in_the_list_of_models_and_in_the_usage_of_an_answer() -> None:
    async def check() -> None:
        async with (
            ReplayUpstream() as upstream,
            gateway_to(upstream.base_url, models=(), **settings(upstream.base_url)) as provider,
        ):
            listed = await provider.provide_language_model_chat_information(True, CancellationTokenSource().token)
            assert "Price: $10 input, $20 output per 1M tokens" in (listed[0].tooltip or "")
            answer = await ask(provider, "Hi")
            assert json.loads(answer.parts[-1].data)[COST_KEY] == 0.00051

    run(check())


@one_test_for(
    ("given", "said"),
    [
        ({"prices": {"m": {"input": 1}}}, "prices.m.output"),
        ({"prices": {"m": {"input": -1, "output": 1}}}, "prices.m.input"),
        ({"prices": {"m": {"input": 1, "output": 1, "cache": 1}}}, "cache"),
        ({"budget": "5 USD"}, "the period too"),
        ({"budget": "5 EUR/day"}, "an amount such as"),
        ({"requestsPerMinute": 0}, "requestsPerMinute"),
    ],
)
def test_a_limit_that_is_none_is_refused_with_what_it_may_be(given: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        gateway_of({"baseUrl": "http://localhost/v1", **given})


# ---- a budget ----


def test_a_request_after_the_budget_is_refused_with_whose_it_is_what_is_spent_and_when_it_begins_anew(
    data: Path,
) -> None:
    async def check() -> None:
        async with (
            ReplayUpstream() as upstream,
            gateway_to(upstream.base_url, **settings(upstream.base_url, budget="0.001 USD/day")) as provider,
        ):
            answers = [await ask(provider, "Hi") for _ in range(3)]
            assert [type(one.error) for one in answers] == [type(None), type(None), BudgetReachedError]
            error = answers[-1].error
            assert isinstance(error, BudgetReachedError)
            assert (error.owner, error.budget, error.spent, error.reserved) == ("", "0.001 USD/day", "0.00102 USD", "")
            midnight = datetime.fromtimestamp(error.resets_at)  # noqa: DTZ006 - the person's own calendar
            assert (midnight.hour, midnight.minute) == (0, 0)
            assert str(error) == (
                f"your budget (0.001 USD/day) is used up: 0.00102 USD spent; it begins anew on "
                f"{midnight:%Y-%m-%d at %H:%M}; a higher `budget` lets you go on"
            )
            assert failure_of(error).kind is FailureKind.SPENT_BUDGET
            assert len(upstream.requests) == 2  # the server was not asked
            assert provider.spending is not None
            assert str(await provider.spending.standing()) == "Your budget: 0.00102 USD of 0.001 USD/day"

    run(check())
    assert data.stat().st_mode & 0o077 == 0


def test_nothing_is_counted_and_no_file_is_made_without_a_limit(data: Path) -> None:
    async def check() -> None:
        async with ReplayUpstream() as upstream, gateway_to(upstream.base_url) as provider:
            assert (await ask(provider, "Hi")).error is None
            assert provider.spending is None

    run(check())
    assert not data.exists()


def test_a_budget_of_tokens_needs_no_price_and_one_of_money_names_the_model_without_one() -> None:
    async def check() -> None:
        async with ReplayUpstream() as upstream:
            unpriced = {**settings(upstream.base_url, budget="40 tokens/week", prices={})}
            async with gateway_to(upstream.base_url, **unpriced) as provider:
                errors = [(await ask(provider, "Hi")).error for _ in range(3)]
                assert [type(one) for one in errors] == [type(None), type(None), BudgetReachedError]
                assert "52 tokens spent" in str(errors[-1])
            unpriced = settings(upstream.base_url, budget="5 USD/month", prices={"x": {"input": 0, "output": 0}})
            async with gateway_to(upstream.base_url, **unpriced) as provider:
                error = (await ask(provider, "Hi")).error
                assert isinstance(error, BudgetUnknownError)
                assert error.reason == "text has no price"
                assert "`prices`" in str(error)

    run(check())


GROUP = {"baseUrl": "https://x.example/v1"}


def test_completions_count_as_answers_do() -> None:
    async def check() -> None:
        options = RequestOptions(
            model_options={COMPLETION: CompletionRequest("def f(", "):\n").fields, "max_tokens": 9}
        )
        async with (
            ReplayUpstream() as upstream,
            gateway_to(upstream.base_url, **settings(upstream.base_url, budget="0.0005 USD/day")) as provider,
        ):
            assert (await ask(provider, "Hi", options=options)).error is None
            asked = [request.path for request in upstream.requests]
            assert asked == ["/v1/completions"]
            error = (await ask(provider, "Hi", options=options)).error
            assert isinstance(error, BudgetReachedError)
            assert len(upstream.requests) == 1

    run(check())


FILE = """
budget = "1 USD/day"
[prices."*"]
input = 10
output = 20
[profiles.work]
baseUrl = "https://work.example/v1"
budget = "2 USD/week"
[profiles.home]
baseUrl = "https://home.example/v1"
"""


@one_test_for(
    ("profile", "group", "budget", "owner"),
    [
        ("work", None, "2 USD/week", "the profile work"),
        ("home", None, "1 USD/day", ""),
        (
            None,
            {"baseUrl": "https://x.example/v1", "budget": "3M tokens/month"},
            "3M tokens/month",
            "the server x.example",
        ),
        (None, {"baseUrl": "https://x.example/v1"}, "1 USD/day", ""),
    ],
)
def test_the_budget_of_a_file_is_of_all_servers_and_that_of_a_profile_or_group_of_its_own(
    profile: str | None, group: dict[str, Any] | None, budget: str, owner: str, tmp_path: Path
) -> None:
    (tmp_path / "partstream.toml").write_text(FILE)
    environment = {"PARTSTREAM_CONFIG": str(tmp_path / "partstream.toml")}
    if profile is not None:
        environment["PARTSTREAM_PROFILE"] = profile
    limits = load_configuration(group=group, environment=environment).gateway().limits
    assert limits == Limits(budget, owner)


def test_a_budget_of_one_server_does_not_count_what_others_take(data: Path) -> None:
    file, limits = SpendingFile(data), Limits("10 tokens/day")
    own = Limits(limits.budget, "the profile a")
    try:
        for upstream in ("a", "b"):
            begun = file.begin(limits, upstream, Taken(0, 5))
            assert isinstance(begun, str)
            file.end(begun, upstream, Taken(0, 5))
        assert isinstance(file.begin(limits, "a", Taken()), BudgetReachedError)
        assert isinstance(file.begin(own, "a", Taken()), str)
        assert file.standing(own, "b").spent == 5  # type: ignore[union-attr] # it has a budget
    finally:
        file.close()


ENDS = {
    "an answer": (None, 26, ANSWER),
    "an error of the server": ("status=400", 0, 0),
    "an answer that was cut": ("cut=3", None, None),
}


@one_test_for(("fault", "tokens", "cost"), ENDS.values())
def test_what_an_answer_took_is_charged_however_it_ended(
    fault: str | None, tokens: int | None, cost: int | None, data: Path
) -> None:
    data.unlink(missing_ok=True)

    async def check() -> None:
        async with (
            ReplayUpstream(fault=fault) as upstream,
            gateway_to(upstream.base_url, **settings(upstream.base_url, budget="1 USD/day")) as provider,
        ):
            await ask(provider, "Hi")
            assert provider.spending is not None
            standing = await provider.spending.standing()
            assert standing is not None
            assert (standing.reserved, standing.running) == (0, 0)
            if cost is None:  # estimated, and never more than the bound
                assert 0 < standing.spent < 10 * ANSWER
            else:
                assert standing.spent == cost

    run(check())


LONG = "word " * 600
COMPLETING = RequestOptions(
    model_options={COMPLETION: CompletionRequest(LONG, "):\n").fields, "max_tokens": 9, "temperature": 0}
)
PICTURE = [ChatMessage.user([TextPart(LONG), DataPart.image(PNG, "image/png")])]
OF_PICTURE = file_bound("replay", "image/png", PNG).tokens


@one_test_for(
    ("said", "options", "extra"),
    [
        pytest.param(LONG, RequestOptions(), 0, id="an answer"),
        pytest.param(LONG, COMPLETING, 1000, id="a completion"),  # which is asked for by its options
        pytest.param(
            PICTURE, RequestOptions(), file_bound("replay", "image/png", PNG).tokens, id="an answer about a picture"
        ),
    ],
)
@pytest.mark.parametrize("moment", ["before it begins", "in the middle"])
def test_what_a_person_stops_is_charged_by_what_was_sent_and_what_came(
    said: Any, options: RequestOptions, extra: int, moment: str, data: Path
) -> None:
    data.unlink(missing_ok=True)

    async def check() -> None:
        source = CancellationTokenSource()

        class Stopping(Answer):
            def report(self, part: Any, /) -> None:
                super().report(part)
                source.cancel()

        is_early = moment == "before it begins"
        async with (
            ReplayUpstream(fault="stall_before_headers" if is_early else None, pace=5) as upstream,
            gateway_to(upstream.base_url, **settings(upstream.base_url, budget="1 USD/day")) as provider,
        ):
            answer = Stopping()
            task = asyncio.create_task(respond(provider, said, answer, token=source.token, options=options))
            if is_early:
                await upstream.until(lambda: upstream.requests)
                source.cancel()
            await task
            assert provider.spending is not None
            standing = await provider.spending.standing()
            assert standing is not None
            assert (standing.reserved, standing.running) == (0, 0)
            sent = 10_000 * (1000 + extra)  # three bytes of a prompt are a token
            came = 20_000 * (len(answer.text) // 3)
            assert (came == 0) == is_early
            assert sent + came <= standing.spent < 1.2 * sent + came

    run(check())


def _event(**said: Any) -> bytes:
    return b"data: " + json.dumps(said).encode() + b"\n\n"


def _delta(**delta: Any) -> bytes:
    return _event(id="c", object="chat.completion.chunk", choices=[{"index": 0, "delta": delta}])


def _arguments(text: str) -> bytes:
    return _delta(tool_calls=[{"index": 0, "id": "c", "function": {"name": "f", "arguments": text}}])


@one_test_for(
    ("event", "least"),
    [
        pytest.param(_delta(content="x" * 300), 10_000, id="text"),
        pytest.param(_delta(reasoning_content="x" * 300), 10_000, id="thinking"),
        pytest.param(_arguments("{" + "x" * 299), 10_000, id="arguments that are no JSON"),
        pytest.param(_event(zzz="x" * 300), 2_500, id="unknown events"),
    ],
)
def test_whatever_came_of_an_answer_without_a_report_is_charged(event: bytes, least: int, data: Path) -> None:
    data.unlink(missing_ok=True)

    async def check() -> None:
        head = Head(200, (("content-type", "text/event-stream"),))
        steps = (head, Send(_delta(role="assistant", content="")), *[Send(event)] * 100, End(EndKind.CLOSED))
        async with (
            server_of(steps) as (url, _),
            gateway_to(url, protocol="chat-completions", **settings(url, budget="1 USD/day")) as provider,
        ):
            with suppress(LanguageModelError):
                await ask(provider, "Hi")
            assert provider.spending is not None
            standing = await provider.spending.standing()
            assert standing is not None
            assert 20_000 * least <= standing.spent < 1.1 * 20_000 * least  # of 30,000 bytes

    run(check())


@one_test_for("reported", [10**9, 10**12])
def test_a_report_far_above_what_a_request_can_take_is_not_believed(reported: int, data: Path) -> None:
    data.unlink(missing_ok=True)

    async def check() -> None:
        usage = {"prompt_tokens": 12, "completion_tokens": reported, "total_tokens": reported + 12}
        said = {"message": {"role": "assistant", "content": "Hello you"}, "finish_reason": "stop", "index": 0}
        reply = document(200, json.dumps({"object": "chat.completion", "choices": [said], "usage": usage}).encode())
        async with (
            server_of(reply) as (url, _),
            gateway_to(url, protocol="chat-completions", **settings(url, budget="1 USD/day")) as provider,
        ):
            await ask(provider, "Hi")
            assert provider.spending is not None
            standing = await provider.spending.standing()
            assert standing is not None
            assert 0 < standing.spent < ANSWER

    run(check())


# ---- several windows ----


@contextmanager
def windows(*commands: list[str]) -> Iterator[list["subprocess.Popen[str]"]]:
    """Processes that are ready to begin."""
    processes = [
        subprocess.Popen([sys.executable, str(SPENDER), *command], stdin=-1, stdout=-1, text=True)
        for command in commands
    ]
    try:
        for process in processes:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
        yield processes
    finally:
        for process in processes:
            process.kill()
            process.communicate()


def _go(process: "subprocess.Popen[str]") -> None:
    assert process.stdin is not None
    process.stdin.write("\n")
    process.stdin.flush()


def _standing(data: Path, budget: str) -> Standing:
    file = SpendingFile(data)
    try:
        standing = file.standing(Limits(budget), "any")
    finally:
        file.close()
    assert standing is not None
    return standing


def test_a_budget_of_one_cent_holds_over_three_windows_at_once(data: Path) -> None:
    async def check() -> None:
        async with ReplayUpstream() as upstream:
            command = [upstream.base_url, json.dumps({"budget": "0.01 USD/day", "prices": PRICES})]
            with windows(command, command, command) as processes:
                for process in processes:
                    _go(process)
                said = [json.loads((await asyncio.to_thread(one.communicate))[0]) for one in processes]
            assert [error for _, error, _ in said] == ["BudgetReachedError"] * 3
            answers = sum(count for count, _, _ in said)
            assert len(upstream.requests) == answers
            standing = _standing(data, "0.01 USD/day")
            assert (standing.spent, standing.running) == (answers * ANSWER, 0)
            cent = DOLLAR // 100
            assert cent <= standing.spent <= cent + 3 * ANSWER  # the running answers of three windows, and no more

    run(check(), 60)


def test_what_a_killed_window_has_reserved_is_charged_by_the_next_one_that_needs_it(data: Path) -> None:
    async def check() -> None:
        async with ReplayUpstream() as upstream:
            given = {"budget": "0.001 USD/day", "prices": PRICES, "parallelRequests": 1}
            with windows([upstream.base_url, json.dumps(given), "waits"]) as (killed,):
                _go(killed)
                assert killed.stdout is not None
                assert await asyncio.to_thread(killed.stdout.readline) == "in the middle\n"
                assert _standing(data, "0.001 USD/day").running == 1
                killed.kill()
                killed.wait()
                changes = settings(upstream.base_url, **given)
                async with gateway_to(upstream.base_url, **changes) as provider:
                    error = (await ask(provider, "Hi")).error
            assert isinstance(error, BudgetReachedError)
            standing = _standing(data, "0.001 USD/day")
            assert standing.spent > DOLLAR // 1000  # all that it had reserved
            assert standing.running == 0

    run(check(), 60)


class Waiting(Answer):
    """An answer that hears why it waits."""

    said: str = ""

    def wait(self, reason: str, _seconds: float) -> None:
        self.said = reason
        self.came.set()


def test_a_request_waits_for_its_turn_and_says_why_and_is_refused_after_the_longest_wait() -> None:
    async def check() -> None:
        async with ReplayUpstream(fault="stall=6:30") as upstream:
            one = settings(upstream.base_url, parallelRequests=1, retry={"longestWait": 20})
            short = settings(upstream.base_url, parallelRequests=1, retry={"longestWait": 0.1})
            async with (
                gateway_to(upstream.base_url, **one) as provider,
                gateway_to(upstream.base_url, **one) as other,
                gateway_to(upstream.base_url, **short) as impatient,
            ):
                source, first, second = CancellationTokenSource(), Answer(), Waiting()
                running = asyncio.create_task(respond(provider, "Hi", first, token=source.token))
                await first.came.wait()
                error = (await ask(impatient, "Hi")).error
                assert isinstance(error, RateReachedError)
                assert (error.setting, error.limit) == ("parallelRequests", 1)
                assert failure_of(error).kind is FailureKind.RATE_LIMITED
                stop = CancellationTokenSource()
                waiting = asyncio.create_task(respond(other, "Hi", second, token=stop.token))
                await second.came.wait()
                assert second.said == "1 of 1 parallel requests are running"
                assert len(upstream.requests) == 1
                second.came.clear()
                source.cancel()
                await running
                await second.came.wait()  # it has begun, in another provider than the first
                assert len(upstream.requests) == 2
                stop.cancel()
                await waiting

    run(check())


# ---- the file and its clock ----


class Clock:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now = datetime(2026, 11, 25, 12).timestamp()  # noqa: DTZ001 - the person's own calendar

    def __call__(self) -> float:
        return self.now


def _spend(file: SpendingFile, limits: Limits, tokens: int) -> None:
    begun = file.begin(limits, "a", Taken(0, tokens))
    assert isinstance(begun, str), begun
    file.end(begun, "a", Taken(0, tokens))


DAY = 86_400


@one_test_for(
    ("period", "steps"),
    [  # seconds to go, tokens to spend, what is spent then
        ("day", [(0, 3, 3), (3600, 3, 6), (DAY, 1, 1)]),
        ("week", [(0, 3, 3), (DAY, 3, 6), (7 * DAY, 1, 1)]),  # begins on a Wednesday
        ("month", [(0, 3, 3), (5 * DAY, 3, 6), (DAY, 1, 1)]),
        ("day", [(0, 3, 3), (-3600, 1, 4)]),
        ("day", [(0, 3, 3), (400 * DAY, 2, 2), (-400 * DAY, 0, 5), (DAY, 0, 0)]),  # far, and back again
        ("day", [(0, 3, 3), (DAY, 2, 2), (-DAY, 0, 5), (DAY, 0, 0)]),  # spent tomorrow: that is today, once
    ],
)
def test_a_budget_begins_anew_by_the_calendar_and_a_clock_that_jumps_gives_nothing_away(
    period: str, steps: list[tuple[int, int, int]], data: Path
) -> None:
    data.unlink(missing_ok=True)
    clock, limits = Clock(), Limits(f"100 tokens/{period}")
    file = SpendingFile(data, clock)
    try:
        for seconds, tokens, spent in steps:
            clock.now += seconds
            if tokens:
                _spend(file, limits, tokens)
            standing = file.standing(limits, "a")
            assert standing is not None
            assert (standing.spent, standing.resets_at > clock.now) == (spent, True)
    finally:
        file.close()


def test_a_minute_takes_as_many_requests_as_are_allowed_whatever_the_clock_does(data: Path) -> None:
    clock, limits = Clock(), Limits(requests_per_minute=2)
    file = SpendingFile(data, clock)
    try:
        for wait in (None, None, 50):
            verdict = file.begin(limits, "a", Taken())
            assert (verdict.retry_after if isinstance(verdict, RateReachedError) else None) == wait
            clock.now += 5
        assert isinstance(file.begin(limits, "b", Taken()), str)  # another server
        clock.now += 45
        assert isinstance(file.begin(limits, "a", Taken()), str)
        clock.now -= 7 * DAY
        verdict = file.begin(limits, "a", Taken())
        assert isinstance(verdict, RateReachedError)
        assert verdict.retry_after == 60
        assert verdict.reason == "2 of 2 requests a minute were sent"
    finally:
        file.close()


def _garbage(data: Path) -> None:
    data.write_bytes(b"no database, but long enough to have a header" * 40)


def _foreign(data: Path) -> None:
    connection = sqlite3.connect(data)
    connection.execute("PRAGMA application_id = 77")
    connection.execute("CREATE TABLE spent (day TEXT)")
    connection.close()


def _folder(data: Path) -> None:
    data.mkdir()


@one_test_for("spoil", [_garbage, _foreign, _folder])
def test_a_file_that_cannot_be_used_refuses_what_has_a_budget_and_says_how_to_go_on(spoil: Any, data: Path) -> None:
    shutil.rmtree(data.parent, ignore_errors=True)
    data.parent.mkdir()
    spoil(data)

    async def check() -> None:
        async with ReplayUpstream() as upstream:
            async with gateway_to(upstream.base_url, **settings(upstream.base_url, budget="1 USD/day")) as provider:
                error = (await ask(provider, "Hi")).error
                assert isinstance(error, BudgetUnknownError)
                assert str(data) in error.reason
                assert "remove it" in str(error)
                assert upstream.requests == []
                shutil.rmtree(data) if data.is_dir() else data.unlink()
                assert (await ask(provider, "Hi")).error is None
            shutil.rmtree(data.parent)
            data.parent.mkdir()
            spoil(data)
            rates = settings(upstream.base_url, parallelRequests=1)
            async with gateway_to(upstream.base_url, **rates) as provider:  # they guard no money
                assert (await ask(provider, "Hi")).error is None

    run(check())


def test_windows_share_the_file_that_a_person_has_put_in_its_place(data: Path) -> None:
    limits = Limits("100 tokens/day")
    one, other = SpendingFile(data), SpendingFile(data)
    try:
        _spend(one, limits, 3)
        for path in list(data.parent.glob(f"{data.name}*")):
            path.rename(path.with_name(f"old-{path.name}"))
        _spend(other, limits, 4)
        _spend(one, limits, 5)
        standing = other.standing(limits, "a")
        assert standing is not None
        assert standing.spent == 9
    finally:
        one.close()
        other.close()


def test_a_full_disk_refuses_and_what_ended_before_is_entered_when_there_is_room(data: Path) -> None:
    limits = Limits("1M tokens/day")
    file = SpendingFile(data)
    try:
        begun = file.begin(limits, "a", Taken(0, 9))
        assert isinstance(begun, str)

        def pages(most: int) -> None:
            assert file._connection is not None
            file._connection.execute(f"PRAGMA max_page_count = {most}").fetchall()

        pages(1)  # of which there are more already: no new one is had
        many = (file.begin(limits, f"upstream-{number}" * 20, Taken(0, 0)) for number in range(10_000))
        with pytest.raises(sqlite3.OperationalError, match="full"):
            list(many)
        pages(10_000_000)
        file.end(begun, "a", Taken(0, 7))
        standing = file.standing(limits, "a")
        assert standing is not None
        assert standing.spent == 7
    finally:
        file.close()


def test_what_is_reserved_when_a_program_ends_is_charged_and_its_lock_is_gone(data: Path) -> None:
    limits = Limits("100 tokens/day")
    file = SpendingFile(data)
    assert isinstance(file.begin(limits, "a", Taken(0, 9)), str)
    file.close()
    assert list(data.with_suffix(".locks").iterdir()) == []
    standing = _standing(data, "100 tokens/day")
    assert (standing.spent, standing.running) == (9, 0)


def test_the_errors_of_a_budget_are_of_one_kind() -> None:
    assert issubclass(BudgetReachedError, BudgetError)
    assert issubclass(BudgetUnknownError, BudgetError)
    assert issubclass(BudgetError, LanguageModelError)
