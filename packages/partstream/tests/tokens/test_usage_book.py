"""What answers took, added up by conversation and by day."""

import time

from partstream.tokens.records import UsageRow
from partstream.tokens.usage import UsageBook

NOON = time.mktime((2026, 3, 4, 12, 0, 0, 0, 0, -1))
DAY = 24 * 3600.0


def _answer(**changes):
    return {
        "model": "Model",
        "endedAt": NOON,
        "inputTokens": 100,
        "outputTokens": 10,
        "cachedTokens": 50,
        "cost": 0.5,
        "source": "reported",
        "maxInputTokens": 1000,
        "edits": [],
        **changes,
    }


def _added(book, answer, conversation):
    book.add(answer, conversation)
    of_conversation, of_day = book.sums_of(answer, conversation)
    return {"conversation": of_conversation, "day": of_day}


def test_answers_are_added_up_by_conversation_and_by_day():
    book = UsageBook()
    book.add(_answer(), "a")
    sums = _added(book, _answer(inputTokens=300), "a")
    assert sums["conversation"]["inputTokens"] == 400
    assert sums["day"]["outputTokens"] == 20
    sums = _added(book, _answer(endedAt=NOON + DAY), "b")
    assert (sums["conversation"]["answers"], sums["day"]["answers"]) == (1, 1)
    view = book.view()
    assert [one["inputTokens"] for one in view["answers"]] == [100, 100, 300]
    assert [one["day"] for one in view["days"]] == ["2026-03-05", "2026-03-04"]
    assert [one["sums"]["answers"] for one in view["conversations"]] == [1, 2]


def test_an_answer_without_a_conversation_counts_for_the_day_alone():
    sums = _added(UsageBook(), _answer(), None)
    assert sums["conversation"] is None
    assert sums["day"]["answers"] == 1


def test_nothing_unknown_becomes_a_number():
    book = UsageBook()
    sums = _added(book, _answer(cost=None, cachedTokens=None, source="estimated"), "a")
    assert sums["conversation"]["cost"] is None
    assert (sums["day"]["withoutCost"], sums["day"]["estimated"], sums["day"]["cachedTokens"]) == (1, 1, 0)
    sums = _added(book, _answer(), "a")
    assert (sums["conversation"]["cost"], sums["conversation"]["withoutCost"]) == (0.5, 1)


def test_the_sums_go_on_where_an_earlier_process_stopped():
    rows = [
        UsageRow(NOON - 5, "m", "u", "a", 1000, 1, 10, None, 0.25),
        UsageRow(NOON - DAY, "m", "u", None, 7, 1, *[None] * 3),
    ]
    book = UsageBook()
    book.remember(rows)
    sums = _added(book, _answer(), "a")
    assert (sums["conversation"]["inputTokens"], sums["day"]["inputTokens"], sums["day"]["cost"]) == (1100, 1100, 0.75)
    assert [one["sums"]["inputTokens"] for one in book.view()["days"]] == [1100, 7]


def test_old_conversations_and_answers_make_room():
    book = UsageBook()
    for number in range(300):
        book.add(_answer(), str(number))
    view = book.view()
    assert len(view["conversations"]) == len(view["answers"]) == 100
    assert view["days"][0]["sums"]["answers"] == 300


def test_an_answer_of_another_window_adds_to_a_conversation_and_is_its_last_only_if_it_is_later():
    book = UsageBook()
    book.add(_answer(), "a")
    book.remember([UsageRow(NOON - 5, "m", "u", "a", 7, 1, *[None] * 3)])
    (one,) = book.view()["conversations"]
    assert (one["endedAt"], one["model"], one["sums"]["inputTokens"]) == (NOON, "Model", 107)
    book.remember([UsageRow(NOON + 5, "m", "u", "a", 7, 1, *[None] * 3)])
    (one,) = book.view()["conversations"]
    assert (one["endedAt"], one["model"], one["sums"]["answers"]) == (NOON + 5, "m", 3)


def test_a_page_shows_the_answers_of_other_windows_too_and_how_each_conversation_filled_up():
    book = UsageBook()
    book.add(_answer(inputTokens=300), "a")
    book.remember([UsageRow(NOON - 5, "m", "u", "a", 200, None, None, None, None)], asked_by="codex")
    view = book.view()
    assert [(one["model"], one["outputTokens"], one["askedBy"]) for one in view["answers"]] == [
        ("Model", 10, None),
        ("m", None, "codex"),
    ]
    (one,) = view["conversations"]
    assert [(fill["inputTokens"], fill["maxInputTokens"]) for fill in one["fills"]] == [(200, None), (300, 1000)]
    assert (one["sums"]["withoutTokens"], view["days"][0]["sums"]["withoutTokens"]) == (1, 1)
