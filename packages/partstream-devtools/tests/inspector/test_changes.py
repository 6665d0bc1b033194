"""What changed between two views."""

import copy

from hypothesis import given
from hypothesis import strategies as st

from partstream.codec.json_codec import dumps, loads
from partstream_devtools.inspector.server import change_between

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(0, 3) | st.text("ab=", max_size=6),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from("xyz"), inner, max_size=2),
    max_leaves=6,
)
FIELDS = st.dictionaries(st.sampled_from(["bytes", "events", "model"]), VALUES, max_size=3)
ANSWERS = st.dictionaries(st.sampled_from("123"), FIELDS, max_size=3).map(
    lambda answers: [{**answer, "id": name} for name, answer in answers.items()]
)
VIEWS = st.builds(
    lambda fields, answers: {**fields, "answers": answers},
    st.dictionaries(st.sampled_from(["title", "source"]), VALUES, max_size=2),
    ANSWERS,
)


def changed(view, change):
    """The view with the change, as the page's script makes it."""
    view = copy.deepcopy(view)
    view.update(change["set"])
    for name in change["without"]:
        del view[name]
    known = {answer["id"]: answer for answer in view["answers"]}
    for each in change["answers"]:
        answer = known.setdefault(each["id"], {})
        answer.update(each["set"])
        for name in each["without"]:
            del answer[name]
        for name, (kept, tail) in each["tails"].items():
            answer[name] = answer[name][:kept] + tail
    view["answers"] = [known[name] for name in change["order"]]
    return view


@given(VIEWS, VIEWS)
def test_a_change_makes_the_newer_view_of_the_older_one(before, after):
    change = change_between(before, after)
    if change is None:
        assert before == after
    else:
        assert before != after
        assert changed(before, loads(dumps(change))) == after


def test_of_an_answer_that_grew_only_its_new_end_is_sent():
    events = [{"n": 1}, {"n": 2, "type": "a"}]
    before = {"answers": [{"id": "1", "bytes": "YWJjZA==", "events": events, "model": "m"}]}
    new_end = [{"n": 2, "type": "b"}, {"n": 3}]
    after = {"answers": [{"id": "1", "bytes": "YWJjZGVm", "events": [{"n": 1}, *new_end], "model": "m"}]}
    assert change_between(before, after) == {
        "set": {},
        "without": [],
        "order": ["1"],
        "answers": [{"id": "1", "set": {}, "without": [], "tails": {"bytes": [5, "GVm"], "events": [1, new_end]}}],
    }


def test_a_new_answer_is_sent_whole_and_one_that_went_is_in_the_order_no_more():
    before = {"answers": [{"id": "1", "bytes": "YQ=="}]}
    after = {"answers": [{"id": "2", "bytes": "Yg=="}]}
    assert change_between(before, after) == {
        "set": {},
        "without": [],
        "order": ["2"],
        "answers": [{"id": "2", "set": {"id": "2", "bytes": "Yg=="}, "without": [], "tails": {}}],
    }


def test_an_equal_view_is_no_change():
    view = {"title": "t", "answers": [{"id": "1", "events": [1]}]}
    assert change_between(view, copy.deepcopy(view)) is None
