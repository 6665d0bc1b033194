"""Exact counters: which one counts a family, what is registered, and that nothing is fetched."""

import base64
import gzip
import hashlib
import importlib.util
import os
import stat
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from partstream import ChatMessage, LanguageModelChatInformation, Usage
from partstream.codec.system import read_in_shared_folder
from partstream.tokens import Counter, Counters, CountSource, Vocabulary, vocabulary_of
from partstream.tokens.accounting import TokenAccounting
from partstream.tokens.counting import bpe_openai_counter, tiktoken_counter
from partstream.tokens.families import exact_vocabulary
from partstream.tokens.ledger import open_ledger
from rows import one_test_for

NEEDS_BPE = pytest.mark.skipif(importlib.util.find_spec("bpe_openai") is None, reason="bpe-openai is not installed")
NEEDS_TIKTOKEN = pytest.mark.skipif(importlib.util.find_spec("tiktoken") is None, reason="tiktoken is not installed")


class Words:
    """Counts words, for those who would like to."""

    def __init__(self, each=1):
        self.each = each

    def count(self, text):
        return self.each * len(text.split())


# ---- families ----


@one_test_for(
    ("family", "vocabulary"),
    [
        ("gpt-4", Vocabulary.CL100K),
        ("gpt-4-turbo", Vocabulary.CL100K),
        ("gpt-3.5-turbo", Vocabulary.CL100K),
        ("gpt-4o", Vocabulary.O200K),
        ("gpt-4o-mini", Vocabulary.O200K),
        ("gpt-4.1-nano", Vocabulary.O200K),
        ("openai/GPT-5.2-codex", Vocabulary.O200K),
        ("o3-mini", Vocabulary.O200K),
        ("gpt-oss-120b", Vocabulary.O200K),
        ("claude-sonnet-4.5", None),
        ("gemini-3-pro", None),
        ("llama-4-scout", None),
        ("o", None),
        ("", None),
    ],
)
def test_the_longest_beginning_of_a_family_says_its_vocabulary(family, vocabulary):
    assert exact_vocabulary(family) is vocabulary
    assert vocabulary_of(family) is (vocabulary or Vocabulary.O200K)


@NEEDS_BPE
def test_only_families_with_a_published_vocabulary_have_a_counter():
    counters = Counters()
    assert counters.of_family("gpt-4o") is counters.of_family("o3")
    assert counters.of_family("gpt-4") is not counters.of_family("gpt-4o")
    assert counters.of_family("claude-sonnet-4.5") is None


def test_what_is_registered_goes_before_what_is_installed_and_the_last_one_wins():
    counters, first, second = Counters([lambda _: Words()]), Words(), Words()
    installed = counters.of_family("gpt-4o")
    counters.register_counter("gpt-4*", first)
    assert counters.of_family("openai/gpt-4o") is first
    counters.register_counter("gpt-4o", second)
    assert counters.of_family("gpt-4o") is second
    assert counters.of_family("gpt-4") is first
    assert counters.of_family("gpt-5") is installed
    counters.register_counter("gpt-4*", Words())
    assert counters.of_family("gpt-4o") not in {first, second}
    assert Counters([]).of_family("gpt-4o") is None


def test_the_first_of_the_installed_that_has_a_vocabulary_wins_and_is_looked_for_once():
    asked, words = [], Words()

    def nothing(vocabulary):
        asked.append(vocabulary)

    counters = Counters([nothing, lambda _: words])
    assert [counters.of_family(family) for family in ("gpt-4o", "o1", "gpt-4o")] == [words] * 3
    assert asked == [Vocabulary.O200K]


class TenEach:
    """Another class of counters."""

    def count(self, text):
        return 10 * len(text.split())


@pytest.mark.parametrize(
    ("now", "version", "expected"),
    [(Words(), "1", 3), (Words(100), "1", 3), (Words(100), "2", 300), (TenEach(), "1", 30)],
)
def test_remembered_counts_hold_for_counters_of_the_same_class_and_version(now, version, expected, tmp_path):
    message, model = ChatMessage.user("three words here"), LanguageModelChatInformation("m", "M", "made-up", "1", 9, 9)

    def count(counter, version):
        counters = Counters([])
        counters.register_counter("made-up", counter, version)
        accounting = TokenAccounting("upstream", open_ledger(tmp_path), counters)
        counted = accounting.count(model, message)
        accounting.answered(accounting.estimate_request(model, []), Usage())  # has all that is new written
        accounting.close()
        assert counted.source is CountSource.COUNTED
        return counted.tokens

    around = count(Words(), "1") - 3
    assert count(now, version) == expected + around


def test_what_cannot_count_is_refused():
    with pytest.raises(TypeError, match=r"counter for 'llama\*': got 4, expected .* a method count\(text\)"):
        Counters([]).register_counter("llama*", 4)
    assert isinstance(Words(), Counter)


# ---- bpe-openai ----


@NEEDS_BPE
@pytest.mark.parametrize(
    ("text", "o200k", "cl100k"),
    [
        ("", 0, 0),
        ("hello world", 2, 2),
        ("<|endoftext|>", 7, 7),
        ("Здравствуйте", 1, 6),
        ("x" * 1_200_000, 150_000, 150_000),
    ],
)
def test_the_vocabularies_are_those_of_openai(text, o200k, cl100k):
    assert bpe_openai_counter(Vocabulary.O200K).count(text) == o200k
    assert bpe_openai_counter(Vocabulary.CL100K).count(text) == cl100k


@NEEDS_BPE
@given(text=st.text(st.characters(exclude_categories=[]), max_size=300))
def test_any_text_is_counted_lone_surrogates_too(text):
    assert 0 <= COUNTERS.of_family("gpt-4o").count(text) <= len(text.encode(errors="surrogatepass"))


COUNTERS = Counters()


# ---- tiktoken ----


def test_tiktoken_is_left_alone_where_its_vocabulary_is_not_on_the_disk(tmp_path, monkeypatch):
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    assert tiktoken_counter(Vocabulary.O200K) is None
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", "")
    assert tiktoken_counter(Vocabulary.O200K) is None


PLANTED = {
    "a pipe": os.mkfifo,
    "a folder": lambda place: place.mkdir(),
    "a link to a device": lambda place: place.symlink_to("/dev/zero"),
    "a link to itself": lambda place: place.symlink_to(place),
    "a huge file": lambda place: os.truncate(place, 10**10) if place.touch() is None else None,
}


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no named pipes in folders")
@pytest.mark.parametrize("what", PLANTED)
def test_what_others_put_in_the_place_of_its_vocabulary_is_not_waited_for(tmp_path, monkeypatch, what):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: name)
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    PLANTED[what](tmp_path / "fb374d419588a4632f3f557e76b4b70aebbca790")
    assert tiktoken_counter(Vocabulary.O200K) is None


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no ids of users")
def test_the_file_of_another_user_is_not_read(tmp_path, monkeypatch):
    kept = tmp_path / "kept"
    kept.write_bytes(b"x")
    assert read_in_shared_folder(kept, 10) == b"x"
    monkeypatch.setattr("os.fstat", lambda _: os.stat_result((stat.S_IFREG, 0, 0, 0, 12345, *[0] * 5)))
    assert read_in_shared_folder(kept, 10) is None


@NEEDS_TIKTOKEN
@NEEDS_BPE
def test_tiktoken_counts_the_same_from_its_cache_and_nothing_is_used_that_is_damaged(tmp_path, monkeypatch):
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    data = packed_vocabulary("o200k_base")
    cached = tmp_path / "fb374d419588a4632f3f557e76b4b70aebbca790"
    cached.write_bytes(data[:-1])
    assert tiktoken_counter(Vocabulary.O200K) is None
    assert cached.exists(), "tiktoken would have deleted it"
    cached.write_bytes(data)
    text = "The quick brown fox; 快速的棕色狐狸 \ud800 <|endoftext|>"
    assert tiktoken_counter(Vocabulary.O200K).count(text) == bpe_openai_counter(Vocabulary.O200K).count(text)


def packed_vocabulary(name):
    """The vocabulary that lies in the wheel of bpe-openai, in tiktoken's own form."""
    folder = Path(importlib.util.find_spec("bpe_openai").submodule_search_locations[0])
    return gzip.decompress((folder / "data" / f"{name}.tiktoken.gz").read_bytes())


@NEEDS_BPE
@pytest.mark.parametrize("name", ["o200k_base", "cl100k_base"])
def test_the_digests_are_those_of_the_vocabularies(name):
    from partstream.tokens.counting import _TIKTOKEN_CACHE

    data = packed_vocabulary(name)
    assert base64.b64decode(data.split()[0]) == b"!"
    assert hashlib.sha256(data).hexdigest() == _TIKTOKEN_CACHE[name].digest
