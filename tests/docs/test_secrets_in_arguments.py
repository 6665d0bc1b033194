"""No command that we show or print has a secret among its arguments: every user of a machine can read those of all."""

from __future__ import annotations
import re
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from offences import assert_none
from partstream.cli import main
from partstream.cli.client_settings import CLIENTS, Server, TokenPlace

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[2]
INSIDE_THE_SHELL = {"export", "read", "printf", "echo", "unset", "set", "test", "["}
"""Commands for which a shell starts no process."""
PROGRAMS = "curl|wget|kubectl|helm|docker|psql|partstream|python3?|uvx?|npx|node|ssh|git|claude|codex|opencode|llm"
SHELLS = {"", "sh", "bash", "shell", "console", "text"}
SECRET = re.compile(
    r"""
    \$\( [^)]* (?:token|key|secret|password|\bpass\b) [^)]* \)      # what a command prints
    | \$\{?(?!\w*(?:FILE|ENV|PATH|TOKENS)\b)\w*(?:KEY|TOKEN|SECRET|PASSWORD|CODE)\b
    | \b(?:psk_|psj_|sk-|partstream-)[A-Za-z0-9_-]{16,}
    | ://[^/\s:@'"]+:[^/\s@'"]+@                                    # a user with a password
    | \b(?:bearer|basic)\s+[^\s'"$/]
    | --from-literal
    """,
    re.VERBOSE | re.IGNORECASE,
)
ASSIGNMENTS = re.compile(r"""(?:\w+=(?:"[^"]*"|'[^']*'|\$\([^)]*\)|\S*)\s+)*""")


def secrets_in(text: str) -> list[str]:
    """The commands of a shell that have a secret among their arguments."""
    lines = text.replace("\\\n", " ").splitlines()
    commands = (one.strip() for line in lines for one in re.split(r"\|\|?|&&|;|\$\(", re.sub(r"^\s*[$#] ", "", line)))
    whole = [*commands, *(line for line in lines if "$(" in line)]
    found = []
    for one in whole:
        command = ASSIGNMENTS.sub("", one, count=1)
        if command.partition(" ")[0] not in INSIDE_THE_SHELL and SECRET.search(command.partition(" ")[2]):
            found.append(one)
    return found


@pytest.mark.parametrize(
    ("line", "is_wrong"),
    [
        ('curl http://127.0.0.1/v1 -H "Authorization: Bearer $(cat ~/serve-token)"', True),
        ('curl http://127.0.0.1/v1 \\\n  -H "x-api-key: $OPENAI_API_KEY"', True),
        ("curl -u me:${PASSWORD} http://127.0.0.1", True),
        ("curl -H 'Authorization: Bearer abc' http://127.0.0.1", True),
        ("partstream add hub psj_abcdefghijklmnopqrstuvwxyz", True),
        ("psql postgresql://hub:PASSWORD@db/hub", True),
        ("kubectl create secret generic p --from-literal=token=x", True),
        ("docker run -e KEY=$HUB_KEY image", True),
        ('cat x | curl -H "Authorization: $TOKEN" http://h', True),
        ("sed 's/^/Authorization: Bearer /' ~/serve-token | curl -H @- http://127.0.0.1/v1", False),
        ('export OPENAI_API_KEY="$(cat ~/serve-token)"', False),
        ("PARTSTREAM_SERVE_TOKEN=$HUB_KEY partstream connect codex", False),
        ("read -rs HUB_KEY; export HUB_KEY", False),
        ("partstream chat --api-key-env HUB_KEY Hi", False),
        ("kubectl create secret generic p --from-file=token=token.txt", False),
        ("partstream serve --token-file $TOKEN_FILE", False),
    ],
)
def test_the_rule_knows_a_secret_among_arguments(line: str, is_wrong: bool) -> None:
    assert bool(secrets_in(line)) is is_wrong


def _shown() -> Iterator[tuple[str, str]]:
    """The commands of all pages and of all texts in the sources, each with its file."""
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True)
    for name in listed.stdout.splitlines():
        of_the_program = re.match(r"(?:packages/[^/]+|extension)/src/(?!.*redaction/rules.py)", name)
        if name.endswith(".md"):
            text = (ROOT / name).read_text(encoding="utf-8")
            blocks = re.findall(r"^ *```(\w*)[^\n]*\n(.*?)^ *```", text, re.DOTALL | re.MULTILINE)
            yield from ((name, block) for language, block in blocks if language in SHELLS)
            yield from ((name, one) for one in re.findall(rf"`((?:{PROGRAMS}) [^`\n]*)`", text))
        elif name.endswith((".sh", "Makefile", "Dockerfile", ".yml")):
            yield name, (ROOT / name).read_text(encoding="utf-8")
        elif of_the_program and name.endswith((".py", ".ts", ".js", ".html")):
            text = (ROOT / name).read_text(encoding="utf-8")
            yield from ((name, one) for one in re.findall(rf"[\"'`>\n ]((?:{PROGRAMS}) [^\n]*)", text))


def test_no_page_and_no_text_of_the_program_shows_one() -> None:
    assert_none(f"{name}: {one}" for name, text in _shown() for one in secrets_in(text))


@pytest.mark.parametrize("place", [TokenPlace("HUB_KEY"), TokenPlace("HUB_KEY", Path("/home/you/serve-token"))])
def test_no_client_is_told_to_have_one(place: TokenPlace) -> None:
    offences = []
    for client in CLIENTS.values():
        for wire in client.wires:
            settings = client.settings(Server("http://127.0.0.1:8642", "m", place, 1000, 100), wire)
            lines = [*settings.exports(), " ".join(client.run), " ".join(place.command)]
            lines += [one.shown() for one in settings.files]
            offences += [f"{client.name}: {one}" for line in lines for one in secrets_in(line)]
    assert_none(offences)


@pytest.mark.parametrize(
    "arguments", [["serve", "--demo", "--print-kubernetes"], ["serve", "--demo", "--hub", "--print-kubernetes"]]
)
def test_no_printed_deployment_has_one(arguments: list[str]) -> None:
    printed = CliRunner().invoke(main, arguments)
    assert printed.exit_code == 0, printed.output
    assert_none(secrets_in(printed.output))
