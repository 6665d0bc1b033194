"""The view of a recording: what it holds of each kind of answer, and that it says nothing else."""

from __future__ import annotations
import json
import shlex
from base64 import b64decode
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from hypothesis import given
from hypothesis import strategies as st

from inspector import sample_streams as streams
from inspector.sample_streams import MS, answer, bundle, exchange, paced
from inspector.sample_views import SAMPLES
from partstream.codec.json_codec import is_json
from partstream.lm.parts import TextPart, ThinkingPart, ToolCallPart
from partstream_devtools.bundles.exchange import HowEnded
from partstream_devtools.inspector.metrics import collapsed
from partstream_devtools.inspector.view import ViewedFile, view_of
from rows import one_test_for

if TYPE_CHECKING:
    from partstream_devtools.bundles.exchange import Bundle
    from partstream_devtools.inspector.shapes import AnswerView, EventView


def _answer(made: Bundle) -> AnswerView:
    (shown,) = view_of([ViewedFile("answer", "bundle", made)])["answers"]
    return shown


def _check(shown: AnswerView) -> None:
    """What holds for every answer: all numbers mean something that is there."""
    events, parts, size = shown["events"], shown["parts"], len(b64decode(shown["bytes"]))
    assert [event["n"] for event in events] == list(range(1, len(events) + 1))
    assert [part["i"] for part in parts] == list(range(len(parts)))
    place = 0
    for event in events:
        assert place <= event["from"] <= event["to"] <= size
        place = event["to"]
        assert set(event["violations"]) <= set(range(len(shown["violations"])))
        assert all(parts[index]["event"] == event["n"] for index in event["parts"])
    assert sum(len(event["parts"]) for event in events) == sum(part["event"] is not None for part in parts)
    read = 0
    for _, start, end in shown["reads"]:
        assert (start, end > start) == (read, True)
        read = end
    assert read == size
    indices = [index for run in shown["runs"] for index in range(run["from"], run["to"] + 1)]
    assert indices == list(range(len(parts)))
    for flush in (*shown["shown"], *shown["shownUnpaced"]):
        assert 0 <= flush["from"] <= flush["to"] < len(parts)
    numbers = {event["n"] for event in events} | {None}
    assert {shown["wrong"], *(one["event"] for one in shown["violations"])} <= numbers
    assert {number for one in shown["unmapped"] for number in one["events"]} <= numbers
    assert {gap[side] for gap in shown["gaps"] for side in ("after", "before")} <= numbers  # type: ignore[literal-required]


@one_test_for("name", [name for name in SAMPLES if name != "long"])
def test_every_kind_of_answer_is_json_whose_numbers_mean_something(name: str):
    view = SAMPLES[name]()
    assert is_json(view)
    for shown in view["answers"]:
        _check(shown)


@given(st.binary(max_size=300) | st.text(max_size=200).map(str.encode), st.sampled_from(HowEnded), st.booleans())
def test_no_bytes_are_too_strange_for_a_view(data: bytes, how: HowEnded, named: bool):
    reads = [(float(index), piece) for index, piece in enumerate((data[:7], data[7:])) if piece]
    _check(_answer(bundle(exchange(reads, end=9, how=how, protocol="openresponses" if named else None))))


@given(st.lists(st.integers(0, 70), max_size=6), st.integers(0, 11_504))
def test_an_answer_that_is_damaged_has_a_view(left_out: list[int], size: int):
    events = [event for index, event in enumerate(streams.usual()) if index not in left_out]
    _check(_answer(bundle(exchange([(1.0, b"".join(events)[: size or 1])]))))


def _marks(shown: AnswerView) -> dict[int, list[str]]:
    return {event["n"]: list(event["marks"]) for event in shown["events"] if event["marks"]}


def test_marks_stand_at_the_events_that_they_are_of():
    reads = [
        (10.0, streams.created()),
        (20.0, streams.text("a") + streams.text("b")),
        (30.0, streams.sse({"type": "response.strange"})),
        (40.0, streams.text("c")),
        (400.0, streams.text("d")),
        (3000.0, streams.text("e")),
        *[(3010.0 + 10 * index, streams.text("f")) for index in range(4)],
        (3050.0, streams.completed()),
        (3060.0, streams.text("late")),
    ]
    shown = _answer(bundle(exchange(reads)))
    assert _marks(shown) == {3: ["lump"], 4: ["unmapped"], 6: ["gap"], 7: ["stall"], 13: ["late"]}
    assert shown["gaps"] == [
        {"after": 5, "before": 6, "ms": 360.0, "stall": False},
        {"after": 6, "before": 7, "ms": 2600.0, "stall": True},
    ]
    assert shown["unmapped"] == [{"type": "response.strange", "count": 1, "events": [4]}]


def test_a_violation_names_its_part_its_event_its_promise_and_what_helps():
    events = [streams.created(), *streams.call("c1", "unknown_tool", '{"a": 1}'), streams.completed()]
    shown = _answer(bundle(exchange(paced(events))))
    violation, at_the_end = shown["violations"]
    assert (violation["rule"], violation["level"], violation["section"]) == ("tool-call.known-tool", "MUST", "3.1")
    event = shown["events"][(violation["event"] or 0) - 1]
    assert (event["type"], event["marks"]) == ("response.function_call_arguments.done", ["broken"])
    assert event["parts"] == [violation["part"]]
    assert violation["seen"].startswith("The chat says that the tool does not exist")
    assert len(violation["hints"]) == 2
    assert shown["wrong"] == event["n"]
    assert (at_the_end["rule"], at_the_end["part"]) == ("stream.visible-part", None)
    assert shown["events"][(at_the_end["event"] or 0) - 1]["type"] == "response.completed"


def test_bytes_of_no_known_protocol_are_neither_failed_nor_judged():
    shown = _answer(bundle(exchange(paced([b'data: {"x":1}\n\n', b"data: y\n\n"]), protocol=None, has_head=False)))
    assert (shown["outcome"], shown["wrong"], shown["violations"]) == ("unknown", None, [])
    assert shown["verdict"] == {"kept": 0, "broken": 0, "warnings": 0, "notJudged": 25}
    assert shown["blame"]["who"] == "nobody"
    assert shown["error"] is not None
    assert shown["error"]["message"].startswith("cannot read the recording: it holds ")


def test_of_a_stream_that_was_recorded_alone_nobody_knows_how_its_bytes_ended():
    body = b"".join(streams.usual())
    assert _answer(bundle(exchange([(None, body)])))["ending"] is None
    assert _answer(bundle(exchange([(1.0, body)])))["ending"] == "whole"


def test_the_verdict_counts_all_rules():
    shown = _answer(bundle(exchange(paced(streams.usual()))))
    assert shown["verdict"] == {"kept": 19, "broken": 0, "warnings": 0, "notJudged": 6}


# ---- what a host got ----


def test_parts_that_a_host_got_otherwise_cut_are_found_in_the_bytes():
    said = [streams.thinking("abc"), streams.thinking("def"), streams.text("uvw"), streams.text("xyz")]
    parts = [
        (400.0, ThinkingPart("ab")),
        (401.0, ThinkingPart("cdef")),
        (402.0, TextPart("uvwx")),
        (403.0, TextPart("yz")),
        (404.0, TextPart("more")),
        (405.0, ToolCallPart("c9", "read_file", {})),
    ]
    shown = _answer(bundle(exchange(paced([streams.created(), *said, streams.completed()])), answers=[answer(parts)]))
    assert [part["event"] for part in shown["parts"]] == [2, 3, 5, 5, None, None]
    assert [part["at"] for part in shown["parts"]] == [400, 401, 402, 403, 404, 405]
    assert "The host got another thinking" not in shown["notes"]
    assert shown["notes"] == ["The host got another text: 10 characters, the bytes hold 6."]


def test_times_of_a_host_count_from_the_request_of_the_exchange():
    made = bundle(exchange(paced([streams.text("a")]), offset=100 * MS), answers=[answer([(450.0, TextPart("a"))])])
    shown = _answer(made)
    assert (shown["parts"][0]["at"], shown["offset"]) == (350, 100)


def test_attempts_are_answers_of_their_own_and_the_last_has_the_parts():
    busy = exchange([(5.0, b'{"error":{"message":"Busy."}}')], status=503, content_type="application/json", offset=0)
    good = exchange(paced([streams.text("a"), streams.completed()]), number=2, offset=900 * MS)
    shown = view_of([ViewedFile("f", "bundle", bundle(busy, good, answers=[answer([(1250.0, TextPart("a"))])]))])[
        "answers"
    ]
    assert [one["title"] for one in shown] == ["Answer 1, exchange 1 of 2", "Answer 1, exchange 2 of 2"]
    assert [one["outcome"] for one in shown] == ["failed", "completed"]
    assert [len(one["parts"]) for one in shown] == [0, 1]
    assert [one["offset"] for one in shown] == [0, 900]


def test_an_agent_that_asks_several_models_is_an_answer_beside_theirs():
    one = exchange(paced([streams.text("a"), streams.completed()]), asked=streams.request(input="one"))
    two = exchange(paced([streams.text("b"), streams.completed()]), number=2, asked=streams.request(input="two"))
    made = bundle(one, two, answers=[answer([(1250.0, TextPart("c"))])])
    shown = view_of([ViewedFile("f", "bundle", made)])["answers"]
    assert [(one["id"], [part["text"] for part in one["parts"]]) for one in shown] == [
        ("1.1", ["a"]),
        ("1.2", ["b"]),
        ("1", ["c"]),
    ]


def test_answers_of_an_agent_have_lanes_without_bytes():
    shown = SAMPLES["agent"]()["answers"][0]
    assert (shown["bytes"], shown["reads"], shown["events"], shown["framing"]) == ("", [], [], None)
    assert [run["kind"] for run in shown["runs"]] == ["thinking", "text", "call", "usage"]
    assert shown["shown"]
    assert shown["usage"] == {"rows": [("input", 9), ("output", 4), ("total", 13)], "source": "provider"}


def test_parallel_answers_stand_on_one_axis():
    first, second = SAMPLES["parallel"]()["answers"]
    assert (first["offset"], second["offset"]) == (0, 250)


def test_a_proxy_that_collects_is_named_unless_the_server_is_this_machine():
    (note,) = SAMPLES["lumpy"]()["answers"][0]["notes"]
    assert note.startswith("97% of the text events came in the same read")
    assert "a proxy, or a buffer of the server" in note
    asked = streams.request()
    local = type(asked)(asked.method, asked.path, "", (("Host", "127.0.0.1:8080"),), asked.body, asked.sent_at)
    words = b"".join(map(streams.text, streams.WORDS))
    (note,) = _answer(bundle(exchange([(9.0, words + streams.completed())], asked=local)))["notes"]
    assert "the server writes them together" in note


def test_what_is_no_answer_of_a_model_is_named_and_not_judged():
    get = replace(streams.request("/v1/models"), method="GET", body=b"")
    listed = exchange([(5.0, b'{"data":[]}')], protocol=None, content_type="application/json", asked=get)
    whole = exchange(paced(streams.usual()), number=2, answer=2)
    made = bundle(listed, whole, answers=[answer((), number=1), answer((), number=2)])
    shown = _answer(made)
    assert (shown["id"], shown["outcome"]) == ("2.2", "completed")
    assert shown["notes"] == ["The file also holds what is no answer of a model: #1 GET /v1/models."]


# ---- very long answers ----


def _events(shown: AnswerView) -> list[EventView]:
    return shown["events"]


def test_a_very_long_answer_is_collapsed_and_keeps_what_is_marked():
    words = [streams.text(f"{index} ") for index in range(200)]
    strange = streams.sse({"type": "response.strange"})
    events = [
        streams.created(),
        *words[:100],
        strange,
        *words[100:],
        *streams.call("c", "no_tool", "{}"),
        streams.completed(),
    ]
    whole = _answer(bundle(exchange(paced(events))))
    small = collapsed(whole, 20)
    _check(small)
    assert [event["count"] for event in _events(small)] == [1, 100, 1, 100, 1, 2, 1, 1, 1]
    assert "".join(part["text"] for part in small["parts"]) == "".join(part["text"] for part in whole["parts"])
    assert len(small["parts"]) == 3
    run = _events(small)[1]
    assert (run["from"], run["to"], run["at"], run["until"]) == (
        whole["events"][1]["from"],
        whole["events"][100]["to"],
        320,
        320 + 99 * 20,
    )
    assert small["wrong"] == next(event["n"] for event in _events(small) if "broken" in event["marks"])
    assert small["numbers"] == whole["numbers"]
    assert "runs of deltas are shown as one event each" in small["notes"][-1]


def test_an_answer_of_nothing_but_marks_is_collapsed_all_the_same():
    kinds = [streams.sse({"type": f"response.strange_{index}"}) for index in range(90)]
    small = collapsed(_answer(bundle(exchange(paced([streams.text("a"), *kinds])))), 20)
    _check(small)
    assert len(small["events"]) <= 20
    assert sum(event["count"] for event in small["events"]) == 92


def test_a_short_answer_is_not_collapsed():
    whole = _answer(bundle(exchange(paced(streams.usual()))))
    assert collapsed(whole) is whole


# ---- the whole file ----


def test_a_view_says_what_was_replaced_and_what_made_it():
    view: dict[str, Any] = dict(SAMPLES["compared"]())
    assert view["redaction"] == {"level": "unknown", "counts": {}, "kept": []}
    assert view["versions"] == {"made by": "partstream 0.12.0", "partstream": "0.12.0", "python": "3.11"}
    assert [command["text"] for command in view["commands"]] == ["partstream check a.partstream.zip b.partstream.zip"]


def test_what_is_no_file_is_named_in_no_command():
    assert view_of([ViewedFile("#3, record, small", "live", bundle())])["commands"] == []


def test_a_command_to_copy_is_safe_in_a_shell():
    (check, *_) = view_of([ViewedFile("f", "sse", bundle(), "a b'; rm -rf.sse")])["commands"]
    assert shlex.split(check["text"]) == ["partstream", "check", "a b'; rm -rf.sse"]


def test_a_view_of_hostile_words_is_the_same_words():
    view = SAMPLES["hostile"]()
    assert json.loads(json.dumps(view))["answers"][0]["parts"][0]["text"] == streams.HOSTILE
