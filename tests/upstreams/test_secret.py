"""A secret shows itself only when asked by name."""

import logging
from dataclasses import dataclass

import pytest

from partstream.protocols.protocol import KeyKind
from partstream.upstreams import GatewayConfiguration, Secret
from partstream.upstreams.secret import without_secrets

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
    assert without_secrets(said, sent) == b"no ***, no ***, no ***, blue text/event-stream"
