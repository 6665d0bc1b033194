"""What `make interop TRY=ray` has shown: of the version that is pinned, all of it, and none of it a fault."""

import json
import re

import pytest

from interop.ray_serve.__main__ import ENVIRONMENT, HUB, RESULTS, WAYS
from interop.ray_serve.checks import CHECKS, DRAIN, KILLS

SHOWN = json.loads(RESULTS.read_text(encoding="utf-8"))


def test_what_is_installed_is_pinned_with_hashes_and_is_what_was_tried() -> None:
    text = ENVIRONMENT.lock.read_text(encoding="utf-8")
    pins = re.findall(r"^[\w.-]+(?:\[[^]]*\])?==\S+.*\\$", text, re.MULTILINE)
    assert len(pins) == len(re.findall(r"^[\w.-]+", text, re.MULTILINE)), "each with a hash"
    assert ENVIRONMENT.pins["ray"] == SHOWN["ray"]


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.name)
def test_everything_was_tried_and_works(way) -> None:
    shown = SHOWN["ways"][way.name]
    wanted = {*CHECKS, DRAIN, *(() if way.name == "plain" else (*KILLS, HUB))}
    assert set(shown["checks"]) == wanted
    assert [name for name, one in shown["checks"].items() if not one["works"]] == []
    assert all(value > 0 for value in shown["figures"].values())
