"""The policy of a page, and how text gets into one."""

import hashlib
import json
import re
from base64 import b64encode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pages.read_html import read_html
from partstream.errors import UnexpectedValueError
from partstream.pages.document import Hashes, Nonces, data_script, document, resource, text
from rows import one_test_for

NONCE = "0123456789abcdefABCDEF"


def _sha(content: str) -> str:
    return f"'sha256-{b64encode(hashlib.sha256(content.encode()).digest()).decode()}'"


def _directives(policy: str) -> dict[str, str]:
    return {name: value for name, _, value in (one.strip().partition(" ") for one in policy.split(";"))}


def test_the_policy_of_a_file_names_what_the_file_holds_and_nothing_else():
    assert _directives(Hashes().content(["run()"], ["a{}", "b{}"])) == {
        "default-src": "'none'",
        "script-src": _sha("run()"),
        "style-src": f"{_sha('a{}')} {_sha('b{}')}",
        "img-src": "data:",
        "connect-src": "'none'",
        "base-uri": "'none'",
        "form-action": "'none'",
    }
    assert _directives(Hashes().content([], []))["script-src"] == "'none'"


def test_the_policy_with_a_nonce_allows_that_nonce_and_the_sources_of_its_reader():
    policy = Nonces(NONCE, "https://*.vscode-cdn.net", "'self'")
    directives = _directives(policy.content(["run()"], ["a{}"]))
    assert directives["script-src"] == f"'nonce-{NONCE}' https://*.vscode-cdn.net"
    assert directives["connect-src"] == "'self'"
    assert _directives(Nonces(NONCE).content([], ["a{}"]))["script-src"] == "'none'"


@one_test_for(
    "fields",
    [
        {"nonce": "short"},
        {"nonce": NONCE + '"'},
        {"nonce": NONCE, "source": "x; script-src *"},
        {"nonce": NONCE, "connect": "a, b"},
        {"nonce": NONCE, "source": 'x"'},
    ],
)
def test_a_nonce_or_a_source_that_would_open_the_policy_is_refused(fields: dict[str, str]):
    with pytest.raises(UnexpectedValueError):
        Nonces(**fields)


def test_every_script_and_style_carries_the_nonce_and_the_policy_is_read_before_them():
    page = document("T", "<main></main>", Nonces(NONCE), styles=["a{}"], scripts=["run()"])
    elements = read_html(page).elements
    assert [attributes["nonce"] for tag, attributes in elements if tag in {"script", "style"}] == [NONCE] * 2
    tags = [tag for tag, _ in elements]
    policy = next(a for _, a in elements if a.get("http-equiv") == "Content-Security-Policy")
    assert f"'nonce-{NONCE}'" in str(policy["content"])
    assert elements.index(("meta", policy)) < tags.index("style") < tags.index("main") < tags.index("script")


@given(st.text())
def test_text_is_text_whatever_it_says(value: str):
    hostile = f"</title><script>{value}"
    reader = read_html(f"<p>{text(hostile)}</p>")
    assert [tag for tag, _ in reader.elements] == ["p"]
    assert reader.text.startswith("</title><script>")


def test_what_hides_in_text_is_shown():
    assert text("a\u202eb\x1b[2J") == "a\\u202eb\\u001b[2J"


@given(st.text())
def test_no_value_ends_the_element_that_holds_it(value: str):
    script = data_script("data", {"value": f"</script><!--{value}"})
    found = re.fullmatch(r'<script type="application/json" id="data">([^<]*)</script>', script, re.DOTALL)
    assert found is not None
    assert json.loads(found[1])["value"] == f"</script><!--{value}"


def test_the_colours_are_those_of_vscode_each_with_one_of_ours_behind_it():
    style = resource("partstream.pages", "theme.css")
    used = re.findall(r"var\((--vscode-[\w-]+)(,?)", style)
    assert used
    assert all(comma for _, comma in used)
    assert "</style" not in style
