"""What is kept of an answer: everything while there is room, and of more the beginning and the end."""

import gc
import sys
from collections.abc import Callable

import pytest

from capturing.captures import MOMENT, Clock, answer, reads_of, request
from partstream.codec.redaction import Redactor
from partstream.errors import UpstreamHTTPError
from partstream.lm.parts import DataPart, TextPart, ThinkingPart, ToolCallPart
from partstream.upstream.context import capturing, current_capture
from partstream_devtools.bundles.archive import write_bundle
from partstream_devtools.bundles.exchange import HowEnded, LeftOut
from partstream_devtools.capturing.bundling import bundle_of, snapshot_of
from partstream_devtools.capturing.capture import ENTRY_BYTES, AnswerCapture, LastAnswers
from rows import one_test_for


def test_a_bundle_has_each_read_as_it_came_with_its_time():
    clock = Clock()
    captured = answer(clock=clock)
    exchange = captured.exchange("openresponses", request(b"{}"))
    clock.at = 1_000
    exchange.sending()  # 1,001: from here on, the times of the exchange count
    exchange.was_sent()
    exchange.responded(200, "OK", [("content-type", "text/event-stream")])
    for data in (b"da", b"ta: 1\n\n", b"data: 2"):
        exchange.chunk(data)
    exchange.ended("whole")
    captured.part(TextPart("1"))
    captured.end("completed")
    bundle = bundle_of(snapshot_of([captured]), "chat")
    (kept,) = bundle.exchanges
    assert kept.request is not None
    assert kept.head is not None
    assert kept.request.sent_at == 1
    assert kept.head.at == 2
    assert [(chunk.at, chunk.data) for chunk in kept.chunks] == [(3, b"da"), (4, b"ta: 1\n\n"), (5, b"data: 2")]
    assert (kept.end.at, kept.end.how) == (6, HowEnded.WHOLE)
    assert kept.offset == 1_000
    (told,) = bundle.answers
    assert [(one.at, one.part) for one in told.reported] == [(1_007, TextPart("1"))]
    assert (told.host, told.model, told.outcome, told.started_at) == (
        "chat",
        "m",
        "completed",
        MOMENT.isoformat(timespec="microseconds"),
    )


def test_a_bundle_is_of_the_moment_of_its_snapshot_whatever_comes_before_it_is_made():
    captured = answer()
    exchange = captured.exchange("openresponses", request(b"{}"))
    snapshot = snapshot_of([captured])
    at_once = bundle_of(snapshot, "chat")
    exchange.sending()  # begins later than the snapshot was taken: the times of the exchange count from here
    exchange.was_sent()
    exchange.responded(200, "OK", [("content-type", "text/event-stream")])
    exchange.chunk(b"data: 1\n\n")
    exchange.ended("whole")
    captured.part(TextPart("1"))
    captured.end("completed")
    assert bundle_of(snapshot, "chat") == at_once
    write_bundle(at_once)


def test_a_read_and_a_part_are_kept_by_reference():
    captured = answer()
    exchange = captured.exchange(None, request())
    data, part = bytes(1_000), TextPart("text")
    exchange.chunk(data)
    captured.part(part)
    (_, _, kept_data), (_, _, kept_part) = captured.entries
    assert kept_data is data
    assert kept_part is part


def test_the_first_end_of_an_exchange_and_of_an_answer_counts():
    captured = answer()
    exchange = captured.exchange(None, request())
    exchange.ended("cut", ConnectionError("gone"))
    exchange.ended("whole")
    exchange.ended("cancelled")
    assert exchange.end is not None
    assert (exchange.end.how, exchange.end.error and exchange.end.error.message) == (HowEnded.CUT, "gone")
    captured.end("failed", UpstreamHTTPError(429, provider_message="slow down", retry_after=2.0))
    captured.end("completed")
    assert captured.outcome == "failed"
    assert captured.error is not None
    assert dict(captured.error.fields) == {"http_status": "429", "retry_after": "2.0"}


class Large:
    pass


def test_an_error_is_kept_without_the_frames_that_it_came_through():
    def fails() -> None:
        large = Large()
        raise ValueError(type(large).__name__)

    captured = answer()
    try:
        fails()
    except ValueError as error:
        captured.end("failed", error)
    gc.collect()
    # Asked for its type, not for its `__class__`: an object that another test has left may compute that, and fail.
    assert not any(type(one) is Large for one in gc.get_objects())


def test_an_answer_that_is_too_large_keeps_its_beginning_and_its_end_and_counts_what_it_left_out():
    captured = answer(most_bytes=200_000)
    exchange = captured.exchange(None, request())
    sent = [number.to_bytes(4, "big") * 250 for number in range(1_000)]
    for data in sent:
        exchange.chunk(data)
    kept = reads_of(captured, exchange)
    assert captured.size <= 200_000
    assert kept[0] == sent[0]
    assert kept[-1] == sent[-1]
    assert len(kept) + exchange.left_out_reads == len(sent)
    assert exchange.left_out_bytes == 1_000 * exchange.left_out_reads
    border = next(index for index, (one, other) in enumerate(zip(kept, sent, strict=False)) if one != other)
    assert border > 20, "the beginning is more than the first read"
    assert kept[border:] == sent[-len(kept) + border :], "what follows the beginning is the end, whole"
    (recorded,) = bundle_of(snapshot_of([captured]), "chat").exchanges
    assert recorded.left_out == LeftOut(exchange.left_out_reads, exchange.left_out_bytes, border)


def test_a_request_that_is_too_large_keeps_its_beginning():
    captured = answer(most_bytes=400_000)
    exchange = captured.exchange(None, request(bytes(1_000_000)))
    assert len(exchange.request.body) == 100_000
    assert exchange.request.left_out == 900_000
    assert captured.size <= 400_000


def test_attempts_with_the_same_body_take_its_room_once():
    captured = answer(most_bytes=1_000_000)
    body = bytes(200_000)
    exchanges = [captured.exchange(None, request(body)) for _ in range(10)]
    assert all(exchange.request.body is body for exchange in exchanges)
    assert captured.size < 400_000


PARTS: dict[str, tuple[Callable[[], object], int]] = {
    "text": (lambda: TextPart("x" * 5_000), 5_000),
    "thinking": (lambda: ThinkingPart("x" * 5_000), 5_000),
    "a call": (lambda: ToolCallPart("c", "f", {"deep": [{"x": "y" * 5_000}]}), 5_000),
    "data": (lambda: DataPart(bytes(5_000), "image/png"), 5_000),
}


@pytest.mark.parametrize(("make", "least"), PARTS.values(), ids=PARTS)
def test_a_part_takes_the_room_of_its_content(make: Callable[[], TextPart], least: int):
    captured = answer(most_bytes=100 * least)
    for _ in range(1_000):
        captured.part(make())
    assert captured.size <= 100 * least
    assert len(captured.entries) <= 100
    assert captured.left_out_parts == 1_000 - len(captured.entries)


def test_the_room_that_is_counted_is_about_the_memory_that_is_taken():
    """A bound that counted half of what things take would be twice the bound."""
    captured = answer(most_bytes=10_000_000)
    exchange = captured.exchange(None, request())
    for number in range(10_000):
        exchange.chunk(b"%100d" % number)
    entries = captured.entries
    taken = sum(sys.getsizeof(entry) + sys.getsizeof(entry[1]) + sys.getsizeof(entry[2]) for entry in entries)
    assert taken <= captured.size
    assert captured.size <= 2 * taken


# ---- the last answers ----


def last(**changes: int) -> LastAnswers:
    return LastAnswers(**changes, clock=Clock(), now=lambda: MOMENT)


def test_the_oldest_answers_go_first():
    answers = last(most_answers=3)
    begun = [answers.begin("chat", str(number)) for number in range(5)]
    for one in begun:
        one.end("completed")
    assert [one.model for one in answers.answers] == ["2", "3", "4"]
    assert answers.newest is begun[-1]
    assert begun[0].is_dropped


def test_an_answer_that_has_ended_goes_before_one_that_goes_on():
    answers = last(most_answers=2)
    running, ended = answers.begin("serve", "running"), answers.begin("serve", "ended")
    ended.end("completed")
    newest = answers.begin("serve", "newest")
    assert answers.answers == (running, newest)


def test_all_answers_together_stay_within_their_bound_however_many_go_on_at_once():
    answers = last(most_answers=20, most_bytes=2_000_000, most_bytes_of_one=1_000_000)
    running = [answers.begin("serve", str(number)) for number in range(20)]
    exchanges = [one.exchange(None, request(bytes(50_000))) for one in running]
    for _ in range(200):
        for exchange in exchanges:
            exchange.chunk(bytes(3_000))
        assert answers.size <= 2_000_000
    assert sum(len(content) for one in answers.answers for _, _, content in one.entries) <= 2_000_000  # type: ignore[arg-type]
    assert answers.answers


def test_an_answer_that_was_let_go_of_takes_nothing_more():
    answers = last(most_answers=1)
    gone = answers.begin("chat", "gone")
    exchange = gone.exchange(None, request())
    answers.begin("chat", "next")
    for _ in range(100):
        exchange.chunk(bytes(1_000_000))
        gone.part(TextPart("x"))
    gone.exchange(None, request(bytes(1_000_000)))
    assert (gone.entries, gone.exchanges, gone.size) == ([], [], 0)


def test_an_answer_of_which_nobody_says_the_end_was_cancelled():
    answers = last()
    with answers.capture("chat", "m") as captured:
        assert current_capture() is captured
    assert current_capture() is None
    assert captured.outcome == "cancelled"


def test_an_answer_that_must_not_be_kept_is_not():
    answers = last()
    with answers.capture("chat", "m") as captured:
        captured.leave_out()
        assert answers.answers == ()
        assert current_capture() is None


def test_listeners_hear_of_the_beginning_and_the_end():
    answers = last()
    heard: list[tuple[str | None, str | None]] = []
    end = answers.on_change(lambda one: heard.append((one.model, one.outcome)))
    answers.begin("chat", "m").end("completed")
    end()
    answers.begin("chat", "other")
    assert heard == [("m", None), ("m", "completed")]


def test_captures_of_tasks_do_not_mix():
    first, second = answer(), answer()
    with capturing(first):
        with capturing(second):
            assert current_capture() is second
        assert current_capture() is first


# ---- secrets ----

KEY = "sk-planted-0123456789-0123456789"


def captured_echo(*reads: bytes) -> AnswerCapture:
    captured = answer()
    exchange = captured.exchange("openresponses", request(), lambda: Redactor([KEY]))
    exchange.responded(401, "Unauthorized", [("set-cookie", KEY), ("x-echo", KEY), ("x-ratelimit-left-tokens", "12")])
    for data in reads:
        exchange.chunk(data)
    exchange.ended("whole")
    return captured


@one_test_for("cut", range(0, 60, 3))
def test_a_key_that_the_server_repeats_is_masked_wherever_reads_cut_it(cut: int):
    body = b'{"error":{"message":"bad key ' + KEY.encode() + b', sorry"}}'
    (exchange,) = bundle_of(snapshot_of([captured_echo(*filter(None, (body[:cut], body[cut:])))]), "chat").exchanges
    assert exchange.body == body.replace(KEY.encode(), b"R" * len(KEY))
    assert [len(chunk.data) for chunk in exchange.chunks] == [len(one) for one in (body[:cut], body[cut:]) if one]
    assert KEY not in repr(exchange)


def test_headers_that_are_secrets_by_name_are_never_in_memory():
    captured = captured_echo()
    head = captured.exchanges[0].head
    assert head is not None
    assert dict(head.headers)["set-cookie"] == "***"
    assert dict(head.headers)["x-ratelimit-left-tokens"] == "12", "which counts tokens of texts"


def test_what_takes_no_room_is_counted_all_the_same():
    captured = answer(most_bytes=100_000)
    exchange = captured.exchange(None, request())
    for _ in range(10_000):
        exchange.chunk(b"x")
    assert len(captured.entries) * ENTRY_BYTES <= 100_000
