"""What helps where a server refuses the key: one sentence, whatever the server calls it."""

import pytest

from partstream.errors import UpstreamError, UpstreamHTTPError
from partstream.upstream.configuration import GatewayConfiguration
from partstream.upstream.endpoint import Secret
from partstream.upstream.http_errors import ANOTHER_KEY, NO_KEY, advise_on_key

HOST = "https://h.example/v1"

REFUSALS = [
    (401, None, True),
    (401, "Unauthorized", True),
    (400, "API key not valid. Please pass a valid API key.", True),  # Gemini
    (400, "Incorrect API key provided", True),
    (403, "Your API key has expired", True),
    (403, "This model is not for you", False),
    (400, "temperature: expected a number", False),
    (400, "There is no tool of that name", False),
    (404, "Invalid API key", False),
    (500, None, False),
]


@pytest.mark.parametrize(("status", "message", "is_about_the_key"), REFUSALS)
def test_a_refusal_of_the_key_is_told_by_status_and_sentence(status: int, message: str | None, is_about_the_key: bool):
    error = UpstreamHTTPError(status, provider_message=message)
    advise_on_key(error, GatewayConfiguration(HOST, api_key=Secret("sk-0123456789")))
    assert (error.advice == ANOTHER_KEY) is is_about_the_key


def test_a_key_that_was_not_sent_is_told_with_the_page_that_makes_one():
    error = UpstreamHTTPError(401, provider_message="No auth credentials found.")
    advise_on_key(error, GatewayConfiguration("https://openrouter.ai/api/v1"))
    assert error.advice == f"{NO_KEY} (https://openrouter.ai/settings/keys makes one)"
    assert "No auth credentials found; no key was sent" in error.message


def test_a_key_in_a_header_of_ones_own_was_sent():
    error = UpstreamHTTPError(401)
    advise_on_key(error, GatewayConfiguration(HOST, headers={"Authorization": "Bearer sk-0123456789"}))
    assert error.advice == ANOTHER_KEY


def test_other_errors_keep_their_advice():
    error = UpstreamError("it broke", advice="mend it")
    advise_on_key(error, GatewayConfiguration(HOST))
    assert error.advice == "mend it"
