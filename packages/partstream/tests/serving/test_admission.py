"""What the owner of a server puts before its providers: every door asks it, and it learns the end of every answer."""

from __future__ import annotations
import asyncio
import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import pytest

from partstream import chat_model
from partstream.lm.messages import ChatMessage
from partstream.lm.outputs import Outcome
from partstream.lm.parts import TextPart
from partstream.protocols.failures import FailureKind, ServedFailure
from partstream.server.application import app
from partstream.server.clients import Caller
from partstream.server.requests import RequestFailedError
from partstream.server.settings import Admitted, AnswerRequest, EndedAnswer, ServingSettings
from partstream.server.stored_answers import SQLiteAnswers
from rows import one_test_for
from serving.asgi import ask, call
from serving.asgi_socket import Socket
from serving.providers import Driven, deaf, silent
from serving.wires import WIRES, Wire

if TYPE_CHECKING:
    from collections.abc import Mapping

    from partstream.server.models import CataloguedModel

every_wire = pytest.mark.parametrize("wire", WIRES, ids=lambda wire: wire.name)


@chat_model(id="parrot", name="Parrot", count_tokens=lambda _: 7)
async def parrot(messages, options):
    del options
    yield "You said: "
    yield messages[-1].content[0].value


@chat_model(id="owl", name="Owl")
async def owl(messages, options):
    del messages, options
    yield "Hoo"


@dataclass
class Noted:
    """A permit that notes its calls."""

    most: int | None = None
    parts: list[Any] = field(default_factory=list)
    ended: list[EndedAnswer] = field(default_factory=list)

    @property
    def reported(self):
        return None if self.most is None else self.look

    def look(self, part):
        self.parts.append(part)
        assert self.most is not None
        return "budget_spent" if len(self.parts) >= self.most else None

    def settle(self, ended: EndedAnswer) -> None:
        self.ended.append(ended)


@dataclass
class Doorkeeper:
    """An admission that notes what it is asked."""

    known: frozenset[str] = frozenset({"parrot", "m"})
    refusal: RequestFailedError | None = None
    text: str | None = None
    most: int | None = None
    is_ready: bool = True
    requests: list[AnswerRequest] = field(default_factory=list)
    permits: list[Noted] = field(default_factory=list)

    def models_of(self, caller: Caller, models: Mapping[str, CataloguedModel]) -> Mapping[str, CataloguedModel]:
        return {name: model for name, model in models.items() if name in self.known}

    def enter(self, _caller: Any) -> None:
        return None

    async def afford(self, *_request: Any) -> None:
        return None

    async def admit(self, request: AnswerRequest) -> Admitted:
        self.requests.append(request)
        if self.refusal is not None:
            raise self.refusal
        asked = request.asked
        if self.text is not None:
            asked = replace(asked, messages=(ChatMessage.user(self.text),))
        self.permits.append(Noted(self.most))
        return Admitted(asked, request.model, self.permits[-1])

    @property
    def ended(self) -> EndedAnswer:
        """How the only answer ended."""
        (permit,) = self.permits
        (ended,) = permit.ended
        return ended


def server(doorkeeper, *providers, **settings):
    chosen = ServingSettings(admission=doorkeeper, authenticate=lambda _: Caller("ann"), **settings)
    return app(providers or (parrot, owl), chosen)


def without_id(reply) -> bytes:
    """The body of a reply without what every reply has of its own."""
    return re.sub(rb"(req|gen)_\w+", b"", reply.body)


@every_wire
@one_test_for("stream", [True, False], ids=["stream", "document"])
def test_every_wire_asks_for_admission_and_tells_the_end(wire: Wire, stream: bool):
    doorkeeper = Doorkeeper(text="Admitted")
    arguments, more = wire.asking("parrot", stream=stream)
    reply = asyncio.run(ask(server(doorkeeper), *arguments, **more))
    parts, _ = wire.read(reply.body, stream=stream)
    assert "".join(one.value for one in parts if isinstance(one, TextPart)) == "You said: Admitted"
    (request,) = doorkeeper.requests
    assert (request.caller.name, request.model.id, request.wire, request.is_count) == (
        "ann",
        "parrot",
        wire.name,
        False,
    )
    ended = doorkeeper.ended
    assert (ended.was_asked, ended.observation.outcome, ended.length) == (True, Outcome.COMPLETED, 1.0)
    assert ended.observation.usage is not None
    assert ended.answer().content[0].value == "You said: Admitted"


@one_test_for("is_as_prepared", [True, False], ids=["as prepared", "otherwise"])
def test_a_provider_gets_what_was_admitted_whatever_was_prepared_while_the_admission_waited(is_as_prepared):
    class Waiting(Doorkeeper):
        async def admit(self, request):
            early = await super().admit(request)
            request.prepare(early)
            return early if is_as_prepared else replace(early, asked=request.asked)

    body = {"model": "parrot", "input": "Hi"}
    reply = asyncio.run(ask(server(Waiting(text="Admitted")), "/v1/responses", body))
    said = reply.json["output"][0]["content"][0]["text"]
    assert said == f"You said: {'Admitted' if is_as_prepared else 'Hi'}"


@every_wire
def test_what_is_refused_reaches_no_provider_and_is_said_in_the_words_of_the_wire(wire: Wire):
    provider = Driven(silent)
    refusal = RequestFailedError(ServedFailure(FailureKind.RATE_LIMITED, "Slower.", retry_after=3))
    arguments, more = wire.asking("m")
    reply = asyncio.run(ask(server(Doorkeeper(refusal=refusal), provider), *arguments, **more))
    assert (reply.status, reply.headers["retry-after"]) == (429, "3")
    assert "Slower." in reply.body.decode()
    assert provider.events == []


@every_wire
def test_a_model_that_a_caller_may_not_use_is_unknown_to_him(wire: Wire):
    doorkeeper = Doorkeeper()
    arguments, more = wire.asking("owl")
    reply = asyncio.run(ask(server(doorkeeper), *arguments, **more))
    assert reply.status == 404
    assert b"parrot" in reply.body
    assert doorkeeper.requests == []
    missing, more = wire.asking("cockatoo")
    other = asyncio.run(ask(server(doorkeeper), *missing, **more))
    assert without_id(other).replace(b"cockatoo", b"owl") == without_id(reply)


@pytest.mark.parametrize("path", ["/v1/models", "/v1beta/models", "/api/tags"])
def test_lists_hold_only_the_models_that_a_caller_may_use(path: str):
    reply = asyncio.run(ask(server(Doorkeeper()), path))
    assert b"parrot" in reply.body
    assert b"owl" not in reply.body.lower()


def test_a_count_is_admitted_as_such_and_took_nothing():
    doorkeeper = Doorkeeper(text="One two three four five six seven eight nine ten")
    body = {"model": "parrot", "messages": [{"role": "user", "content": "Hi"}]}
    reply = asyncio.run(ask(server(doorkeeper), "/v1/messages/count_tokens", body))
    assert reply.status == 200
    assert [one.is_count for one in doorkeeper.requests] == [True]
    assert not doorkeeper.ended.was_asked
    refused = asyncio.run(ask(server(doorkeeper), "/v1/messages/count_tokens", {**body, "model": "owl"}))
    assert refused.status == 404


def test_a_turn_of_a_socket_is_admitted_and_a_warm_up_as_a_request_that_takes_nothing():
    async def run():
        doorkeeper = Doorkeeper()
        socket = await Socket(server(doorkeeper), "/v1/responses").opened()
        await socket.turn(model="parrot", input="Hi", generate=False)
        assert [one.is_count for one in doorkeeper.requests] == [True]
        assert not doorkeeper.ended.was_asked
        events = await socket.turn(model="parrot", input="Hi")
        assert events[-1]["type"] == "response.completed"
        doorkeeper.refusal = RequestFailedError(ServedFailure(FailureKind.SPENT_BUDGET, "Nothing is left."))
        for generate in (True, False):
            refused = await socket.turn(model="parrot", input="Hi", generate=generate)
            assert (refused[-1]["type"], refused[-1]["status"]) == ("error", 429)
        await socket.close()
        assert [one.ended[0].was_asked for one in doorkeeper.permits] == [False, True]

    asyncio.run(run())


@every_wire
def test_a_permit_ends_an_answer_as_one_that_reached_its_longest_length(wire: Wire):
    async def endless(progress, token):
        while not token.is_cancellation_requested:
            progress.report(TextPart("more "))
            await asyncio.sleep(0)

    doorkeeper, provider = Doorkeeper(most=3), Driven(endless)
    arguments, more = wire.asking("m")
    reply = asyncio.run(ask(server(doorkeeper, provider), *arguments, **more))
    parts, finish = wire.read(reply.body)
    assert "".join(one.value for one in parts if isinstance(one, TextPart)) == "more more more "
    assert finish.outcome is Outcome.INCOMPLETE
    assert len(doorkeeper.permits[0].parts) == 3
    assert provider.cancelled.is_set()
    assert doorkeeper.ended.observation.outcome is Outcome.INCOMPLETE
    assert doorkeeper.ended.observation.reason.raw == "budget_spent"
    assert doorkeeper.ended.answer().content[0].value == "more more more "


@pytest.mark.parametrize("may_go_on", [True, False])
def test_a_provider_waits_until_it_is_known_whether_its_answer_may_go_on(may_go_on: bool):
    order: list[str] = []

    async def says_two_words(progress, token):
        for word in ("one ", "two"):
            if not token.is_cancellation_requested:
                order.append(word)
                progress.report(TextPart(word))
                await progress.drain()

    class Undecided(Noted):
        unknown: Any = None

        def look(self, part):
            if self.unknown is None:
                self.unknown = asyncio.get_running_loop().create_future()
                self.decide(turns=100)
            if not self.unknown.done():
                return self.unknown
            return None if may_go_on else "budget_spent"

        def decide(self, turns: int):
            if turns:
                asyncio.get_running_loop().call_soon(self.decide, turns - 1)
                return
            order.append("decided")
            self.unknown.set_result(may_go_on)

    class Wondering(Doorkeeper):
        async def admit(self, request):
            return Admitted(request.asked, request.model, Undecided(most=1))

    application = server(Wondering(), Driven(says_two_words))
    reply = asyncio.run(ask(application, "/v1/responses", {"model": "m", "input": "Hi"}))
    said = reply.json["output"][0]["content"][0]["text"]
    assert said == ("one two" if may_go_on else "one ")
    assert order == ["one ", "decided", *(["two"] if may_go_on else [])]


def test_an_answer_that_its_client_leaves_is_settled_with_what_was_seen():
    async def says_a_word(progress, token):
        progress.report(TextPart("word"))
        await silent(progress, token)

    async def run():
        doorkeeper, provider = Doorkeeper(), Driven(says_a_word)
        application = server(doorkeeper, provider)
        leaving = call(application, "/v1/responses", {"model": "m", "input": "Hi", "stream": True})
        await leaving.until(lambda: b"word" in leaving.body)
        leaving.leave()
        await leaving.end()
        ended = doorkeeper.ended
        assert (ended.was_asked, ended.observation.is_cancelled, ended.observation.status) == (True, True, 200)
        assert ended.answer().content[0].value == "word"

    asyncio.run(run())


def test_a_provider_is_not_asked_for_a_client_that_left_while_it_waited_for_admission():
    async def run():
        let_in, provider = asyncio.Event(), Driven(silent)

        class Slow(Doorkeeper):
            async def admit(self, request):
                admitted = await super().admit(request)
                await let_in.wait()
                return admitted

        slow = Slow()
        leaving = call(server(slow, provider), "/v1/responses", {"model": "m", "input": "Hi"})
        while not slow.permits:
            await asyncio.sleep(0)
        leaving.leave()
        let_in.set()
        await leaving.end()
        assert provider.events == []
        assert (slow.ended.was_asked, slow.ended.observation.is_cancelled) == (False, True)

    asyncio.run(run())


@pytest.mark.parametrize("answer", [silent, deaf])
def test_an_answer_that_is_killed_with_its_server_is_settled(answer):
    async def run():
        doorkeeper, provider = Doorkeeper(), Driven(answer)
        one = call(server(doorkeeper, provider, stop_seconds=0.0), "/v1/responses", {"model": "m", "input": "Hi"})
        await provider.begun.wait()
        one.task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await one.task
        assert doorkeeper.ended.observation.is_cancelled

    asyncio.run(run())


def test_an_answer_that_fails_is_settled():
    async def fails(progress, token):
        raise RuntimeError("no")

    doorkeeper = Doorkeeper()
    reply = asyncio.run(ask(server(doorkeeper, Driven(fails)), "/v1/responses", {"model": "m", "input": "Hi"}))
    assert (reply.status, doorkeeper.ended.observation.status) == (500, 500)
    assert doorkeeper.ended.was_asked


def test_an_answer_for_which_there_is_no_room_is_settled_as_one_that_took_nothing():
    async def run():
        doorkeeper, provider = Doorkeeper(), Driven(silent)
        application = server(doorkeeper, provider, concurrent_answers=1)

        class Full(Doorkeeper):
            async def admit(self, request):
                admitted = await super().admit(request)
                if len(self.permits) == 1:
                    other = call(application, "/v1/responses", {"model": "m", "input": "Hi", "stream": True})
                    others.append(other)
                    await provider.begun.wait()
                return admitted

        others: list[Any] = []
        full = Full()
        application = server(full, provider, concurrent_answers=1)
        refused = await ask(application, "/v1/responses", {"model": "m", "input": "Hi"})
        assert refused.status == 503
        (ended,) = full.permits[0].ended
        assert not ended.was_asked
        others[0].leave()
        await others[0].end()

    asyncio.run(run())


def test_a_permit_that_fails_to_settle_changes_no_answer(caplog):
    class Broken(Noted):
        def settle(self, ended):
            raise ValueError("no")

    class Breaking(Doorkeeper):
        async def admit(self, request):
            return Admitted(request.asked, request.model, Broken())

    reply = asyncio.run(ask(server(Breaking()), "/v1/responses", {"model": "parrot", "input": "Hi"}))
    assert reply.json["output"][0]["content"][0]["text"] == "You said: Hi"
    assert "an answer could not be settled" in caplog.text


def test_a_server_whose_admission_is_not_ready_takes_no_traffic():
    async def run():
        doorkeeper = Doorkeeper(is_ready=False)
        application = server(doorkeeper)
        assert [(await ask(application, one)).status for one in ("/healthz", "/readyz")] == [200, 503]
        doorkeeper.is_ready = True
        assert (await ask(application, "/readyz")).status == 200

    asyncio.run(run())


def test_what_a_caller_stored_is_found_by_nobody_else(tmp_path):
    async def run():
        who = ["ann"]
        store = SQLiteAnswers(tmp_path / "answers.sqlite")
        settings = ServingSettings(admission=Doorkeeper(), authenticate=lambda _: Caller(who[0]), store=store)
        application = app([parrot], settings)
        stored = (await ask(application, "/v1/responses", {"model": "parrot", "input": "Hi"})).json["id"]
        assert (await ask(application, f"/v1/responses/{stored}")).status == 200
        who[0] = "bob"
        body = {"model": "parrot", "input": "And?", "previous_response_id": stored}
        replies = [
            await ask(application, f"/v1/responses/{stored}"),
            await ask(application, f"/v1/responses/{stored}/input_items"),
            await ask(application, f"/v1/responses/{stored}/cancel", {}),
            await ask(application, f"/v1/responses/{stored}", method="DELETE"),
        ]
        assert {one.status for one in replies} == {404}
        assert (await ask(application, "/v1/responses", body)).status == 400
        await store.close()

    asyncio.run(run())
