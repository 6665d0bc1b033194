"""A redactor finds a secret in every form, and nothing else."""

import json
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from partstream.codec.redaction import HiddenValues, Redactor, secrets_in_header
from rows import one_test_for
from secret_forms import FORMS, finds

KEY = "sk-PLAN/TED+key&<0123>/456789abcdef=="
EVERY_FORM = pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
KEYS = st.text(st.characters(min_codepoint=0x21, max_codepoint=0x7E, exclude_characters="\\"), min_size=12, max_size=60)
"""Keys with a backslash do not exist: they could not be distinguished from an escape."""
WORDS = st.text(st.sampled_from("abc /=%&;\\u\"'.:"), max_size=20)


@EVERY_FORM
def test_a_key_is_hidden_in_every_form(form: Callable[[str], str]):
    redacted = Redactor([KEY]).redact(f"the key {form(KEY)} is wrong")
    assert finds(KEY, redacted) == []
    assert redacted.startswith("the key ")
    assert redacted.endswith(" is wrong")
    assert "***" in redacted


@EVERY_FORM
def test_a_mask_hides_a_key_in_every_form_and_moves_no_byte(form: Callable[[str], str]):
    before, after = "grüße \udcff ".encode(errors="surrogateescape"), b" is wrong"
    data = before + form(KEY).encode() + after
    masked = Redactor([KEY]).mask_bytes(data)
    assert finds(KEY, masked.decode(errors="replace")) == []
    assert len(masked) == len(data)
    assert masked.startswith(before)
    assert masked.endswith(after)
    assert Redactor([KEY]).mask_bytes(masked) == masked


@EVERY_FORM
def test_the_search_of_these_tests_finds_a_key_in_every_form(form: Callable[[str], str]):
    assert finds(KEY, f"the key {form(KEY)} is wrong")


@given(key=KEYS, before=WORDS, after=WORDS, name=st.sampled_from(sorted(FORMS)))
@settings(max_examples=300, deadline=None)
def test_any_key_is_hidden_in_any_form_wherever_it_stands(key: str, before: str, after: str, name: str):
    text = f"{before} {FORMS[name](key)} {after}"
    redacted = Redactor([key]).redact(text)
    assert FORMS[name](key) not in redacted
    assert "***" in redacted
    assert Redactor([key]).may_find({before: (after, [text])})


@given(key=KEYS, name=st.sampled_from(sorted(FORMS)))
@settings(max_examples=50, deadline=None)
def test_what_is_redacted_once_stays_as_it_is(key: str, name: str):
    redactor = Redactor([key])
    once = redactor.redact(f"no {FORMS[name](key)} here")
    assert redactor.redact(once) == once


@given(text=st.text(max_size=80))
@settings(max_examples=200, deadline=None)
def test_a_text_without_a_secret_stays_as_it_is(text: str):
    assert Redactor(["sk-planted-0123456789"]).redact(text) is text


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "utf-32-le"])
def test_a_key_in_wide_characters_is_hidden(encoding: str):
    data = f"no {KEY}".encode(encoding)
    assert KEY not in Redactor([KEY]).redact_bytes(data).decode(errors="replace").replace("\0", "")


CUT = {
    "alone": KEY[:20],
    "in quotes": f"'{KEY[:20]}'",
    "with dots": f"{KEY[:12]}...",
    "with an ellipsis": f"{KEY[:12]}…",
    "escaped": json.dumps(KEY[:20]).replace("/", "\\/"),
    "in a URL": FORMS["a URL"](KEY)[:20],
    "base64": FORMS["base64"](KEY)[:20],
    "hexadecimal": FORMS["hexadecimal digits"](KEY)[:20],
}


@one_test_for("cut", CUT.values(), ids=CUT)
def test_the_beginning_of_a_key_is_hidden_where_the_text_was_cut_off(cut: str):
    redacted = Redactor([KEY]).redact(f"wrong key {cut}")
    assert redacted.startswith("wrong key ")
    assert redacted.removeprefix("wrong key ").strip("'\".…%") == "***"


@pytest.mark.parametrize("text", ["sk-PLA", "sk-PLAN/TED is no key", "a key begins with sk-", "***"])
def test_words_that_begin_like_a_key_are_shown(text: str):
    assert Redactor([KEY]).redact(text) == text


def test_secrets_that_overlap_are_hidden_as_one():
    assert Redactor(["abcdefgh", "efghijkl"]).redact("x abcdefghijkl y") == "x *** y"


def test_bytes_that_are_no_text_stay_as_they_are_around_a_secret():
    redactor = Redactor([KEY])
    assert redactor.redact_bytes(b"\xff\xfe" + KEY.encode() + b"\x80") == b"\xff\xfe***\x80"
    assert redactor.redact_bytes(b"\xff\xfe\x80") == b"\xff\xfe\x80"


def test_values_are_redacted_at_any_depth_and_names_where_that_is_wanted():
    value = {KEY: [f"a {KEY}", ("b", 4, None)], "n": {"x": KEY}}
    assert Redactor([KEY]).redact_values(value) == {KEY: ["a ***", ("b", 4, None)], "n": {"x": "***"}}
    assert Redactor([KEY]).redact_values(value, names=True) == {"***": ["a ***", ("b", 4, None)], "n": {"x": "***"}}


def test_without_secrets_nothing_is_hidden():
    assert Redactor(["", ""]).redact("all of it") == "all of it"
    assert Redactor().redact_bytes(b"all of it") == b"all of it"


def test_a_redactor_learns_more_and_shows_none():
    redactor = Redactor([KEY]).with_more(["another-secret"])
    assert redactor.redact(f"{KEY} another-secret") == "*** ***"
    assert redactor.with_more([KEY]) is redactor
    assert KEY not in repr(redactor)
    assert "2 secrets" in repr(redactor)


def test_of_a_header_the_whole_value_and_what_follows_its_scheme_are_secrets():
    assert [*secrets_in_header("Bearer sk-1")] == ["Bearer sk-1", "sk-1"]
    assert [*secrets_in_header("sk-1")] == ["sk-1"]
    assert [*secrets_in_header("Basic bWU6c2stMQ==")] == ["Basic bWU6c2stMQ==", "bWU6c2stMQ==", "me:sk-1", "sk-1"]


def test_hidden_values_show_their_names_alone():
    assert repr(HiddenValues({"x-key": KEY, "accept": "all"})) == "{'x-key': ***, 'accept': ***}"


def test_many_finds_in_a_long_text_take_one_pass():
    # Each base64 text is found at its beginning and left behind: 20,000 of them, in less than the limit of a test.
    encoded = FORMS["base64"](KEY)
    redacted = Redactor([KEY]).redact(f"{encoded} " * 20_000)
    assert redacted == "*** " * 20_000
