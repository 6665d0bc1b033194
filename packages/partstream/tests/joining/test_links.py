"""Links and addresses of a hub: what a person pastes is read, what could mislead them is refused, no code is shown."""

import pytest

from partstream.settings.kinds import ConfigurationError
from partstream.upstream.hub import base_url_of, editor_link, hub_address, is_join_link, join_link, page_link
from rows import one_test_for

CODE = "k3Jx-92_bQ7vLw0r"
HUB = "https://hub.example.com"


@one_test_for(
    ("text", "address"),
    [
        (HUB, HUB),
        ("  https://Hub.Example.com/ ", HUB),
        ("hub.example.com", HUB),
        (f"{HUB}/v1", HUB),
        (f"{HUB}/v1/", HUB),
        (f"{HUB}/hub", HUB),
        (f"{HUB}/hub/join", HUB),
        (f"{HUB}:8443/models/v1", f"{HUB}:8443/models"),
        ("http://127.0.0.1:8321/v1", "http://127.0.0.1:8321"),
        ("localhost:8321", "http://localhost:8321"),
        ("http://[::1]:8321", "http://[::1]:8321"),
    ],
)
def test_an_address_is_read_as_people_copy_it(text: str, address: str):
    assert hub_address(text) == address
    assert hub_address(base_url_of(address)) == address


@one_test_for(
    ("host", "shown"),
    [
        ("hub.ex\u0430mple.com", "hub.xn--exmple-4nf.com"),
        ("\uff28ub\u3002example.com", "hub.example.com"),
        ("hub.b\u00fccher.example:8443", "hub.xn--bcher-kva.example:8443"),
    ],
)
def test_a_link_of_another_script_shows_a_person_the_name_that_is_asked(host: str, shown: str):
    assert hub_address(f"https://{host}/hub/join") == f"https://{shown}"
    assert join_link(f"https://{host}/hub/join#{CODE}").hub == f"https://{shown}"
    assert join_link(editor_link(f"https://{host}", CODE)).hub == f"https://{shown}"


@one_test_for(
    ("text", "says"),
    [
        ("http://hub.example.com", "plain http to hub.example.com"),
        ("http://127.0.0.1.example.com", "plain http"),
        ("http://localhost.example.com", "plain http"),
        ("https://me:secret@hub.example.com", "user name or password"),
        ("https://hub.example.com@evil.example", "user name or password"),
        ("https://hub.example.com?key=1", "? or #"),
        ("https://hub.example.com#x", "? or #"),
        ("https://hub .example.com", "blanks"),
        ("https://hub\u202e.example.com", "blanks"),
        ("https://hub.example.com/$(reboot)", "a shell"),
        ("https://hub.example.com/`reboot`/hub/join", "a shell"),
        ("https://hub.example.com;reboot", "a shell"),
        ("https://hub.example.com/a|b&c", "a shell"),
        ("https://hub.example.com\\.evil.example", "a shell"),
        ("javascript://hub.example.com", "expected the address of a hub"),
        ("file:///etc/passwd", "expected the address of a hub"),
        ("https://", "expected the address of a hub"),
        ("https://[::1", "expected the address of a hub"),
        ("https://hub.example.com:0", "expected the address of a hub"),
        ("https://hub.example.com:99999", "expected the address of a hub"),
        ("", "expected the address of a hub"),
    ],
)
def test_what_is_no_address_of_a_hub_is_refused_in_one_sentence(text: str, says: str):
    with pytest.raises(ConfigurationError) as refused:
        hub_address(text)
    assert says in str(refused.value)
    assert "secret" not in str(refused.value)


def test_plain_http_to_another_machine_needs_a_persons_word():
    assert hub_address("http://hub.lan:8321", allow_insecure_http=True) == "http://hub.lan:8321"


@pytest.mark.parametrize(
    "text",
    [
        page_link(HUB, CODE),
        editor_link(HUB, CODE),
        f"vscode-insiders://partstream.partstream/join?hub=https%3A%2F%2Fhub.example.com#{CODE}",
        f"{HUB}#{CODE}",
    ],
)
def test_both_forms_of_a_link_say_the_hub_and_the_code(text: str):
    link = join_link(text)
    assert is_join_link(text)
    assert link.hub == HUB
    assert link.code is not None
    assert link.code.reveal() == CODE
    assert CODE not in repr(link)


def test_a_link_without_a_code_names_the_hub_alone():
    assert join_link(f"{HUB}/hub/join").code is None
    assert not is_join_link(f"{HUB}/hub/join")


@one_test_for(
    "text",
    [
        f"http://hub.example.com/hub/join#{CODE}",
        f"vscode://partstream.partstream/join?hub=http%3A%2F%2Fhub.example.com#{CODE}",
        f"vscode://partstream.partstream/join#{CODE}",
        f"vscode://partstream.partstream/other?hub=https%3A%2F%2Fhub.example.com#{CODE}",
        f"vscode://partstream.partstream/join?hub=https%3A%2F%2Fa.example&hub=https%3A%2F%2Fb.example#{CODE}",
        f"https://[::1#{CODE}",
        f"{HUB}/hub/join#{CODE} and more",
        f"{HUB}/hub/join#short",
        f"{HUB}/hub/join#" + "x" * 201,
    ],
)
def test_a_link_that_is_none_is_refused_without_its_code(text: str):
    with pytest.raises(ConfigurationError) as refused:
        join_link(text)
    assert CODE not in str(refused.value)
