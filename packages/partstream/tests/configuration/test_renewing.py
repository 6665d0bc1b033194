"""Keys that end: kept while they are good, renewed once for all who wait, and what happens when that fails."""

import asyncio
import base64
import json
from dataclasses import dataclass, field

import pytest

from partstream.config.loading import FetchedKey, RenewingKey, fetched_key, jwt_expiry
from partstream.upstream.endpoint import CredentialError, Secret
from rows import one_test_for
from upstreams.upstreams import run


def jwt(claims: object) -> str:
    def part(value: object) -> str:
        return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")

    return f"{part({'alg': 'none'})}.{part(claims)}.c2ln"


@dataclass
class Place:
    """Returns numbered keys, each good for a while."""

    lifetime: float | None = 100.0
    now: float = 1000.0
    fetches: int = 0
    failing: bool = False
    same: bool = False
    held_up: asyncio.Event | None = None
    told: list[str] = field(default_factory=list)

    async def fetch(self, refused: Secret | None) -> FetchedKey:
        self.fetches += 1
        if self.held_up is not None:
            await self.held_up.wait()
        if self.failing:
            raise CredentialError("the place", "nothing", "a key")
        name = "key-1" if self.same else f"key-{self.fetches}"
        return FetchedKey(Secret(name), None if self.lifetime is None else self.now + self.lifetime)

    def key(self, margin: float = 10.0) -> RenewingKey:
        return RenewingKey("the place", self.fetch, margin=margin, on_key=self.told.append, clock=lambda: self.now)


def test_a_key_is_kept_until_shortly_before_its_end():
    async def test() -> None:
        place = Place()
        key = place.key()
        for now, expected in ((1000.0, "key-1"), (1089.0, "key-1"), (1090.0, "key-2"), (1100.0, "key-2")):
            place.now = now
            assert (await key.get()).reveal() == expected
        assert place.told == ["key-1", "key-2"]

    run(test())


def test_a_key_without_an_end_is_kept():
    async def test() -> None:
        place = Place(lifetime=None)
        key = place.key()
        await key.get()
        place.now = 1e12
        assert (await key.get()).reveal() == "key-1"

    run(test())


def test_all_who_wait_share_one_renewal():
    async def test() -> None:
        place = Place(held_up=asyncio.Event())
        key = place.key()
        waiting = [asyncio.create_task(key.get()) for _ in range(20)]
        await asyncio.sleep(0)
        assert place.held_up
        waiting[0].cancel()  # who stops waiting does not stop the others
        place.held_up.set()
        keys = await asyncio.gather(*waiting[1:])
        assert {one.reveal() for one in keys} == {"key-1"}
        assert place.fetches == 1

    run(test())


def test_all_who_were_refused_share_one_renewal_and_a_late_one_gets_the_new_key():
    async def test() -> None:
        place = Place(lifetime=None)
        key = place.key()
        refused = await key.get()
        renewed = await asyncio.gather(*(key.refresh(refused) for _ in range(20)))
        assert {one and one.reveal() for one in renewed} == {"key-2"}
        late = await key.refresh(refused)
        assert late
        assert late.reveal() == "key-2"
        assert place.fetches == 2

    run(test())


def test_a_place_that_has_no_other_key_says_so():
    async def test() -> None:
        place = Place(lifetime=None, same=True)
        key = place.key()
        assert await key.refresh(await key.get()) is None

    run(test())


def test_a_key_that_is_still_good_serves_when_it_cannot_be_renewed_and_one_that_has_ended_does_not(
    caplog: pytest.LogCaptureFixture,
):
    async def test() -> None:
        place = Place()
        key = place.key(margin=50.0)
        await key.get()
        place.failing = True
        place.now = 1060.0
        assert (await key.get()).reveal() == "key-1"
        assert (await key.get()).reveal() == "key-1"
        assert place.fetches == 2  # not again with every request
        place.now = 1100.0
        with pytest.raises(CredentialError):
            await key.get()
        place.failing = False
        assert (await key.get()).reveal() == "key-4"

    run(test())
    assert "the key ends in 40 s and could not be renewed" in caplog.text


def test_a_place_that_hands_out_what_has_ended_is_told_apart():
    async def test() -> None:
        place = Place(lifetime=-61.0)
        with pytest.raises(CredentialError, match="one that ended 61 s ago"):
            await place.key().get()

    run(test())


def test_a_key_survives_the_event_loop_that_fetched_it():
    place = Place(lifetime=None)
    key = place.key()
    refused = asyncio.run(key.get())
    assert asyncio.run(key.get()) == refused
    assert asyncio.run(key.refresh(refused)) == Secret("key-2")


@one_test_for(
    ("key", "expected"),
    [
        (jwt({"exp": 1234}), 1234.0),
        (jwt({"exp": 1234.5}), 1234.5),
        (jwt({"iat": 1}), None),
        (jwt({"exp": True}), None),
        (jwt({"exp": 10**400}), None),
        (jwt({"exp": float("inf")}), None),
        (jwt({"exp": float("nan")}), None),
        (jwt({"exp": -1}), None),
        (jwt({"exp": "soon"}), None),
        (jwt([1]), None),
        ("three.words.here", None),
        ("a.ÿ.c", None),
        ("sk-plain", None),
    ],
)
def test_the_end_of_a_token_is_read_from_it(key: str, expected: float | None):
    assert jwt_expiry(key) == expected


def test_a_stated_lifetime_counts_from_now_and_beats_the_tokens_own():
    token = jwt({"exp": 5000})
    assert fetched_key("x", f" {token}\n", None, 1000.0) == FetchedKey(Secret(token), 5000.0)
    assert fetched_key("x", token, 60, 1000.0).expires_at == 1060.0
    assert fetched_key("x", "sk-plain", None, 1000.0).expires_at is None


@pytest.mark.parametrize("text", ["", " \n", "two\nlines", "sk-ü"])
def test_a_text_that_is_no_key_is_refused_and_not_quoted(text: str):
    with pytest.raises(CredentialError) as raised:
        fetched_key("the file", text, None, 0.0)
    assert not text.strip() or text not in str(raised.value)
