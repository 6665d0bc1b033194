"""Who may ask a server on loopback without a token."""

from partstream.server.clients import local_program
from rows import one_test_for


@one_test_for(
    "headers",
    [
        {"host": "127.0.0.1:8642"},
        {"host": "localhost:8642"},
        {"host": "[::1]:8642"},
        {"host": "127.0.0.1:8642", "origin": "http://localhost:3000"},
        {"host": "app.localhost", "origin": "http://127.0.0.1"},
    ],
)
def test_a_program_and_a_page_of_this_machine_may_ask(headers):
    assert local_program(headers) is not None


@one_test_for(
    "headers",
    [
        {},
        {"host": ""},
        {"host": "evil.example"},
        {"host": "evil.example:8642"},
        {"host": "127.0.0.1.evil.example"},
        {"host": "localhost.evil.example"},
        {"host": "[::1"},
        {"host": "127.0.0.1", "origin": "https://evil.example"},
        {"host": "127.0.0.1", "origin": "null"},
        {"host": "127.0.0.1", "origin": ""},
        {"host": "127.0.0.1", "origin": "http://127.0.0.1.evil.example"},
        {"host": "127.0.0.1", "origin": "http://127.0.0.1@evil.example"},
        {"host": "127.0.0.1@evil.example"},
        {"host": "127.0.0.1, evil.example"},
        {"host": "127.0.0.1#evil.example"},
        {"host": "127.0.0.1?evil.example"},
        {"host": "127.0.0.1/evil.example"},
        {"host": "127.0.0.1:80:evil.example"},
        {"host": "127.0.0.1", "origin": "http://127.0.0.1#evil.example"},
        {"host": "127.0.0.1", "origin": "ftp://127.0.0.1"},
    ],
)
def test_a_page_of_a_site_may_not_even_under_a_name_that_leads_here(headers):
    assert local_program(headers) is None
