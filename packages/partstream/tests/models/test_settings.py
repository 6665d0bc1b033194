"""Settings of models: what is read, and which sentence answers each wrong one."""

import pytest

from partstream.settings.kinds import ConfigurationError
from partstream.upstream.configuration import MODEL_LIST_ROWS, MODEL_ROWS
from partstream.upstream.model_information import LimitPolicy, LimitSettings, ModelOverride, ModelSelection
from rows import one_test_for
from upstream_settings import gateway_of


def read_model_selection(settings):
    return gateway_of({"baseUrl": "https://h/v1", **settings}).selection


def test_no_settings_are_all_models_as_they_are():
    assert read_model_selection({}) == ModelSelection()


def test_every_setting_has_its_field():
    model = {
        "id": "a",
        "name": "A",
        "family": "gpt",
        "version": "2",
        "detail": "fast",
        "contextWindow": 9000,
        "maxInputTokens": 1000,
        "maxOutputTokens": 100,
        "imageInput": True,
        "toolCalling": False,
        "reasoningEfforts": ["low"],
    }
    settings = {
        "models": [model, "b"],
        "allowModels": ["a", "b*"],
        "denyModels": ["c"],
        "hiddenModels": ["b"],
        "defaultModel": "b",
        "limitPolicy": "fraction",
        "limitFraction": 0.5,
        "limitReasoning": 2000,
    }
    assert set(settings) == {row.name for row in MODEL_LIST_ROWS}
    assert set(model) == {row.name for row in MODEL_ROWS}
    assert read_model_selection(settings) == ModelSelection(
        allow=("a", "b*"),
        deny=("c",),
        hidden=("b",),
        default="b",
        overrides={
            "a": ModelOverride("A", "gpt", "2", "fast", 9000, 1000, 100, True, False, ("low",)),
            "b": ModelOverride(),
        },
        limits=LimitSettings(LimitPolicy.FRACTION, 0.5, 2000),
    )


WRONG = {
    "one glob": ({"allowModels": "*"}, "allowModels"),
    "a number among globs": ({"denyModels": ["a", 4]}, "denyModels[1]"),
    "an unknown policy": ({"limitPolicy": "all"}, "limitPolicy"),
    "a policy of a list": ({"limitPolicy": []}, "limitPolicy"),
    "no fraction": ({"limitFraction": 0}, "limitFraction"),
    "more than all": ({"limitFraction": 1.1}, "limitFraction"),
    "a fraction of true": ({"limitFraction": True}, "limitFraction"),
    "a model twice": ({"models": ["a", {"id": "a"}]}, "models[1].id"),
    "an id of a number": ({"models": [{"id": 4}]}, "models[0].id"),
    "efforts that are one": ({"models": [{"id": "a", "reasoningEfforts": "low"}]}, "models[0].reasoningEfforts"),
    "an unknown field": ({"models": [{"id": "a", "editTools": []}]}, "models[0].editTools"),
}


@one_test_for(("settings", "where"), WRONG.values(), ids=WRONG)
def test_a_wrong_setting_is_named_with_what_could_stand_there(settings, where):
    with pytest.raises(ConfigurationError) as caught:
        read_model_selection(settings)
    assert caught.value.where == where
    assert caught.value.expected
