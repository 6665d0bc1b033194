"""Who may ask the inspector's server."""

import pytest

from partstream_devtools.inspector.server import PAGE, TOKEN_HEADER, refusal_of
from rows import one_test_for

TOKEN = "t" * 43
PATHS = {PAGE: ("GET",), "/view": ("GET",), "/stop": ("POST",)}
OWN = {"host": "127.0.0.1:4000", TOKEN_HEADER: TOKEN}


def status_of(method, path, headers):
    refusal = refusal_of(method, path, headers, TOKEN, PATHS)
    return None if refusal is None else refusal.status


@one_test_for("host", ["127.0.0.1:4000", "localhost:4000", "LOCALHOST:1", "[::1]:4000", "127.0.0.1", "localhost"])
def test_a_request_to_this_machine_is_answered_at_any_port(host):
    assert status_of("GET", "/view", OWN | {"host": host}) is None


@one_test_for(
    "host",
    [
        "",
        "rebound.example:4000",
        "127.0.0.1.rebound.example",
        "localhost.rebound.example:4000",
        "rebound.example#127.0.0.1",
        "rebound.example@127.0.0.1",
        "127.0.0.1@rebound.example",
        "127.0.0.1:4000, rebound.example",
        "0.0.0.0:4000",
        "192.168.0.2:4000",
        "2130706433:4000",
        "0x7f.1",
        "127.1",
        "localhost:",
        "localhost:4000/",
        "[::ffff:127.0.0.1]:4000",
        " localhost",
        "localhost\x00",
    ],
)
def test_a_host_that_is_not_this_machine_is_refused_also_where_its_name_leads_here(host):
    # DNS rebinding: the browser believes that it speaks to the attacker's name, and says so.
    assert status_of("GET", "/view", OWN | {"host": host}) == 421
    assert status_of("GET", PAGE, OWN | {"host": host}) == 421


def test_a_request_without_a_host_is_refused():
    assert status_of("GET", PAGE, {}) == 421


@pytest.mark.parametrize("origin", ["http://127.0.0.1:4000", "https://127.0.0.1:4000", None])
def test_a_request_of_the_servers_own_page_is_answered(origin):
    headers = OWN | {"content-type": "application/json"} | ({} if origin is None else {"origin": origin})
    assert status_of("POST", "/stop", headers) is None


@one_test_for(
    "origin",
    [
        "null",
        "",
        "http://127.0.0.1:4001",
        "http://localhost:4000",
        "http://127.0.0.1",
        "https://site.example",
        "http://127.0.0.1:4000.site.example",
        "http://127.0.0.1:4000, https://site.example",
        "HTTP://127.0.0.1:4000",
        "vscode-webview://x",
    ],
)
def test_a_request_of_another_page_is_refused_whatever_else_it_has(origin):
    headers = OWN | {"origin": origin, "content-type": "application/json"}
    assert status_of("POST", "/stop", headers) == 403
    assert status_of("GET", "/view", headers) == 403
    assert status_of("GET", PAGE, headers) == 403


@pytest.mark.parametrize(
    ("site", "status"), [("same-origin", None), ("none", None), ("same-site", 403), ("cross-site", 403)]
)
def test_what_a_browser_says_of_who_fetches_is_believed(site, status):
    assert status_of("GET", "/view", OWN | {"sec-fetch-site": site}) == status


def test_a_link_from_anywhere_may_lead_to_the_page_which_holds_nothing():
    assert status_of("GET", PAGE, {"host": "localhost:1", "sec-fetch-site": "cross-site"}) is None


@one_test_for(
    "headers",
    [
        {},
        {TOKEN_HEADER: ""},
        {TOKEN_HEADER: TOKEN[:-1]},
        {TOKEN_HEADER: TOKEN + "t"},
        {TOKEN_HEADER: TOKEN.upper()},
        {TOKEN_HEADER: f"{TOKEN}, {TOKEN}"},
        {TOKEN_HEADER: "\xff" * 43},
        {"authorization": f"Bearer {TOKEN}"},
        {"cookie": f"{TOKEN_HEADER}={TOKEN}"},
        {"referer": f"http://127.0.0.1:4000/#{TOKEN}"},
    ],
)
def test_only_the_token_in_its_header_opens_what_holds_data(headers):
    headers = {"host": "127.0.0.1:4000", "content-type": "application/json", **headers}
    assert status_of("GET", "/view", headers) == 403
    assert status_of("POST", "/stop", headers) == 403
    assert status_of("GET", "/anything", headers) == 403
    assert status_of("GET", PAGE, headers) is None


@one_test_for(
    "path",
    [
        "/../view",
        "/view/",
        "//view",
        "/view/../view",
        "/%76iew",
        "/view%00",
        "/..%2f..%2fetc%2fpasswd",
        "view",
        "",
        "/View",
    ],
)
def test_a_path_is_one_of_the_table_as_it_is_written_or_none(path):
    assert status_of("GET", path, OWN) == 404


@one_test_for(
    ("method", "path", "allow"),
    [
        ("POST", "/view", ("GET",)),
        ("OPTIONS", "/view", ("GET",)),
        ("PUT", PAGE, ("GET",)),
        ("HEAD", "/view", ("GET",)),
        ("GET", "/stop", ("POST",)),
        ("DELETE", "/stop", ("POST",)),
        ("get", "/view", ("GET",)),
    ],
)
def test_reads_are_get_and_actions_are_post(method, path, allow):
    refusal = refusal_of(method, path, OWN, TOKEN, PATHS)
    assert refusal is not None
    assert (refusal.status, refusal.allow) == (405, allow)


@one_test_for(
    ("content_type", "status"),
    [
        ("application/json", None),
        ("application/json; charset=utf-8", None),
        ("text/plain", 415),
        ("application/x-www-form-urlencoded", 415),
        (None, 415),
    ],
)
def test_an_action_has_a_body_that_no_form_can_send(content_type, status):
    headers = OWN if content_type is None else OWN | {"content-type": content_type}
    assert status_of("POST", "/stop", headers) == status


def test_no_refusal_repeats_the_token_or_what_was_given_for_it():
    for headers in ({"host": "x"}, {"host": "localhost", TOKEN_HEADER: "a-guess"}, OWN | {"origin": "x"}):
        refusal = refusal_of("GET", "/view", headers, TOKEN, PATHS)
        assert refusal is not None
        assert TOKEN not in refusal.message
        assert "a-guess" not in refusal.message
