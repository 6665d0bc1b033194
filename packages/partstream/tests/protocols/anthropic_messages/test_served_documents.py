"""What a served Anthropic has beside answers: models with capabilities, one model, and counts.

Source: docs/wires/anthropic-messages.md#models-and-counting.
"""

from typing import Any

import pytest

from partstream import ChatMessage
from partstream.protocols.anthropic_messages.serve import MessagesResponseWriter
from partstream.protocols.failures import RefusedRequestError
from partstream.protocols.serve import WireRequest
from partstream_devtools.testing.scripted_model import SCENARIOS
from rows import one_test_for
from served_models import SERVED_MODELS

LIST, ONE, COUNT = MessagesResponseWriter.documents
IDS = [*SCENARIOS]
ALIASES = [f"anthropic/{name}" for name in SCENARIOS]
ALL = [*IDS, *ALIASES]


def listed(query: str = "") -> dict[str, Any]:
    status, document = LIST.answer(WireRequest("/models", {}, query=query, method="GET"), SERVED_MODELS, 0)
    assert status == 200
    return dict(document)


def test_each_model_says_what_it_can_do():
    (first, *_rest) = listed()["data"]
    assert (first["type"], first["id"], first["display_name"]) == ("model", "text", "text")
    assert first["capabilities"]["thinking"]["types"]["adaptive"] == {"supported": True}
    assert first["capabilities"]["image_input"] == {"supported": True}
    assert first["max_input_tokens"] > first["max_tokens"] > 0


@one_test_for(
    ("query", "ids", "more"),
    [
        ("limit=2", IDS[:2], True),
        ("limit=1000", ALL, False),
        ("", ALL, False),
        (f"limit=2&after_id={IDS[1]}", IDS[2:4], True),
        (f"after_id={IDS[-1]}", ALIASES, False),
        (f"after_id={ALIASES[-1]}", [], False),
        (f"limit=2&before_id={IDS[3]}", IDS[1:3], True),
        (f"limit=9&before_id={IDS[1]}", IDS[:1], False),
    ],
)
def test_models_are_listed_in_pages(query: str, ids: list[str], more: bool):
    page = listed(query)
    assert [model["id"] for model in page["data"]] == ids
    assert page["has_more"] is more
    assert (page["first_id"], page["last_id"]) == ((ids[0], ids[-1]) if ids else (None, None))


@pytest.mark.parametrize("query", ["limit=0", "limit=many", "after_id=made-up"])
def test_a_page_that_cannot_be_is_refused(query: str):
    with pytest.raises(RefusedRequestError):
        listed(query)


def test_one_model_is_told_by_its_id_and_an_unknown_one_is_not_found():
    assert ONE.answer(WireRequest("/models/tools", {}), SERVED_MODELS, 0)[1]["id"] == "tools"
    with pytest.raises(RefusedRequestError) as caught:
        ONE.answer(WireRequest("/models/made%2Fup", {}), SERVED_MODELS, 0)
    assert (caught.value.status, str(caught.value)) == (404, "model: made/up")


def test_a_request_is_counted_without_what_only_an_answer_needs():
    body = {"model": "text", "messages": [{"role": "user", "content": "12345678"}]}
    request = WireRequest("/messages/count_tokens", body)
    assert COUNT.counts is not None
    assert COUNT.counts(request).messages == (ChatMessage.user("12345678"),)
    assert COUNT.answer(request, SERVED_MODELS, 2) == (200, {"input_tokens": 2})
    for field in ({"max_tokens": 5}, {"stream": True}):
        with pytest.raises(RefusedRequestError, match="Extra inputs are not permitted"):
            COUNT.counts(WireRequest("/messages/count_tokens", body | field))


def test_only_clients_of_this_wire_mean_its_models():
    assert LIST.is_meant({"anthropic-version": "2023-06-01"})
    assert not LIST.is_meant({"authorization": "Bearer k"})
