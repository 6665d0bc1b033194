"""The table of docs/wires.md says what each wire of Ollama loses, as the rows of the protocols' folders have it."""

from pathlib import Path
from urllib.parse import urlsplit

import pytest

from partstream.protocols.protocol import ServerProtocol, asking, spoken_at
from partstream.upstream.endpoint import preset_named

PAGE = Path(__file__).resolve().parents[5] / "docs" / "wires.md"
ROWS = spoken_at("ollama")


def _losses() -> dict[str, str]:
    """What the table says, by the path of the wire."""
    lines = PAGE.read_text().partition("| wire of Ollama | what it loses |")[2].splitlines()[2:]
    rows = [line.strip("|").split("|") for line in lines[: lines.index("")]]
    return {path.strip(" `"): says.strip() for path, says in rows}


@pytest.mark.parametrize(("protocol", "spoken"), ROWS, ids=[name for name, _ in ROWS])
def test_the_table_says_what_a_wire_of_ollama_loses(protocol: str, spoken: ServerProtocol) -> None:
    assert spoken.reason in _losses()[urlsplit(spoken.base_url).path + asking(protocol).path]


def test_the_native_wire_is_the_only_complete_one_and_that_of_the_preset() -> None:
    assert [name for name, row in ROWS if row.is_complete] == ["ollama"]
    assert preset_named("ollama").base_url == "http://localhost:11434/api"
