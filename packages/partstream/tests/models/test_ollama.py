import pytest

from models.lists import OLLAMA_SHOW
from partstream.errors import UpstreamProtocolError
from partstream.upstream.discovery import read_catalogue
from partstream.upstream.model_shapes import OLLAMA_SHOW as SHOW
from partstream.upstream.model_shapes import read_detail, read_running, with_running_window


def test_a_model_says_its_window_and_what_it_can_do():
    record = read_detail(SHOW, "llama3.2:latest", OLLAMA_SHOW["llama3.2:latest"])
    assert (record.context_window.value, record.context_window.field) == (131072, "llama.context_length")
    assert (record.tool_calling.value, record.image_input.value, record.reasoning.value) == (True, False, False)


def test_the_window_that_it_is_loaded_with_counts_more_than_the_one_it_could_have():
    shown = OLLAMA_SHOW["llama3.2:latest"] | {"parameters": "temperature 1\nnum_ctx    8192\n"}
    record = read_detail(SHOW, "m", shown)
    assert (record.context_window.value, record.context_window.field) == (8192, "parameters num_ctx")


def test_an_embedding_model_is_no_language_model():
    assert read_detail(SHOW, "m", OLLAMA_SHOW["nomic-embed-text:latest"]) is None


def test_a_server_without_capabilities_leaves_them_unknown():
    record = read_detail(SHOW, "m", {"model_info": {"llama.context_length": 4096}})
    assert (record.context_window.value, record.tool_calling) == (4096, None)


@pytest.mark.parametrize("document", [None, [], {"error": "model not found"}], ids=repr)
def test_what_describes_no_model_is_an_error(document):
    with pytest.raises(UpstreamProtocolError):
        read_detail(SHOW, "m", document)


def _shown(**fields):
    return read_detail(SHOW, "m", OLLAMA_SHOW["llama3.2:latest"] | fields)


def test_the_window_that_it_was_trained_for_is_told_from_the_one_that_it_is_loaded_with():
    record = _shown()
    assert (record.trained_window.value, record.loaded_window) == (131072, None)
    record = _shown(parameters="num_ctx 8192")
    assert (record.trained_window.value, record.loaded_window.value) == (131072, 8192)


def test_a_model_of_the_cloud_has_its_largest_window():
    assert _shown(remote_host="https://ollama.com").loaded_window.value == 131072


def test_a_loaded_model_has_the_window_that_it_is_loaded_with_unless_its_modelfile_says_one():
    listed = {"models": [{"model": "m", "name": "m", "context_length": 32768, "size_vram": 1}]}
    windows = read_running(listed)
    record = with_running_window(_shown(), windows["m"])
    assert (record.context_window.value, record.loaded_window.field) == (32768, "ps context_length")
    record = with_running_window(_shown(parameters="num_ctx 8192"), windows["m"])
    assert record.loaded_window.value == 8192


@pytest.mark.parametrize("document", [None, [], {"models": None}, {"models": [{"model": "m"}, 5]}], ids=repr)
def test_what_lists_no_windows_of_loaded_models_says_nothing(document):
    assert read_running(document) == {}


def test_thinking_has_degrees_and_an_end_except_in_the_family_that_always_thinks():
    record = _shown(capabilities=["completion", "thinking"])
    assert record.reasoning_efforts.value == ("none", "low", "medium", "high")
    record = _shown(capabilities=["completion", "thinking"], details={"family": "gptoss"})
    assert record.reasoning_efforts.value == ("low", "medium", "high")
    assert _shown().reasoning_efforts is None


def test_a_server_without_capabilities_shows_by_the_template_that_a_model_calls_tools():
    shown = {"model_info": {}, "template": "{{ if .Tools }}{{ .Tools }}{{ end }}"}
    assert read_detail(SHOW, "m", shown).tool_calling.value is True


def test_the_list_of_new_servers_says_what_models_can_do():
    tags = {
        "models": [
            {"model": "a", "details": {"family": "llama"}, "capabilities": ["completion", "vision", "tools"]},
            {"model": "b", "details": {"family": "bert"}, "capabilities": ["embedding"]},
        ]
    }
    catalogue = read_catalogue(tags)
    assert list(catalogue.entries) == ["a"]
    record = catalogue.entries["a"].record
    assert (record.image_input.value, record.tool_calling.value, record.reasoning.value) == (True, True, False)
