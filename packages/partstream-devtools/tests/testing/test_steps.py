"""What a server does for one reply, as steps."""

from partstream_devtools.testing.faults import END_OF_STREAM, End, Head, Pace, Send, Stall, document, event_stream

BEGIN, FIRST, SECOND = Send(b"0", "begin"), Send(b"1", "x", piece=True), Send(b"2", "x", piece=True)
DONE = Send(b"3", END_OF_STREAM)


def test_a_document_is_head_body_and_end():
    steps = document(429, b"{}", headers=[("retry-after", "1")])
    assert steps == (Head(429, (("content-type", "application/json"), ("retry-after", "1"))), Send(b"{}"), End())


def test_an_event_stream_says_that_it_is_one():
    head, *rest = event_stream([FIRST])
    assert dict(head.headers)["content-type"].startswith("text/event-stream")
    assert rest == [FIRST, End()]
    head, *_ = event_stream([FIRST], "application/x-ndjson")
    assert dict(head.headers)["content-type"] == "application/x-ndjson"


def test_the_pace_is_between_pieces_of_the_answer_and_not_around_them():
    _, *rest = Pace(0.5).over(event_stream([BEGIN, FIRST, SECOND, DONE]))
    assert rest == [BEGIN, FIRST, Stall(0.5), SECOND, DONE, End()]


def test_the_pieces_of_a_split_event_are_not_paced():
    _, *rest = Pace(0.5).over(event_stream([FIRST, Send(b"x"), SECOND]))
    assert rest == [FIRST, Send(b"x"), Stall(0.5), SECOND, End()]


def test_without_a_pace_the_steps_stay_as_they_are():
    assert [*Pace(0.0).over(event_stream([FIRST, SECOND]))] == [*event_stream([FIRST, SECOND])]


def test_the_pace_goes_on_where_the_steps_of_a_reply_come_in_several_runs():
    pace = Pace(0.5)
    assert [*pace.over([FIRST]), *pace.over([SECOND]), *pace.over([End()])] == [FIRST, Stall(0.5), SECOND, End()]


def test_an_event_is_made_when_it_is_sent():
    made = []
    steps = Pace(0.1).over(event_stream(made.append(number) or FIRST for number in range(3)))
    next(steps), next(steps)
    assert made == [0]


def test_the_mark_of_the_end_is_no_event():
    assert [step.is_event for step in (BEGIN, FIRST, DONE, Send(b"x"))] == [True, True, False, False]
