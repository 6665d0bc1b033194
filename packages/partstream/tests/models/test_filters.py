"""Which models are offered, in which order, under which ids, with what a person set for them."""

from hypothesis import given
from hypothesis import strategies as st

from partstream.conversation.preparation import Fact, Source
from partstream.upstream.model_information import (
    ModelOverride,
    ModelRecord,
    ModelSelection,
    is_allowed,
    matches,
    offered_models,
)
from rows import one_test_for

IDS = ["openai/gpt-4o", "openai/gpt-5.2", "anthropic/claude-sonnet-4.5", "deepseek/deepseek-r1:free"]
RECORDS = [ModelRecord(model_id) for model_id in IDS]

GLOBS = {
    "the id": ("openai/gpt-4o", "openai/gpt-4o", True),
    "a star": ("openai/gpt-4o", "openai/*", True),
    "a star over a slash": ("openai/gpt-4o", "*4o", True),
    "two stars": ("openai/gpt-4o", "*gpt*", True),
    "a question mark": ("gpt-4o", "gpt-??", True),
    "another case": ("Qwen/Qwen3", "qwen/*", True),
    "a part of the id": ("openai/gpt-4o", "gpt-4o", False),
    "the beginning": ("openai/gpt-4o", "openai/", False),
    "a dot is a dot": ("gpt-5x2", "gpt-5.2", False),
    "brackets are brackets": ("model[1]", "model[1]", True),
    "no set of characters": ("model1", "model[1]", False),
    "a line break": ("a\nb", "a*b", True),
}


@one_test_for(("model_id", "glob", "expected"), GLOBS.values(), ids=GLOBS)
def test_globs_match_whole_ids(model_id, glob, expected):
    assert matches(model_id, glob) is expected


def test_many_stars_take_no_time():
    assert not matches("a" * 500, "*a" * 100 + "b")


SELECTIONS = {
    "all": (ModelSelection(), IDS),
    "allowed": (ModelSelection(allow=("openai/*",)), IDS[:2]),
    "denied": (ModelSelection(deny=("*:free", "*gpt-4*")), IDS[1:3]),
    "denied wins": (ModelSelection(allow=("openai/*",), deny=("*4o",)), IDS[1:2]),
    "none": (ModelSelection(allow=("nothing",)), []),
    "the default first": (ModelSelection(default=IDS[2]), [IDS[2], IDS[0], IDS[1], IDS[3]]),
    "a default that is not there": (ModelSelection(default="gone"), IDS),
    "a model that no list has": (ModelSelection(overrides={"mine": ModelOverride()}), [*IDS, "mine"]),
    "a model of one's own that is denied": (
        ModelSelection(overrides={"mine": ModelOverride()}, deny=("mine",)),
        IDS,
    ),
}


@one_test_for(("selection", "expected"), SELECTIONS.values(), ids=SELECTIONS)
def test_models_are_offered_by_the_lists_in_the_order_of_the_server(selection, expected):
    assert [model.record.id for model in offered_models(RECORDS, selection)] == expected


def test_a_hidden_model_is_offered_and_marked():
    hidden = [model.hidden for model in offered_models(RECORDS, ModelSelection(hidden=("*gpt*",)))]
    assert hidden == [True, True, False, False]


def test_an_override_says_what_the_list_did_not_and_says_so():
    listed = ModelRecord("m", context_window=Fact(8_000, Source.LIST, "context_window"), name="Listed")
    override = ModelOverride(context_window=32_000, tool_calling=False, reasoning_efforts=("low",), name="Mine")
    (model,) = offered_models([listed], ModelSelection(overrides={"m": override}))
    assert model.record.context_window == Fact(32_000, Source.CONFIGURATION, "context_window")
    assert model.record.tool_calling == Fact(False, Source.CONFIGURATION, "tool_calling")
    assert model.record.reasoning_efforts.value == ("low",)
    assert (model.override.name, model.record.name, model.record.image_input) == ("Mine", "Listed", None)


def test_an_id_that_comes_twice_is_offered_once():
    first = ModelRecord("m", name="First")
    (model,) = offered_models([first, ModelRecord("m", name="Second")], ModelSelection())
    assert model.record.name == "First"


@given(st.text(max_size=30), st.lists(st.text("ab*?[]", max_size=8), max_size=3))
def test_a_denied_id_is_never_offered(model_id, globs):
    assert not is_allowed(model_id, ModelSelection(allow=tuple(globs), deny=("*",)))
    assert is_allowed(model_id, ModelSelection(allow=(*globs, "*")))
