"""The run with packages that ask `partstream serve`: it compares what they show, can fail, and its pins are locked."""

import json
from typing import Any

from interop.clients.served.packages import FOLDER, PACKAGES
from interop.clients.served.trials import TRIALS, Told
from partstream.protocols.protocol import PROTOCOLS
from rows import one_test_for

OF_NAME = {trial.name: trial for trial in TRIALS}
CALLS = [["weather", {"place": "Lisbon"}], ["time", {"place": "Lisbon", "weather": "sunny"}]]
LOOPED = {"text": "It is sunny at noon.", "tools": CALLS}
HELLO = {"text": "Hello from Partstream.", "thinking": "", "tools": [], "tokens": [11, 7], "error": None}
ERROR = {"kind": "APIError", "status": 429, "message": "It is spent."}
ANSWERED = {"status": 200, "ended": "stop"}
LEFT = {"status": 200, "ended": "cancelled"}
REFUSED = {"status": 429, "ended": "failed"}
WITHOUT_A_FEATURE = {"status": 400, "ended": "refused"}


@one_test_for(
    ("trial", "changes", "answers", "was_left", "works", "says"),
    [
        ("text", {}, [ANSWERED], False, True, "as it was said"),
        ("text", {"text": "Hi"}, [ANSWERED], False, False, "text: 'Hi' instead of 'Hello from Partstream.'"),
        ("text", {"error": ERROR}, [REFUSED], False, False, "APIError: It is spent."),
        ("thinking", {"text": "Thought."}, [ANSWERED], False, False, "thinking: '' instead of 'I was asked to think.'"),
        ("usage", {"tokens": None}, [ANSWERED], False, False, "tokens: None instead of [11, 7]"),
        (
            "two tool rounds",
            LOOPED,
            [ANSWERED] * 3,
            False,
            True,
            "two rounds",
        ),
        (
            "two tool rounds",
            LOOPED,
            [WITHOUT_A_FEATURE, *[ANSWERED] * 3],
            False,
            True,
            "two rounds",
        ),
        (
            "two tool rounds",
            LOOPED,
            [ANSWERED] * 4,
            False,
            False,
            "4 requests instead of 3",
        ),
        ("cancel", {}, [LEFT], True, True, "the model was cancelled"),
        ("cancel", {}, [LEFT], False, False, "the model was not cancelled"),
        ("spent budget", {"error": ERROR}, [REFUSED], False, True, "APIError: It is spent. (one request)"),
        (
            "spent budget",
            {"error": ERROR},
            [REFUSED] * 3,
            False,
            False,
            "APIError: It is spent. (3 requests instead of one)",
        ),
        ("spent budget", {}, [ANSWERED], False, False, "it raises nothing"),
        ("busy at first", {}, [REFUSED, ANSWERED], False, True, "asked again"),
        ("busy at first", {"error": ERROR}, [REFUSED], False, True, "APIError: It is spent. (not asked again)"),
        ("breaks while it answers", {}, [ANSWERED], False, False, "it raises nothing"),
    ],
)
def test_what_a_package_and_the_server_tell_is_judged(
    trial: str, changes: dict[str, Any], answers: list[Any], was_left: bool, works: bool, says: str
):
    assert OF_NAME[trial].judge(Told(HELLO | changes, answers, was_left)) == (works, says)


def test_every_row_of_the_table_of_packages_fits():
    manifest = json.loads((FOLDER / "node" / "package.json").read_text(encoding="utf-8"))["dependencies"]
    required = [
        line for file in (FOLDER / "python").glob("*.in") for line in file.read_text(encoding="utf-8").splitlines()
    ]
    pins = {f"{name} {version}" for name, version in manifest.items()}
    pins |= {line.partition("[")[0].partition("==")[0] + " " + line.rpartition("==")[2] for line in required}
    for package in PACKAGES:
        assert {*package.package.split(", ")} <= pins
        assert {way.protocol for way in package.ways.values()} <= {*PROTOCOLS}
        for fault in package.faults:
            assert fault.trial in OF_NAME
            assert {*fault.protocols} <= {*package.ways}
        for trial, (why, ways) in package.not_tried.items():
            assert why
            assert trial in OF_NAME
            assert {*ways} <= {*package.ways}
