"""The servers that a person can choose by name."""

import pytest

from partstream.settings.known_servers import KeyRequirement, server_at
from partstream.upstream.endpoint import ANOTHER_ADDRESS, UnknownPresetError, preset_named, presets
from rows import one_test_for


def test_the_presets_begin_with_the_servers_of_this_machine_and_end_with_any_address():
    names = [one.name for one in presets()]
    are_local = [one.is_local for one in presets()]
    assert are_local == sorted(are_local, reverse=True)
    assert (names[0], names[are_local.index(False)]) == ("ollama", "openai")
    assert names[-1] == "address"
    assert len(names) == len(set(names))
    assert {"lm-studio", "vercel", "azure", "litellm"} <= set(names)


@one_test_for("preset", presets(), ids=lambda one: one.name)
def test_a_preset_has_an_address_or_asks_for_one(preset):
    assert bool(preset.base_url) is not bool(preset.address_example)
    assert preset.asks_address is not bool(preset.base_url)
    for region in preset.regions:
        server = server_at(region.base_url)
        assert server is not None
        assert server.name == preset.name


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("openai", "openai"),
        ("OpenAI", "openai"),
        ("LM Studio", "lm-studio"),
        ("lmstudio", "lm-studio"),
        ("ai-gateway", "vercel"),
        ("x.ai", "xai"),
        ("address", "address"),
    ],
)
def test_a_preset_is_found_by_name_and_title_however_they_are_spelt(written: str, name: str):
    assert preset_named(written).name == name


@pytest.mark.parametrize(("written", "closest"), [("opnai", "openai"), ("qqqqqq", None), ("", None), ("!", None)])
def test_a_name_of_no_preset_is_refused_with_the_closest_one(written: str, closest: str | None):
    with pytest.raises(UnknownPresetError) as raised:
        preset_named(written)
    assert raised.value.closest == closest


def test_the_best_protocol_of_a_server_decides_the_base_url():
    assert preset_named("vercel").base_url == "https://ai-gateway.vercel.sh/v4/ai"
    assert preset_named("lm-studio").base_url == "http://localhost:1234/v1"


def test_a_server_of_which_everybody_has_another_address_asks_for_it():
    azure = preset_named("azure")
    assert azure.asks_address
    assert "YOUR-RESOURCE" in azure.address_example
    assert preset_named("ollama").key is KeyRequirement.OPTIONAL
    assert ANOTHER_ADDRESS.asks_address
