"""The secrets that a run knows, and a report without them."""

import json

import pytest

from partstream.codec.redaction import Redactor
from partstream_devtools.conformance.report import secrets_of
from rows import one_test_for

KEY = "abcd-1234-efgh"


@one_test_for(
    "command",
    [
        ["server", "--api-key", KEY],
        ["server", f"--api-key={KEY}"],
        ["env", f"SERVICE_TOKEN={KEY}", "server"],
        ["server", "--header", f"Authorization: Bearer {KEY}"],
        ["server", f"http://ada:{KEY}@127.0.0.1:8080/v1"],
        ["server", f"http://127.0.0.1:8080/v1?key={KEY}&model=small"],
        ["server", "--password", KEY, "--port", "8080"],
    ],
)
def test_a_secret_of_the_command_line_is_found(command: list[str]):
    assert KEY in secrets_of(command=command)


def test_a_key_shows_by_its_first_letters_wherever_it_stands():
    assert secrets_of(command=["server", "sk-abcdefghijkl1234"]) == {"sk-abcdefghijkl1234"}


@pytest.mark.parametrize(
    "command",
    [["python", "my_provider.py", "--model", "small-2026-11-22"], ["server", "--keys"], ["a", "--port=80801234"]],
)
def test_what_is_no_secret_stays(command: list[str]):
    assert secrets_of(command=command) == frozenset()


def test_secrets_of_the_environment_and_of_headers_are_found_by_their_names():
    environment = {"OPENAI_API_KEY": KEY, "PATH": "/usr/local/bin:/usr/bin", "HOME": "/home/ada"}
    assert secrets_of(environment=environment) == {KEY}
    headers = {"Authorization": f"Bearer {KEY}", "x-api-key": "other-1234", "accept": "text/event-stream"}
    assert {KEY, "other-1234"} <= secrets_of(headers=headers)
    assert "text/event-stream" not in secrets_of(headers=headers)


def test_a_short_word_is_no_secret():
    assert secrets_of(environment={"AUTH": "none", "API_KEY": ""}) == frozenset()


def test_no_form_of_a_secret_is_left_in_a_report():
    report = {"target": {"command": f"server --api-key {KEY}"}, "got": f"401: Bearer {KEY}", KEY: [KEY.encode().hex()]}
    told = json.dumps(Redactor(secrets_of(command=["server", "--api-key", KEY])).redact_values(report, names=True))
    assert KEY not in told
    assert KEY.encode().hex() not in told
