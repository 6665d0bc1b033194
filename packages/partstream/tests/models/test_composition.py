"""What the answers of a server say together, and what is still to be asked: without a server."""

import pytest

from models.lists import ENDPOINTS, OLLAMA_BARE, OLLAMA_SHOW, OLLAMA_TAGS, OPENAI, VERCEL
from partstream.errors import UpstreamProtocolError
from partstream.upstream.discovery import CachedAnswer, Composition, list_questions
from rows import one_test_for

CLAUDE = "anthropic/claude-sonnet-4.5"


def composed(base_path: str, *answers: tuple[str, object], is_wanted=lambda model_id: True):
    listed, *others = answers
    lists = list_questions(base_path)
    known = {lists[0].key: listed[1], **dict(others)}
    kept = {key: CachedAnswer(document, 0.0) for key, document in known.items()}
    return Composition(kept, base_path, is_wanted, lists)


PATHS = {
    "/v1": ["/api/v0/models", "/api/tags", "/model/info"],
    "/v1/": ["/api/v0/models", "/api/tags", "/model/info"],
    "/proxy/v1": ["/proxy/api/v0/models", "/proxy/api/tags", "/proxy/model/info"],
    "/openai/deployments": [],
    "": [],
}


@one_test_for(("base_path", "paths"), PATHS.items(), ids=PATHS)
def test_a_servers_own_list_stands_beside_the_version_in_its_base_url(base_path, paths):
    questions = composed(base_path, ("list", OPENAI)).questions
    assert [question.path for question in questions] == paths


@pytest.mark.parametrize(("base_path", "path"), {"/v1": "/v1/models", "/v1/": "/v1/models", "": "/models"}.items())
def test_the_list_stands_behind_the_base_url(base_path, path):
    assert list_questions(base_path)[0].path == path


def test_each_model_of_a_gateway_is_a_question_and_its_answer_is_merged():
    answers = (("list", VERCEL), (f"/v1/models/{CLAUDE}/endpoints", ENDPOINTS))
    composition = composed("/v1", *answers, is_wanted=lambda model_id: model_id == CLAUDE)
    assert [question.path for question in composition.questions] == [f"/v1/models/{CLAUDE}/endpoints"]
    assert composition.records[0].max_output_tokens.value == 32_000
    assert len(composition.records) == 3


def test_ollamas_models_become_questions_once_its_own_list_is_there():
    assert len(composed("/v1", ("list", OLLAMA_BARE)).questions) == 3
    composition = composed(
        "/v1",
        ("list", OLLAMA_BARE),
        ("/api/tags", OLLAMA_TAGS),
        ("/api/show llama3.2:latest", OLLAMA_SHOW["llama3.2:latest"]),
    )
    shows = [question for question in composition.questions if question.path == "/api/show"]
    assert [question.body for question in shows] == [
        b'{"model":"llama3.2:latest"}',
        b'{"model":"nomic-embed-text:latest"}',
    ]
    assert composition.records[0].context_window.value == 131_072


def test_a_page_in_the_place_of_a_list_changes_nothing():
    composition = composed("/v1", ("list", OPENAI), ("/api/tags", {"error": "not here"}), ("/api/v0/models", None))
    assert [record.id for record in composition.records] == ["gpt-4o", "gpt-5.2"]


def test_a_list_that_is_none_is_an_error():
    with pytest.raises(UpstreamProtocolError):
        composed("/v1", ("list", {"error": "no"}))
