"""Lists of models as servers give them: what is kept, what is not, and what is said about the rest."""

import logging

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.lists import (
    LM_STUDIO,
    LM_STUDIO_BARE,
    OLLAMA_TAGS,
    OPENAI,
    OPENROUTER,
    VERCEL,
    VLLM,
    noted,
)
from partstream.errors import UpstreamProtocolError
from partstream.upstream.discovery import read_catalogue, with_list
from rows import one_test_for

KEPT = {
    "OpenAI": (OPENAI, {"bare"}, ["gpt-4o", "gpt-5.2"], set()),
    "Vercel AI Gateway": (
        VERCEL,
        {"Vercel"},
        ["anthropic/claude-sonnet-4.5", "deepseek/deepseek-r1", "meta/unknown"],
        {"openai/text-embedding-3-large", "bfl/flux-pro-1.1"},
    ),
    "OpenRouter": (
        OPENROUTER,
        {"OpenRouter"},
        ["openai/gpt-5.2", "deepseek/deepseek-r1:free", "openrouter/auto"],
        {"black-forest-labs/flux.2-pro"},
    ),
    "LM Studio, API v0": (
        LM_STUDIO,
        {"LM Studio, API v0"},
        ["qwen2-vl-7b-instruct", "meta-llama-3.1-8b-instruct"],
        {"text-embedding-nomic-embed-text-v1.5"},
    ),
    "Ollama": (OLLAMA_TAGS, {"Ollama"}, ["llama3.2:latest", "nomic-embed-text:latest"], set()),
    "vLLM": (VLLM, {"bare"}, ["meta-llama/Llama-3.3-70B-Instruct"], set()),
    "a list alone": ([{"id": "a"}, {"id": "b", "type": "chat"}], {"bare"}, ["a", "b"], set()),
    "no models": ({"object": "list", "data": None}, set(), [], set()),
}


@one_test_for(("document", "shapes", "ids", "others"), KEPT.values(), ids=KEPT)
def test_language_models_are_listed_in_their_order_and_nothing_else_is(
    document, shapes, ids, others, caplog: pytest.LogCaptureFixture
):
    caplog.set_level(logging.DEBUG)
    catalogue = read_catalogue(document)
    assert list(catalogue.entries) == ids
    assert (catalogue.others, catalogue.shapes) == (others, shapes)
    assert noted(caplog) == []


def test_a_name_that_sounds_like_an_embedding_model_hides_nothing():
    assert list(read_catalogue({"data": [{"id": "text-embedding-3-large"}]}).entries) == ["text-embedding-3-large"]


MALFORMED = {
    "a string": ("gpt-4o", "data[1]"),
    "null": (None, "data[1]"),
    "no id": ({"object": "model"}, "data[1].id"),
    "an empty id": ({"id": " "}, "data[1].id"),
    "an id of a number": ({"id": 4}, "data[1].id"),
    "an id with a line break": ({"id": "a\nb"}, "data[1].id"),
    "an id without an end": ({"id": "a" * 501}, "data[1].id"),
    "an id that was there": ({"id": "good"}, "data[1].id"),
}


@one_test_for(("entry", "where"), MALFORMED.values(), ids=MALFORMED)
def test_a_malformed_entry_is_left_out_and_named_and_the_others_stay(entry, where, caplog: pytest.LogCaptureFixture):
    caplog.set_level(logging.DEBUG)
    caplog.clear()
    catalogue = read_catalogue({"data": [{"id": "good"}, entry, {"id": "last"}]})
    assert list(catalogue.entries) == ["good", "last"]
    (problem,) = noted(caplog)
    assert problem.startswith(f"{where}: got ")
    assert "expected" in problem
    assert len(problem) < 300


WRONG_FACTS = {
    "words for a window": {"context_window": "large"},
    "a negative window": {"context_window": -1},
    "a window of true": {"context_window": True},
    "tags of words": {"context_window": 8000, "tags": "vision"},
    "a name of a number": {"context_window": 8000, "name": 7},
    "a price of words": {"context_window": 8000, "pricing": {"input": "cheap"}},
    "prices in a list": {"context_window": 8000, "pricing": ["cheap"]},
}


@one_test_for("facts", WRONG_FACTS.values(), ids=WRONG_FACTS)
def test_a_fact_that_cannot_be_read_is_unknown_and_named_and_the_model_stays(facts, caplog: pytest.LogCaptureFixture):
    caplog.set_level(logging.DEBUG)
    caplog.clear()
    catalogue = read_catalogue({"data": [{"id": "a/b", "type": "language", "tags": [], **facts}]})
    assert list(catalogue.entries) == ["a/b"]
    (problem,) = noted(caplog)
    assert problem.startswith("data[0].")


NO_LISTS = [None, 4, "models", {}, {"data": {}}, {"error": {"message": "no"}}, {"object": "list", "data": "none"}]


@one_test_for("document", NO_LISTS, ids=repr)
def test_what_is_no_list_is_an_error_that_shows_what_came(document):
    with pytest.raises(UpstreamProtocolError) as caught:
        read_catalogue(document)
    assert caught.value.got == f"{document!r:.80}"
    assert caught.value.expected == "a list of models"


def test_a_list_without_end_is_cut_and_says_so(caplog: pytest.LogCaptureFixture):
    caplog.set_level(logging.DEBUG)
    catalogue = read_catalogue([{"id": str(number)} for number in range(5001)])
    assert len(catalogue.entries) == 5000
    assert "5001 entries" in noted(caplog)[0]


def test_a_bare_list_gets_the_facts_of_the_servers_own_list_and_loses_what_is_no_language_model():
    bare = read_catalogue(LM_STUDIO_BARE)
    assert bare.is_bare
    catalogue = with_list(bare, read_catalogue(LM_STUDIO), is_better=True)
    assert list(catalogue.entries) == ["qwen2-vl-7b-instruct", "meta-llama-3.1-8b-instruct"]
    first, second = (entry.record for entry in catalogue.entries.values())
    assert (first.context_window.value, first.image_input.value, first.tool_calling.value) == (32768, True, True)
    assert (second.context_window.value, second.context_window.field) == (8192, "loaded_context_length")
    assert not catalogue.is_bare


def test_only_a_list_without_limits_is_bare():
    assert not read_catalogue(VLLM).is_bare
    assert not read_catalogue([]).is_bare
    assert not read_catalogue([{"id": "a"}, {"id": "b", "context_window": 8192}]).is_bare


FIELDS = [
    *("id", "type", "tags", "pricing", "context_window", "context_length", "top_provider", "architecture", "cost"),
    *("input_modalities", "output_modalities", "supported_parameters", "capabilities", "state", "key", "model"),
    *("details", "max_model_len", "input_tiers", "min", "input"),
]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=10),
    lambda values: st.lists(values, max_size=4) | st.dictionaries(st.sampled_from(FIELDS), values, max_size=6),
    max_leaves=20,
)


@given(st.lists(JSON, max_size=5))
def test_whatever_stands_in_a_list_it_is_read_without_an_error(entries):
    catalogue = read_catalogue({"data": entries})
    assert len(catalogue.entries) + len(catalogue.others) <= len(entries)
    for entry in catalogue.entries.values():
        window = entry.record.context_window
        assert window is None or (type(window.value) is int and window.value > 0)
