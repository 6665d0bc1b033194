"""Paths that name the model."""

from hypothesis import given, settings
from hypothesis import strategies as st

from partstream.protocols.serve import fits_path, literal_size, model_in_path, path_for_model
from rows import one_test_for

PATTERN = "/models/{model}:streamGenerateContent"


@settings(max_examples=30)
@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1))
def test_a_model_is_found_again_in_the_path_that_names_it(model_id):
    path = path_for_model(PATTERN, model_id)
    assert path.isascii()
    assert path.count("/") == 2
    assert model_in_path(PATTERN, path) == model_id


@one_test_for(
    ("pattern", "path", "model"),
    [
        (PATTERN, "/models/gemini-2.5-pro:streamGenerateContent", "gemini-2.5-pro"),
        (PATTERN, "/models/qwen3:8b:streamGenerateContent", "qwen3:8b"),
        (PATTERN, "/models/google/gemini:streamGenerateContent", "google/gemini"),
        (PATTERN, "/models/:streamGenerateContent", None),
        (PATTERN, "/models/gemini:countTokens", None),
        ("/messages", "/messages", ""),
        ("/messages", "/messages/batches", None),
        ("/models/{model}", "/models", None),
    ],
)
def test_a_path_fits_a_pattern_or_not(pattern, path, model):
    assert model_in_path(pattern, path) == model
    assert fits_path(pattern, path) is (model is not None)


def test_the_longer_pattern_says_more():
    assert literal_size(PATTERN) > literal_size("/models/{model}") > literal_size("/models")
