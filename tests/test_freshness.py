"""The comparison of our tables with packages of types: it reads them as they are, and what differs shows."""

import json
import shutil
import sys
from pathlib import Path

import pytest

from interop.freshness import comparing
from interop.freshness.census import CENSUS, CensusWire, field_changes, kept, read_kept
from interop.freshness.facts import Difference, Fact, Kind, Wire, changes, differences
from interop.freshness.looked_at import FOLDER, LookedAt, accept, looked_at
from interop.freshness.packages import Installed, UnreadableTypesError, read_fields, read_types
from interop.freshness.table import WIRES

ROOT = Path(__file__).parent.parent
WORKERS = ROOT / "interop" / "freshness" / "workers"
COMPILER = ROOT / "extension" / "node_modules" / "typescript"

PYTHON_TYPES = """
from enum import Enum
from typing import Annotated, List, Literal, Optional, Union
from pydantic import BaseModel, Field
from typing_extensions import Required, TypedDict

class Named:
    def __init__(self, alias): self.alias = alias

class Started(BaseModel):
    type: Literal["started"]
    response_id: Optional[str] = None

class Spoken(TypedDict, total=False):
    type: Literal["spoken", "whispered"]
    text: str
    tone: Literal["warm", "cold"]

class Why(str, Enum):
    DONE = "done"
    CUT = "cut"

class Asked(TypedDict, total=False):
    model: "Required[str]"
    options: "dict[str, int]"
    before: "Annotated[Union[str, List[Spoken]], Named('after')]"
    mode: "Union[str, Literal['fast']]"

class Ended(BaseModel):
    type: Literal["ended"] = "ended"
    finish_reason: Optional[Why] = Field(default=None, alias="finishReason")
    parts: Optional[List[Annotated[Union[Started, Spoken], Field()]]] = None

Event = Annotated[Union[Started, Union[Spoken, Ended], None], "discriminated"]
"""

TYPESCRIPT_TYPES = """
export type Why = "done" | "cut";
export interface Spoken<T> { type: "spoken"; text: T; tone?: "warm" | "cold" }
export type Event<T> =
  | { type: "started"; responseId?: string }
  | Spoken<T>
  | { type: "ended"; finishReason?: Why }
  | { type: "source"; sourceType: "url" }
  | { type: "source"; sourceType: "document" }
  | { type: `data-${string}`; data: unknown };
"""


@pytest.fixture
def of_python(tmp_path: Path) -> Installed:
    (tmp_path / "made_up.py").write_text(PYTHON_TYPES)
    return Installed("1.0", ["env", f"PYTHONPATH={tmp_path}", sys.executable, str(WORKERS / "python_types.py")])


@pytest.fixture
def of_npm(tmp_path: Path) -> Installed:
    if shutil.which("node") is None or not COMPILER.is_dir():
        pytest.skip("the compiler of TypeScript is not installed: make vsix")
    package = tmp_path / "node_modules" / "made-up"
    package.mkdir(parents=True)
    (package / "package.json").write_text('{"name": "made-up", "version": "1.0.0", "types": "index.d.ts"}')
    (package / "index.d.ts").write_text(TYPESCRIPT_TYPES)
    (tmp_path / "package.json").write_text("{}")
    (tmp_path / "node_modules" / "typescript").symlink_to(COMPILER, target_is_directory=True)
    return Installed("1.0.0", ["node", str(WORKERS / "typescript_types.mjs"), str(tmp_path)])


def test_events_of_a_python_package_are_read_with_their_fields_and_words(of_python: Installed):
    asked = [
        Fact("an event", "made_up:Event", "type"),
        Fact("why", "made_up:Ended.finishReason"),
        Fact("a part", "made_up:Ended.parts", "type"),
        Fact("the end", "made_up:Ended"),
    ]
    events, why, parts, end = read_types(of_python, asked)
    spoken = {"text": [], "tone": ["cold", "warm"]}
    assert events == {
        "started": {"response_id": []},
        "spoken": spoken,
        "whispered": spoken,
        "ended": {"finishReason": ["cut", "done"], "parts": []},
    }
    assert why == {"cut": {}, "done": {}}
    assert set(parts) == {"started", "spoken", "whispered"}
    assert end == {"type": {"": ["ended"]}, "finishReason": {"": ["cut", "done"]}, "parts": {}}


def test_all_types_below_a_type_of_a_python_package_are_read_with_the_names_on_the_wire(of_python: Installed):
    of_fields = Installed("1.0", [*of_python.command[:-1], str(WORKERS / "python_fields.py")])
    roots = {"request": "made_up:Asked", "answer": "made_up:Ended"}
    said = read_fields(of_fields, roots)
    assert said["roots"] == {"request": {"is": "Asked"}, "answer": {"is": "Ended"}}
    assert said["types"]["Asked"] == {
        "required": ["model"],
        "fields": {
            "model": "string",
            "options": {"map": "integer"},
            "after": {"one": ["string", {"list": {"is": "Spoken"}}]},
            "mode": "string",
        },
    }
    assert said["types"]["Ended"]["fields"] == {
        "type": {"words": ["ended"]},
        "finishReason": {"words": ["done", "cut"]},
        "parts": {"list": {"one": [{"is": "Started"}, {"is": "Spoken"}]}},
    }
    assert said["types"]["Started"]["required"] == ["type"]

    wire = CensusWire("made-up", "made_up", roots, {"Asked.options": "a header"})
    now = json.loads(kept(wire, "1.0", said))
    before = json.loads(kept(wire, "1.0", said))
    del now["types"]["Asked"]["fields"]["mode"]
    now["types"]["Asked"]["fields"] |= {"after": "string", "how": "string"}
    assert [*field_changes(before, now)] == [
        ("Asked.after", "changed"),
        ("Asked.how", "new"),
        ("Asked.mode", "gone"),
    ]


@pytest.mark.parametrize("wire", CENSUS, ids=lambda wire: wire.name)
def test_the_fields_of_every_wire_of_the_census_are_kept_without_those_that_are_not_sent(wire: CensusWire):
    seen = read_kept(wire.name)
    assert (seen["package"], set(seen["roots"])) == (wire.package, set(wire.roots))
    assert [
        one for one in wire.not_sent if one.partition(".")[2] in seen["types"][one.partition(".")[0]]["fields"]
    ] == []


def test_events_of_a_package_of_npm_are_read_with_their_fields_and_words(of_npm: Installed):
    asked = [Fact("an event", "made-up:$.Event<string>", "type"), Fact("why", "made-up:$.Why")]
    events, why = read_types(of_npm, asked)
    assert events == {
        "started": {"responseId": []},
        "spoken": {"text": [], "tone": ["cold", "warm"]},
        "ended": {"finishReason": ["cut", "done"]},
        "source": {"sourceType": ["document", "url"]},
        "data-*": {"data": []},
    }
    assert why == {"cut": {}, "done": {}}


def test_a_type_that_a_python_package_does_not_have_is_an_error_that_names_it(of_python: Installed):
    with pytest.raises(UnreadableTypesError, match="has no attribute 'Missing'"):
        read_types(of_python, [Fact("an event", "made_up:Missing", "type")])


def test_a_type_that_a_package_of_npm_does_not_have_is_an_error_that_names_it(of_npm: Installed):
    with pytest.raises(UnreadableTypesError, match="no exported member 'Missing'"):
        read_types(of_npm, [Fact("an event", "made-up:$.Missing", "type")])


def _found(fact: Fact, *names: str) -> list[tuple[Kind, str]]:
    return [(one.kind, one.name) for one in differences(fact, {name: {} for name in names})]


def test_a_name_that_no_table_and_no_reason_has_is_new():
    fact = Fact("an event", "", "type", {"started"}, {"tool.*": "the server's"})
    assert _found(fact, "started", "tool.begun", "ended") == [(Kind.NEW, "ended")]


def test_a_row_that_the_package_does_not_name_is_gone_unless_others_send_it():
    fact = Fact("an event", "", "type", {"started", "spoken", "ping"}, foreign={"ping": "gateways"})
    assert _found(fact, "started") == [(Kind.GONE, "spoken")]


@pytest.mark.parametrize(
    ("fact", "names", "gone"),
    [
        (Fact("an event", "", "type", {"a"}, {"tool.*": "the server's"}), ("a",), "tool.*"),
        (Fact("an event", "", "type", {"a"}, {"a": "not needed"}), ("a",), "a"),
        (Fact("an event", "", "type", {"a"}, foreign={"a": "gateways"}), ("a",), "a"),
    ],
    ids=["nothing matches", "a table has a row", "the package names it"],
)
def test_a_reason_that_is_not_needed_any_more_is_gone(fact: Fact, names: tuple[str, ...], gone: str):
    assert _found(fact, *names) == [(Kind.GONE, gone)]


def test_what_no_table_names_is_compared_with_what_was_looked_at_alone():
    assert _found(Fact("the usage", ""), "tokens") == []


@pytest.mark.parametrize(
    ("was", "now", "says"),
    [
        ({}, {"ended": {}}, "it is new"),
        ({"ended": {}}, {}, "it is gone"),
        ({"ended": {"why": []}}, {"ended": {"why": [], "how": []}}, "the field how is new"),
        ({"ended": {"why": []}}, {"ended": {}}, "the field why is gone"),
        ({"ended": {"why": ["a"]}}, {"ended": {"why": ["a", "b", "c"]}}, "the field why may also be b or c"),
        ({"ended": {"": ["a", "b"]}}, {"ended": {"": ["a"]}}, "its word is no longer b"),
    ],
)
def test_what_changed_since_somebody_looked_is_said_field_by_field(was, now, says: str):
    assert [*changes("an event", was, now)] == [Difference(Kind.CHANGED, "an event", "ended", says)]


def test_a_change_shows_until_it_is_accepted_and_a_new_name_until_it_has_a_row_or_a_reason(
    of_python: Installed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(comparing, "REGISTRIES", {"made-up": lambda _wire: of_python})
    fact = Fact("an event", "made_up:Event", "type", {"started", "spoken", "whispered"})
    wire = Wire("made-up", "made_up", "made-up", (fact,))
    _, said, found = comparing.compared(wire, tmp_path, "2026-11-23")
    assert {(one.kind, one.name) for one in found} == {
        (Kind.NEW, "ended"),
        *((Kind.CHANGED, name) for name in ("started", "spoken", "whispered")),
    }
    accept(tmp_path, "made-up", said)
    seen, _, found = comparing.compared(wire, tmp_path, "2026-11-24")
    assert (seen.version, seen.date) == ("1.0", "2026-11-23")
    assert [(one.kind, one.name) for one in found] == [(Kind.NEW, "ended")]


@pytest.mark.parametrize("wire", WIRES, ids=lambda wire: wire.name)
def test_every_wire_has_been_looked_at_and_its_tables_agree_with_what_was_seen(wire: Wire):
    seen = looked_at(FOLDER, wire.name)
    assert isinstance(seen, LookedAt)
    assert (seen.package, set(seen.types)) == (wire.package, {fact.of for fact in wire.facts})
    assert [one for fact in wire.facts for one in differences(fact, seen.types[fact.of])] == []
