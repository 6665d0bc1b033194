"""A secret shows itself only when asked by name."""

import copy
import dataclasses
import logging
import pickle
from dataclasses import dataclass

import pytest

from partstream.codec.redaction import names_a_secret
from partstream.conversation.preparation import RequestSettings
from partstream.protocols.protocol import KeyKind
from partstream.upstream.configuration import GatewayConfiguration
from partstream.upstream.endpoint import Secret, redactor_of, secrets_in_url

KEY = "sk-planted"


@dataclass
class Holder:
    secret: Secret


SHOWN = {
    "repr": repr,
    "str": str,
    "format": lambda secret: f"{secret}",
    "percent": lambda secret: "%s %r" % (secret, secret),  # noqa: UP031 - what logging does
    "a list": lambda secret: str([secret]),
    "a dataclass": lambda secret: repr(Holder(secret)),
    "the configuration": lambda secret: repr(GatewayConfiguration("https://host/v1", api_key=secret)),
    "the configuration's headers": lambda _: repr(GatewayConfiguration("https://host/v1", headers={"x-key": KEY})),
    "dir": lambda secret: " ".join(dir(secret)),
}


@pytest.mark.parametrize("show", SHOWN.values(), ids=SHOWN)
def test_a_secret_is_not_shown_by(show):
    assert KEY not in show(Secret(KEY))


KINDS = {
    "sk-planted": KeyKind.API_KEY,
    "vck_planted": KeyKind.API_KEY,
    "eyJhbGciOiJSUzI1NiJ9.eyJleHAiOjF9.c2ln": KeyKind.OIDC,
    "eyJ.a": KeyKind.API_KEY,
    "a.eyJb.c": KeyKind.API_KEY,
}


@pytest.mark.parametrize(("key", "kind"), KINDS.items())
def test_a_token_with_claims_is_of_oidc_and_any_other_key_an_api_key(key: str, kind: KeyKind):
    assert Secret(key).kind is kind


def test_a_place_may_know_better_what_kind_of_key_it_holds():
    assert Secret("planted", KeyKind.OIDC).kind is KeyKind.OIDC


def test_a_secret_is_not_logged(caplog: pytest.LogCaptureFixture):
    with caplog.at_level(logging.DEBUG):
        logging.getLogger("test").debug("the key is %s, %r", Secret(KEY), Secret(KEY))
    assert "Secret(***)" in caplog.text
    assert KEY not in caplog.text


def test_a_secret_is_revealed_when_asked_by_name():
    assert Secret(KEY).reveal() == KEY


def test_secrets_are_equal_by_value_and_equal_to_nothing_else():
    assert Secret(KEY) == Secret(KEY)
    assert len({Secret(KEY), Secret(KEY), Secret("other")}) == 2
    assert Secret(KEY) != Secret("other")
    assert Secret(KEY) != KEY


def test_what_was_sent_in_headers_is_cut_out_of_what_an_upstream_says():
    sent = {
        "authorization": f"Bearer {KEY}",
        "x-other": "another-secret",
        "x-team": "blue",
        "accept": "text/event-stream",
    }
    said = f"no {KEY}, no Bearer {KEY}, no another-secret, blue text/event-stream".encode()
    assert redactor_of(sent).redact_bytes(said) == b"no ***, no ***, no ***, blue text/event-stream"


def test_what_basic_authentication_says_in_base64_is_cut_out_too():
    redactor = redactor_of({"authorization": "Basic bWU6c2stcGxhbnRlZA=="})  # me:sk-planted
    assert redactor.redact("me:sk-planted, sk-planted, bWU6c2stcGxhbnRlZA==") == "***, ***, ***"


def test_a_header_that_names_basic_authentication_and_holds_none_is_cut_out_as_it_is():
    assert redactor_of({"authorization": "Basic not-base64!"}).redact("not-base64! here") == "*** here"


@pytest.mark.parametrize("name", ["Authorization", "x-api-key", "cookie", "X-Auth-Token", "sig", "client_secret"])
def test_a_name_tells_a_secret(name: str):
    assert names_a_secret(name)


@pytest.mark.parametrize("name", ["x-title", "accept", "x-team", "api-version", "http-referer"])
def test_a_name_that_tells_none(name: str):
    assert not names_a_secret(name)


def test_of_a_url_its_user_and_what_is_named_a_secret_is_one():
    found = {*secrets_in_url("https://me:p%40ss-word@host/v1?api-version=2026-10-01&key=sk%2D1234&x")}
    assert found - {""} == {"me:p%40ss-word", "me:p@ss-word", "me", "p%40ss-word", "p@ss-word", "sk%2D1234", "sk-1234"}


COPIES = {"copy": copy.copy, "deepcopy": copy.deepcopy}


@pytest.mark.parametrize("copied", COPIES.values(), ids=COPIES)
def test_a_copy_of_a_secret_is_the_secret(copied):
    assert copied(Secret(KEY)) == Secret(KEY)


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_a_secret_is_not_pickled_and_neither_is_what_holds_one(protocol: int):
    for holder in (Secret(KEY), Holder(Secret(KEY)), GatewayConfiguration("https://host/v1", api_key=Secret(KEY))):
        with pytest.raises(TypeError, match="cannot be pickled"):
            pickle.dumps(holder, protocol)


def test_the_fields_of_a_configuration_as_a_dictionary_hide_headers_and_keys():
    request = RequestSettings(extra_headers={"x-key": KEY}, extra_body={"one": {"key": KEY}})
    configuration = GatewayConfiguration(
        "https://host/v1", api_key=Secret(KEY), headers={"x-key": KEY}, request=request, model_requests={"m": request}
    )
    fields = dataclasses.asdict(configuration)
    assert fields["headers"]["x-key"] == KEY
    assert KEY not in repr(fields)
