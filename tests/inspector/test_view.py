"""The view of a recording: what it holds of each kind of answer."""

from __future__ import annotations

import pytest

from inspector.sample_views import SAMPLES
from partstream.json_codec import is_json


@pytest.mark.parametrize("name", [name for name in SAMPLES if name != "long"])
def test_a_view_is_json(name: str):
    view = SAMPLES[name]()
    assert is_json(view)
    for answer in view["answers"]:
        assert [event["n"] for event in answer["events"]] == list(range(1, len(answer["events"]) + 1))
        assert [part["i"] for part in answer["parts"]] == list(range(len(answer["parts"])))
