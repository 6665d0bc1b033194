"""Routed models over real HTTP: two model servers on loopback, one of which fails in every way that servers fail."""

from __future__ import annotations
import logging
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace

import pytest

from hub.routing.circuits import CircuitState, state_of
from partstream import chat_model
from partstream.lm.outputs import Finish, Outcome
from partstream.lm.parts import TextPart
from partstream.lm.provider import LanguageModelChatCapabilities, LanguageModelChatInformation
from partstream.server.application import ServingApp, app
from partstream.server.clients import Caller
from partstream.server.requests import DROPPED_HEADER
from partstream.server.settings import UPSTREAM_HEADER, ServingSettings
from partstream.upstream.configuration import RetryPolicy, Timeouts
from partstream.upstream.provider import GatewayProvider
from partstream_devtools.testing.admission import ScriptedReply
from partstream_devtools.testing.upstream import ReplayUpstream
from partstream_hub.directory import ModelRoute, Route
from partstream_hub.routing import ROUTES, RoutedProvider, is_behind_a_route
from serving.asgi import ask, call
from serving.wires import WIRES
from upstreams.upstreams import configuration, run

MODEL = LanguageModelChatInformation(
    "big-1", "Big", "big", "1", 1000, 100, capabilities=LanguageModelChatCapabilities(tool_calling=True)
)
ROUTE = ModelRoute("big", (Route("west", "big-1"), Route("east", "big-2")))
TEXT = "Hello there."


def circuit_states(routed: RoutedProvider) -> dict[tuple[str, str], CircuitState]:
    """The state of each upstream that was asked, by provider and model."""
    return {name: state_of(circuit, routed._now()) for name, circuit in routed._circuits.items()}


@dataclass
class Upstream:
    """A model server, and what it does with a request."""

    server: ReplayUpstream
    stack: AsyncExitStack
    fault: str = ""
    models: list[str] = field(default_factory=list)

    def perform(self, asked):
        self.models.append(asked.model)
        outputs = iter((TextPart("Hello "), TextPart("there."), Finish(Outcome.COMPLETED)))
        return ScriptedReply(outputs, fault=self.fault)

    @property
    def attempts(self) -> int:
        """How often a model was asked."""
        return len(self.models)

    async def die(self) -> None:
        """Stops listening."""
        await self.stack.aclose()


@dataclass
class Clock:
    now: float = 1000.0

    def __call__(self) -> float:
        return self.now


@dataclass
class Hub:
    """Two model servers behind one routed provider, behind a server."""

    application: ServingApp
    routed: RoutedProvider
    clock: Clock
    west: Upstream
    east: Upstream
    observed: list = field(default_factory=list)

    async def ask(self, session="one", model="big", person="ada", wire=WIRES[0], **more):
        arguments, rest = wire.asking(model, **more)
        headers = rest["headers"] | {"x-session-id": session, "x-person": person}
        return await ask(self.application, *arguments, **(rest | {"headers": headers}))

    async def upstream_of(self, session: str, **more) -> str:
        """The name of the upstream that answers a session, which it must."""
        reply = await self.ask(session, **more)
        assert reply.status == 200, reply.body
        return reply.headers[UPSTREAM_HEADER]

    async def sessions(self, upstream: str, number: int = 1) -> list[str]:
        """Sessions that belong to an upstream."""
        found = []
        for place in range(1000):
            if await self.upstream_of(f"s-{place}") == upstream:
                found.append(f"s-{place}")
            if len(found) == number:
                return found
        raise AssertionError("the other upstream has them all")

    def named(self, name: str) -> Upstream:
        return {"west": self.west, "east": self.east}[name]


RETRY = RetryPolicy(attempts=3, first_wait=0.01, longest_wait=0.05)


@asynccontextmanager
async def hub(*routes: ModelRoute, first_event: float = 20.0, more=(), may_use=lambda caller, model: True):
    async with AsyncExitStack() as stack:
        upstreams, providers = {}, dict(more)
        for name, model in (("west", "big-1"), ("east", "big-2")):
            own = await stack.enter_async_context(AsyncExitStack())
            server = await own.enter_async_context(ReplayUpstream())
            upstreams[name] = Upstream(server, own)
            server.perform(upstreams[name].perform)
            limits = Timeouts(connect=20.0, first_event=first_event, idle=20.0, total=25.0)
            models = (replace(MODEL, id=model),)
            given = configuration(server.base_url, models=models, timeouts=limits, retry=RETRY)
            providers[name] = GatewayProvider(given)
            stack.push_async_callback(providers[name].aclose)
        clock = Clock()
        routed = RoutedProvider(providers, {one.name: one for one in routes or (ROUTE,)}, now=clock, may_use=may_use)
        settings = ServingSettings(authenticate=lambda headers: Caller(headers.get("x-person", "nobody")))
        application = app({ROUTES: routed, **providers}, settings)
        built = Hub(application, routed, clock, upstreams["west"], upstreams["east"])
        application.on_did_finish_answer(built.observed.append)
        yield built


# ---- sessions ----


def test_a_session_stays_on_its_upstream_and_sessions_spread_over_both():
    async def test():
        async with hub() as built:
            homes = {f"s-{number}": await built.upstream_of(f"s-{number}") for number in range(12)}
            assert set(homes.values()) == {"west", "east"}
            for session, home in homes.items():
                assert await built.upstream_of(session) == home
            assert {one.provider for one in built.observed} == {"west", "east"}

    run(test())


def test_another_worker_sends_a_session_to_the_same_upstream():
    async def test():
        async with hub() as one, hub() as other:
            for number in range(8):
                assert await one.upstream_of(f"s-{number}") == await other.upstream_of(f"s-{number}")

    run(test())


def test_a_caller_without_sessions_stays_on_one_upstream():
    async def test():
        async with hub() as built:
            for person in ("ada", "bob", "eve", "joe"):
                arguments, more = WIRES[0].asking("big")
                headers = more["headers"] | {"x-person": person}
                asked = [await ask(built.application, *arguments, **(more | {"headers": headers})) for _ in range(3)]
                assert len({one.headers[UPSTREAM_HEADER] for one in asked}) == 1

    run(test())


def test_a_model_without_affinity_spreads_the_requests_of_one_session():
    async def test():
        async with hub(replace(ROUTE, affinity=False)) as built:
            assert {await built.upstream_of("one") for _ in range(40)} == {"west", "east"}

    run(test())


def test_a_reserve_answers_only_while_no_other_upstream_can():
    route = ModelRoute("big", (Route("west", "big-1", 0), Route("east", "big-2")))

    async def test():
        async with hub(route) as built:
            assert {await built.upstream_of(f"s-{number}") for number in range(8)} == {"east"}
            built.east.fault = "status=500"
            assert await built.upstream_of("s-0") == "west"

    run(test())


# ---- an upstream that fails before its first part ----


@pytest.mark.parametrize(
    "fault",
    ["status=500", "status=529", "status=401", "status=404", "status=429:20", "cut_before_headers", "html"],
)
def test_another_upstream_answers_in_place_of_one_that_fails(fault: str):
    async def test():
        async with hub() as built:
            session = (await built.sessions("west"))[0]
            before = built.west.attempts
            built.west.fault = fault
            reply = await built.ask(session)
            assert (reply.status, reply.headers[UPSTREAM_HEADER]) == (200, "east"), reply.body
            parts, finish = WIRES[0].read(reply.body)
            assert "".join(part.value for part in parts if isinstance(part, TextPart)) == TEXT
            assert finish.outcome is Outcome.COMPLETED
            assert built.west.attempts - before == 1, "the upstream was asked again by itself"

    run(test())


def test_another_upstream_answers_in_place_of_one_that_is_gone():
    async def test():
        async with hub() as built:
            session = (await built.sessions("west"))[0]
            await built.west.die()
            assert [await built.upstream_of(session) for _ in range(5)] == ["east"] * 5

    run(test())


@pytest.mark.parametrize("fault", ["stall_before_headers", "stall_before_events"])
def test_another_upstream_answers_in_place_of_one_that_hangs(fault: str):
    async def test():
        async with hub(first_event=0.2) as built:
            session = (await built.sessions("west"))[0]
            built.west.fault = fault
            assert await built.upstream_of(session) == "east"

    run(test())


def test_nobody_asks_an_upstream_before_the_time_that_it_asked_for_and_its_sessions_come_home_then():
    async def test():
        async with hub() as built:
            session = (await built.sessions("west"))[0]
            built.west.fault = "status=429:20"
            assert await built.upstream_of(session) == "east"
            built.west.fault, asked = "", built.west.attempts
            built.clock.now += 19
            assert await built.upstream_of(session) == "east"
            assert built.west.attempts == asked
            built.clock.now += 1
            assert await built.upstream_of(session) == "west"

    run(test())


def test_an_upstream_that_keeps_failing_is_left_alone_then_tried_with_one_request():
    async def test():
        async with hub() as built:
            session = (await built.sessions("west"))[0]
            built.west.fault, before = "status=500", built.west.attempts
            for _ in range(10):
                assert await built.upstream_of(session) == "east"
            assert built.west.attempts - before == 3
            assert circuit_states(built.routed)["west", "big-1"] is CircuitState.OPEN
            built.clock.now += 5
            for _ in range(10):
                assert await built.upstream_of(session) == "east"
            assert built.west.attempts - before == 4
            built.west.fault = ""
            built.clock.now += 10
            assert await built.upstream_of(session) == "west"
            assert circuit_states(built.routed)["west", "big-1"] is CircuitState.CLOSED

    run(test())


def test_the_last_upstream_tries_again_by_itself_so_that_attempts_add_up_and_do_not_multiply():
    async def test():
        async with hub() as built:
            built.west.fault = built.east.fault = "status=500"
            reply = await built.ask()
            assert reply.status == 500  # in the last upstream's own words
            assert sorted((built.west.attempts, built.east.attempts)) == [1, 3]

    run(test())


def test_where_all_upstreams_ask_to_wait_a_client_is_told_how_long_and_nobody_is_asked():
    async def test():
        async with hub() as built:
            built.west.fault, built.east.fault = "status=429:20", "status=429:40"
            await built.ask()
            asked = built.west.attempts + built.east.attempts
            built.clock.now += 5
            reply = await built.ask()
            assert (reply.status, reply.headers["retry-after"]) == (429, "15")
            assert built.west.attempts + built.east.attempts == asked

    run(test())


def test_nobody_is_refused_because_of_a_circuit_alone():
    async def test():
        async with hub() as built:
            built.west.fault = built.east.fault = "status=500"
            for _ in range(6):
                assert (await built.ask()).status == 500
            built.west.fault = built.east.fault = ""
            assert (await built.ask()).status == 200

    run(test())


@pytest.mark.parametrize("status", [400, 422])
def test_a_request_that_is_to_blame_itself_is_asked_once(status: int):
    async def test():
        async with hub() as built:
            built.west.fault = built.east.fault = f"status={status}"
            for _ in range(5):
                assert (await built.ask()).status == status
            assert built.west.attempts + built.east.attempts == 5
            assert set(circuit_states(built.routed).values()) == {CircuitState.CLOSED}

    run(test())


# ---- an upstream that fails behind its first part ----


@pytest.mark.parametrize("wire", WIRES, ids=lambda wire: wire.name)
def test_nothing_is_asked_again_once_a_part_was_reported(wire):
    async def test():
        async with hub() as built:
            session = (await built.sessions("west"))[0]
            east = built.east.attempts
            built.west.fault = "cut=6"
            reply = await built.ask(session, wire=wire)
            assert (reply.status, reply.headers[UPSTREAM_HEADER]) == (200, "west")
            assert built.east.attempts == east
            assert wire.read(reply.body)[1].outcome in {Outcome.FAILED, Outcome.TRUNCATED}

    run(test())


def test_answers_that_break_off_send_the_session_elsewhere_in_the_end():
    async def test():
        async with hub() as built:
            session = (await built.sessions("west"))[0]
            built.west.fault = "cut=6"
            assert [await built.upstream_of(session) for _ in range(4)] == ["west", "west", "west", "east"]

    run(test())


def test_a_client_that_leaves_opens_no_circuit():
    async def test():
        async with hub() as built:
            session = (await built.sessions("west"))[0]
            built.west.fault = "stall_before_headers"
            for _ in range(4):
                before = built.west.attempts
                arguments, more = WIRES[0].asking("big")
                headers = more["headers"] | {"x-session-id": session, "x-person": "ada"}
                left = call(built.application, *arguments, **(more | {"headers": headers}))
                await built.west.server.until(lambda before=before: built.west.attempts > before)
                left.leave()
                await left.end()
            assert circuit_states(built.routed)["west", "big-1"] is CircuitState.CLOSED

    run(test())


# ---- other models ----


SMALL = ModelRoute("small", (Route("east", "big-2"),))


def _falls_back(*names: str) -> ModelRoute:
    return ModelRoute("big", (Route("west", "big-1"),), fallbacks=names)


def test_another_model_answers_when_no_upstream_of_the_asked_one_can():
    async def test():
        async with hub(_falls_back("small"), SMALL) as built:
            assert await built.upstream_of("one") == "west"
            built.west.fault = "status=503"
            assert await built.upstream_of("one") == "east"

    run(test())


def test_a_model_of_a_provider_needs_no_route_to_answer_in_place_of_another():
    @chat_model(id="parrot")
    async def parrot(messages, options):
        del messages, options
        yield "Hello"

    async def test():
        async with hub(_falls_back("parrot"), more={"birds": parrot}) as built:
            built.west.fault = "status=503"
            assert await built.upstream_of("one") == "birds"

    run(test())


def test_a_caller_gets_no_other_model_that_he_may_not_use():
    async def test():
        allowed = {("ada", "small")}
        async with hub(
            _falls_back("small"), SMALL, may_use=lambda caller, model: (caller.name, model) in allowed
        ) as built:
            built.west.fault = "status=503"
            assert (await built.ask(person="ada")).status == 200
            assert (await built.ask(person="eve")).status == 503

    run(test())


def test_a_conversation_that_is_too_long_goes_to_a_model_with_more_room_alone():
    long = LanguageModelChatInformation("long", "Long", "long", "1", 5000, 100)
    short = replace(long, id="short", max_input_tokens=900)
    asked = []

    def model(information):
        @chat_model(id=information.id, max_input_tokens=information.max_input_tokens)
        async def answers(messages, options):
            del messages, options
            asked.append(information.id)
            yield "Hello"

        return answers

    async def test():
        async with hub(_falls_back("short", "long"), more={"a": model(short), "b": model(long)}) as built:
            built.west.fault = "context_length=1000:2000"
            assert await built.upstream_of("one") == "b"
            assert asked == ["long"]
            assert circuit_states(built.routed)["west", "big-1"] is CircuitState.CLOSED

    run(test())


# ---- the list ----


def test_the_list_shows_a_routed_model_once_with_what_all_its_upstreams_can_do():
    async def test():
        async with hub() as built:
            (listed,) = await built.routed.provide_language_model_chat_information(True, None)
            assert (listed.id, listed.name, listed.max_input_tokens) == ("big", "Big", 1000)
            models = await built.application.catalogue.models()
            behind = {name for name, model in models.items() if is_behind_a_route(model, {"big": ROUTE})}
            assert (set(models), behind) == ({"big", "big-1", "big-2"}, {"big-1", "big-2"})

    run(test())


def test_a_model_is_listed_while_one_of_its_upstreams_can_list_it():
    @chat_model(id="parrot")
    async def parrot(messages, options):
        del messages, options
        yield "Hello"

    route = ModelRoute("bird", (Route("nobody", "x"), Route("birds", "parrot")))

    async def test():
        async with hub(route, more={"birds": parrot}) as built:
            assert [await built.upstream_of(f"s-{number}", model="bird") for number in range(6)] == ["birds"] * 6

    run(test())


# ---- the directory changes ----


def test_routes_change_while_the_server_runs_and_answers_that_run_go_on():
    async def test():
        async with hub() as built:
            session = (await built.sessions("west"))[0]
            built.west.fault = "stall=6"
            arguments, more = WIRES[0].asking("big")
            headers = more["headers"] | {"x-session-id": session, "x-person": "ada"}
            running = call(built.application, *arguments, **(more | {"headers": headers}))
            await running.until(lambda: b"Hello" in running.body)
            other = ModelRoute("other", (Route("east", "big-2"),))
            built.routed.set_routes({"other": other})
            assert (await built.ask(session, model="big")).status == 404
            assert await built.upstream_of(session, model="other") == "east"
            assert not running.task.done()
            built.routed.set_routes({"other": other, "big": replace(ROUTE, upstreams=ROUTE.upstreams[1:])})
            assert await built.upstream_of(session, model="big") == "east"
            assert not running.task.done()
            running.leave()
            await running.end()

    run(test())


def test_the_same_routes_again_are_no_change_of_the_list():
    async def test():
        async with hub() as built:
            changes = []
            built.routed.on_did_change_language_model_chat_information(changes.append)
            built.routed.set_routes({"big": ROUTE})
            assert changes == []
            built.routed.set_routes({})
            assert changes == [None]

    run(test())


def test_the_log_says_who_answers_in_whose_place_and_why(caplog: pytest.LogCaptureFixture):
    async def test():
        async with hub() as built:
            session = (await built.sessions("west"))[0]
            built.west.fault = "status=503"
            await built.upstream_of(session)

    with caplog.at_level(logging.WARNING, "partstream.hub"):
        run(test())
    said = [record.getMessage() for record in caplog.records if record.name == "partstream.hub"]
    assert len(said) == 1
    assert said[0].startswith("asking big-2 of east for big in place of: the server answered HTTP 503")


def test_tokens_are_counted_by_the_upstream_with_the_largest_share():
    def model(name, tokens):
        @chat_model(id=name, count_tokens=lambda _: tokens)
        async def answers(messages, options):
            del messages, options
            yield "Hello"

        return answers

    route = ModelRoute("both", (Route("a", "x", 1), Route("b", "y", 5)))

    async def test():
        async with hub(route, more={"a": model("x", 3), "b": model("y", 7)}) as built:
            (listed,) = await built.routed.provide_language_model_chat_information(True, None)
            assert await built.routed.provide_token_count(listed, "Hello", None) == 7

    run(test())


# ---- what a request loses ----


@pytest.mark.parametrize(("model", "names"), [("big", None), ("own", "tools[].code_interpreter")])
def test_what_a_request_loses_depends_on_the_provider_to_which_it_is_routed(model, names):
    @chat_model(id="parrot")
    async def parrot(messages, options):
        del messages, options
        yield "Hi"

    routes = (ROUTE, ModelRoute("own", (Route("birds", "parrot"),)))

    async def test():
        async with hub(*routes, more={"birds": parrot}) as built:
            path, body, headers, query = WIRES[0].request(model)
            body["tools"] = [{"type": "code_interpreter", "container": {"type": "auto"}}]
            reply = await ask(built.application, path, body, headers=headers, query=query)
            assert reply.status == 200, reply.body
            assert reply.headers.get(DROPPED_HEADER) == names

    run(test())
