import pytest

from models.lists import OLLAMA_SHOW
from partstream.errors import UpstreamProtocolError
from partstream.models.ollama import read_show


def test_a_model_says_its_window_and_what_it_can_do():
    record, problems = read_show("llama3.2:latest", OLLAMA_SHOW["llama3.2:latest"])
    assert (record.context_window.value, record.context_window.field) == (131072, "llama.context_length")
    assert (record.tool_calling.value, record.image_input.value, record.reasoning.value) == (True, False, False)
    assert problems == ()


def test_the_window_that_it_is_loaded_with_counts_more_than_the_one_it_could_have():
    shown = OLLAMA_SHOW["llama3.2:latest"] | {"parameters": "temperature 1\nnum_ctx    8192\n"}
    record, _ = read_show("m", shown)
    assert (record.context_window.value, record.context_window.field) == (8192, "parameters num_ctx")


def test_an_embedding_model_is_no_language_model():
    assert read_show("m", OLLAMA_SHOW["nomic-embed-text:latest"]) == (None, ())


def test_a_server_without_capabilities_leaves_them_unknown():
    record, _ = read_show("m", {"model_info": {"llama.context_length": 4096}})
    assert (record.context_window.value, record.tool_calling) == (4096, None)


@pytest.mark.parametrize("document", [None, [], {"error": "model not found"}], ids=repr)
def test_what_describes_no_model_is_an_error(document):
    with pytest.raises(UpstreamProtocolError):
        read_show("m", document)
