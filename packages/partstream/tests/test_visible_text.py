"""What acts on a terminal or hides in a text is shown as an escape; everything that people write stays."""

import json
import unicodedata

from hypothesis import given, settings
from hypothesis import strategies as st

from partstream.codec.text import visible, visible_record
from rows import one_test_for

SHOWN = {
    "a title": ("\x1b]0;title\x07", "\\u001b]0;title\\u0007"),
    "C1": ("\x9b31m", "\\u009b31m"),
    "DEL": ("\x7f", "\\u007f"),
    "a carriage return": ("good\rbad", "good\\u000dbad"),
    "a bidirectional override": ("\u202egpj.exe", "\\u202egpj.exe"),
    "an isolate": ("\u2066x\u2069", "\\u2066x\\u2069"),
    "an Arabic mark": ("x\u061c", "x\\u061c"),
    "a byte order mark": ("\ufeffx", "\\ufeffx"),
    "a zero width space": ("g\u200bpt", "g\\u200bpt"),
    "a soft hyphen": ("g\u00adpt", "g\\u00adpt"),
    "a joiner between letters of ASCII": ("g\u200dpt", "g\\u200dpt"),
    "two joiners": ("é\u200d\u200dé", "é\\u200d\\u200dé"),
    "a selector behind a letter": ("g\ufe0f", "g\\ufe0f"),
    "a filler": ("x\u3164", "x\\u3164"),
    "tags": ("\U000e0041", "\\udb40\\udc41"),
    "a surrogate alone": ("\ud83d", "\\ud83d"),
    "a line separator": ("a\u2028b", "a\\u2028b"),
}
KEPT = {
    "a line": "one\ttwo\r\nthree\n",
    "languages": "Grüße, 你好, שלום, سلام, नमस्ते, a\u00a0b\u3000c",
    "Persian with a non-joiner": "می\u200cخواهم",  # noqa: RUF001 - no Latin letters
    "a family": "👨\u200d👩\u200d👧",
    "a burning heart": "❤\ufe0f\u200d🔥 is ❤\ufe0f",
    "a key with a digit": "1\ufe0f\u20e3 #\ufe0f\u20e3",
    "a joiner that ends a fragment": "👨\u200d",
    "a joiner that begins one": "\u200d👩",
    "escapes": "\\u001b",
    "marks": "e\u0301",
}


@one_test_for(("text", "shown"), SHOWN.values(), ids=SHOWN)
def test_it_is_shown(text: str, shown: str):
    assert visible(text) == shown


@one_test_for("text", KEPT.values(), ids=KEPT)
def test_it_is_kept(text: str):
    assert visible(text) == text


@given(text=st.text(st.characters(exclude_categories=[])))
@settings(max_examples=300, deadline=None)
def test_no_control_character_is_left_and_nothing_changes_twice(text: str):
    shown = visible(text)
    assert not [one for one in shown if unicodedata.category(one) == "Cc" and one not in "\n\t\r"]
    assert not [one for one in shown if unicodedata.bidirectional(one) in {"RLO", "LRO", "RLE", "LRE", "RLI", "LRI"}]
    assert visible(shown) == shown
    shown.encode()


@given(value=st.text(st.characters(exclude_categories=[])))
@settings(max_examples=200, deadline=None)
def test_a_text_in_json_keeps_its_meaning(value: str):
    assert json.loads(visible(json.dumps(value, ensure_ascii=False))) == json.loads(json.dumps(value))


def test_a_record_of_a_log_cannot_be_taken_for_several():
    assert visible_record("no\nERROR partstream: all is lost\r\n\x1b[2J") == (
        "no\n    ERROR partstream: all is lost\n    \\u001b[2J"
    )
