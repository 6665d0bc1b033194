"""Keys of a hub: what they look like, what is known of them, and who is let in with which headers."""

from __future__ import annotations
import hmac
from dataclasses import replace

import pytest

from partstream.protocols.protocol import loadable_protocols
from partstream.server.clients import key_places
from partstream.server.requests import RequestFailedError, endpoints_of
from partstream_hub import hub as keys
from partstream_hub.directory import Directory, Key, Person, Team
from partstream_hub.hub import (
    HubAuthenticator,
    HubCaller,
    code_digest,
    new_code,
    new_key,
    read_key,
    verified_key,
)
from rows import one_test_for

NOW = 1_800_000_000.0
MADE = new_key()
TEXT = MADE.secret.reveal()
KEY = Key(MADE.id, MADE.digest, "ana", "laptop")
PLACES = key_places(endpoints_of(loadable_protocols()[0].values()).values())


def directory(key: Key = KEY, person: Person | None = None, team: Team | None = None) -> Directory:
    person = person or Person("ana", "red")
    return Directory(1, {"red": team or Team("red")}, {person.name: person}, {key.id: key})


def authenticator(known: Directory | None) -> HubAuthenticator:
    return HubAuthenticator(lambda: known, lambda: NOW, PLACES)


def test_a_key_has_a_public_id_and_256_random_bits():
    keys = [new_key() for _ in range(100)]
    assert len({one.id for one in keys}) == len({one.secret for one in keys}) == 100
    for one in keys:
        text = one.secret.reveal()
        assert text.startswith(f"psk_{one.id}_")
        assert len(text.removeprefix(f"psk_{one.id}_")) * 6 >= 256
        assert read_key(text) == (one.id, one.digest)
        assert text not in repr(one)


def test_a_code_is_known_by_its_digest():
    code = new_code()
    assert code_digest(code.secret.reveal()) == code.digest
    assert code.secret.reveal() not in repr(code)
    assert code_digest(TEXT) is None


@one_test_for(
    "known",
    [
        directory(replace(KEY, expires_at=NOW)),
        directory(replace(KEY, revoked_at=NOW - 1)),
        directory(person=Person("ana", "red", is_disabled=True)),
        directory(team=Team("red", is_disabled=True)),
        directory(person=Person("bob")),
        Directory(),
    ],
    ids=["expired", "revoked", "disabled", "team disabled", "person gone", "unknown"],
)
def test_a_key_that_is_not_accepted_looks_like_any_other_text(known: Directory):
    assert verified_key(known, TEXT, NOW) is None
    assert authenticator(known)({"authorization": f"Bearer {TEXT}"}) is None


def test_a_key_is_accepted_until_it_expires():
    assert verified_key(directory(replace(KEY, expires_at=NOW + 1)), TEXT, NOW) is not None


@one_test_for(
    "text",
    [
        "",
        "psk_",
        TEXT[:-1],
        TEXT + "A",
        TEXT.upper(),
        f"psk_{MADE.id}_{'A' * 43}",
        f"psk_{MADE.id}_",
        new_key().secret.reveal(),
        f" {TEXT}",
        TEXT.replace("psk", "psj"),
        f"psk_' OR 1=1 --_{'A' * 43}",
        "\ud800" * 10,
        MADE.digest.hex(),
        MADE.id,
    ],
    # Keys are made anew in each process, so their texts would not name the same test twice.
    ids=[
        "nothing", "the mark alone", "too short", "too long", "capitals", "another secret", "no secret", "another key",
        "a space before", "another mark", "SQL in the id", "surrogates", "the digest", "the id",
    ],
)  # fmt: skip
def test_what_is_not_exactly_the_key_is_refused(text: str):
    assert verified_key(directory(), text, NOW) is None


@pytest.mark.parametrize(
    "text",
    [TEXT[:-1] + "?", f"psk_{MADE.id}_{'A' * 43}", new_key().secret.reveal(), "nothing"],
    ids=["no key's letter", "another secret", "another key", "no key"],
)
def test_every_text_is_compared_once_in_constant_time(text: str, monkeypatch: pytest.MonkeyPatch):
    compared: list[int] = []

    def counted(one: bytes, other: bytes) -> bool:
        compared.append(len(one))
        return real(one, other)

    real = hmac.compare_digest
    monkeypatch.setattr(keys.hmac, "compare_digest", counted)
    assert verified_key(directory(), text, NOW) is None
    assert compared == [32]


@one_test_for(
    "headers",
    [
        {"authorization": f"Bearer {TEXT}"},
        {"authorization": f"bearer   {TEXT} "},
        {"x-api-key": TEXT},
        {"x-goog-api-key": TEXT},
        {"authorization": f"Bearer {TEXT}", "x-api-key": TEXT},
        {"authorization": "", "x-api-key": TEXT},
    ],
)
def test_a_key_is_taken_from_the_headers_of_every_wire(headers: dict[str, str]):
    assert authenticator(directory())(headers) == HubCaller("ana", KEY.id)


OTHER = new_key().secret.reveal()


@one_test_for(
    "headers",
    [
        {},
        {"authorization": TEXT},
        {"authorization": f"Basic {TEXT}"},
        {"authorization": f"Bearer {TEXT}, Bearer {TEXT}"},
        {"authorization": f"Bearer {TEXT}, Bearer {OTHER}"},
        {"authorization": f"Bearer {OTHER}, Bearer {TEXT}"},
        {"authorization": f"Bearer {TEXT},"},
        {"authorization": f"Bearer\t{TEXT}"},
        {"authorization": f"Bearer x {TEXT}"},
        {"x-api-key": f"{TEXT}, {TEXT}"},
        {"x-api-key": f"{OTHER}, {TEXT}"},
        {"authorization": f"Bearer {TEXT}", "x-api-key": OTHER},
        {"authorization": f"Bearer {OTHER}", "x-api-key": TEXT},
        {"authorization": "Basic eDp5", "x-api-key": TEXT},
        {"x-api-key": TEXT, "x-goog-api-key": OTHER},
        {"proxy-authorization": f"Bearer {TEXT}"},
        {"x-forwarded-authorization": f"Bearer {TEXT}"},
        {"x-forwarded-user": "ana", "x-partstream-person": "ana", "x-partstream-key": TEXT},
        {"cookie": f"key={TEXT}"},
    ],
)
def test_no_other_header_and_no_two_that_differ_let_anybody_in(headers: dict[str, str]):
    assert authenticator(directory())(headers) is None


def test_nobody_is_turned_away_before_it_is_known_who_may_ask():
    with pytest.raises(RequestFailedError) as caught:
        authenticator(None)({"authorization": f"Bearer {TEXT}"})
    assert (caught.value.failure.kind, caught.value.failure.retry_after) == ("overloaded", 1.0)
