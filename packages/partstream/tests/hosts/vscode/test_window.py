"""A dialog at the door of the protocol: pages, going back, closing, what is refused, and what goes wrong."""

import asyncio
from typing import Any

import pytest

from partstream.vscode.methods import InvalidParamsError
from partstream.vscode.rpc import Response
from partstream.vscode.window import DialogClosedError, Item, WentBackError, Window, WindowError, alone

from .in_process import Peer, run, serving
from .person import BACK, CLOSED, Person

HEADING = alone("Lamps")


def beside(dialog: Any, *answers: Any, **facts: Any) -> tuple[Any, Person, Peer]:
    """What a coroutine of a window brings, the person before it, and the peer."""
    got: list[Any] = []

    async def test() -> None:
        async with serving() as peer:
            person = Person(peer, *answers, **facts)
            got.extend((await dialog(peer.session._window), person, peer))

    run(test())
    return tuple(got)


ITEMS = (Item("Red", 1, section="warm"), Item("Green", 2, "cold", "of the harbour"))


def test_a_row_is_chosen_by_its_label_and_shown_with_what_is_known_of_it():
    chosen, person, _ = beside(lambda window: window.choose(HEADING, "Which?", ITEMS, "One alone."), "Green")
    assert chosen == 2
    assert person.pages == [
        {
            "heading": {"title": "Lamps", "hasBack": False},
            "placeholder": "Which?",
            "prompt": "One alone.",
            "items": [
                {"label": "Red", "section": "warm"},
                {"label": "Green", "description": "cold", "detail": "of the harbour"},
            ],
        }
    ]


def test_several_rows_can_have_a_tick_from_the_start():
    chosen, person, _ = beside(lambda window: window.choose_many(HEADING, "Which?", ITEMS, [2], refusal="One!"), None)
    assert chosen == [2]
    assert (person.pages[0]["chosen"], person.pages[0]["refusal"]) == ([1], "One!")


@pytest.mark.parametrize(("reply", "error"), [(BACK, WentBackError), (CLOSED, DialogClosedError)])
def test_going_back_and_closing_end_what_waits_for_a_page(reply: Any, error: type[Exception]):
    async def leaves(window: Window) -> type[BaseException]:
        with pytest.raises(DialogClosedError) as caught:
            await window.choose(HEADING, "Which?", ITEMS)
        return caught.type

    assert beside(leaves, reply)[0] is error


def test_a_text_is_checked_while_its_box_is_open_and_a_secret_one_is_in_no_message_from_then_on():
    async def asks(window: Window) -> None:
        refuse = lambda text: None if len(text) > 8 else "Too short."  # noqa: E731 - as a dialog writes it
        assert await window.text(HEADING, "The key", is_secret=True, refuse=refuse) == "sk-harbour-1"
        await window.message("The key sk-harbour-1 is good.")

    _, person, _ = beside(asks, "sk-1", "sk-harbour-1")
    assert person.refused == ["Too short."]
    assert (len(person.pages), person.pages[0]["isSecret"]) == (2, True)
    assert "sk-harbour-1" not in person.texts()[0]


def test_work_goes_on_behind_a_page_that_closes_with_it():
    async def works(window: Window) -> str:
        return await window.work(HEADING, "Looking…", asyncio.sleep(0.01, "found"))

    found, person, _ = beside(works)
    assert (found, person.pages[0]["isBusy"], person._goes_on) == ("found", True, set())


def test_a_person_who_stops_what_goes_on_cancels_the_work():
    async def stops(window: Window) -> bool:
        work = asyncio.ensure_future(asyncio.sleep(60))
        with pytest.raises(DialogClosedError):
            await window.progress("Asking…", work, is_cancellable=True)
        return work.cancelled()

    async def test() -> None:
        async with serving() as peer:
            person = Person(peer)
            stopping = asyncio.create_task(stops(peer.session._window))
            await peer.until(lambda _: person._goes_on)
            (request_id,) = person._goes_on
            person._say(request_id, None)
            assert await stopping

    run(test())


def test_what_the_window_cannot_do_is_an_error_with_its_sentence():
    async def asks(window: Window) -> None:
        with pytest.raises(WindowError, match="no such folder"):
            await window.open_file("/gone")

    async def test() -> None:
        async with serving() as peer:
            person = Person(peer)
            person.fails["open"] = "no such folder"
            await asks(peer.session._window)

    run(test())


@pytest.mark.parametrize("result", [{"end": "asleep"}, {"end": "answered", "chosen": [7]}, None])
def test_a_window_that_answers_wrongly_is_an_error_and_no_choice(result: Any):
    async def asks(window: Window) -> None:
        with pytest.raises((WindowError, InvalidParamsError), match="list"):
            await window.choose(HEADING, "Which?", ITEMS)

    async def test() -> None:
        async with serving() as peer:
            person = Person(peer)
            person._list = lambda params: result  # type: ignore[method-assign]
            await asks(peer.session._window)

    run(test())


def test_a_dialog_runs_once_and_says_what_went_wrong():
    async def test() -> None:
        async with serving() as peer:
            person, window = Person(peer, "Show Log"), peer.session._window
            held = asyncio.Event()

            async def waits() -> None:
                await held.wait()
                raise WindowError("the lamp is out")

            first = asyncio.create_task(window.once("lamp", waits))
            await asyncio.sleep(0)
            assert await window.once("lamp", waits) == {}
            held.set()
            assert await first == {}
            assert person.texts() == ["the lamp is out"]
            assert person.done == [("partstream.showLog",)]

    run(test())


def test_an_unknown_dialog_and_a_response_that_nothing_waits_for_are_refused():
    async def test() -> None:
        async with serving() as peer:
            reply = await peer.reply(peer.send("ui/run", {"dialog": "lamp", "given": {}}))
            assert "params.dialog: got 'lamp'" in reply.error["message"]
            assert peer.session._window.refusal(99, "text") is None

    run(test())


def test_closing_the_connection_closes_the_open_page_and_its_late_answer_is_expected():
    async def test() -> None:
        async with serving() as peer:
            person = Person(peer)
            running = peer.send("ui/run", {"dialog": "useEverywhere", "given": {}})
            person._models = lambda _: {"models": [{"vendor": "partstream", "id": "a", "name": "A", "family": "a"}]}  # type: ignore[method-assign]
            person._list = person.pages.append  # type: ignore[method-assign]
            person._say = lambda *said: None if said[1] is None else Person._say(person, *said)  # type: ignore[method-assign]
            await peer.until(lambda _: person.pages)
            peer.notify("$/cancelRequest", {"id": running})
            assert (await peer.reply(running)).error["message"] == "the request was cancelled"
            (page,) = [one.id for one in peer.messages if getattr(one, "method", "") == "ui/list"]
            await peer.session.aclose()
            cancelled = [one for one in peer.messages if getattr(one, "method", "") == "$/cancelRequest"]
            assert len(cancelled) == 1
            late = Response(page)
            assert [peer.session._window.answered(late), peer.session._window.answered(late)] == [True, False]

    run(test())
