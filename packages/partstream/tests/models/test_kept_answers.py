import json
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from partstream.upstream.discovery import CachedAnswer, DiskCache
from rows import one_test_for

DOCUMENTS = st.none() | st.dictionaries(st.text(max_size=5), st.integers(), max_size=3)
ANSWERS = st.builds(CachedAnswer, DOCUMENTS, st.floats(0, 2e9))


@given(st.dictionaries(st.text(max_size=10), ANSWERS, max_size=5))
def test_answers_are_read_as_they_were_written(answers):
    with tempfile.TemporaryDirectory() as folder:
        DiskCache(Path(folder), "upstream").save(answers)
        assert DiskCache(Path(folder), "upstream").load() == answers


@one_test_for(
    "value",
    [None, [], {}, {"format": 1}, {"format": 2, "answers": {}}, {"format": 1, "answers": {"a": {"document": 1}}}]
    + [
        {"format": 1, "answers": {"a": {"document": 1, "fetched_at": time}}}
        for time in (10**400, float("inf"), float("nan"), -1, "1", True)
    ],
    ids=range(12),
)
def test_what_was_not_written_by_us_is_refused(value, tmp_path: Path):
    cache = DiskCache(tmp_path, "upstream")
    cache.path.write_text(json.dumps(value))
    assert cache.load() == {}


def test_only_the_newest_answers_are_kept(tmp_path: Path):
    cache = DiskCache(tmp_path, "upstream")
    cache.save({str(number): CachedAnswer(None, float(number)) for number in range(2100)})
    kept = cache.load()
    assert len(kept) == 2000
    assert "99" not in kept
    assert "2099" in kept


FRESH = {"now": (100.0, True), "young": (109.9, True), "old": (110.0, False), "from the future": (99.0, False)}


@pytest.mark.parametrize(("now", "expected"), FRESH.values(), ids=FRESH)
def test_an_answer_is_fresh_for_a_while(now, expected):
    assert CachedAnswer(None, 100.0).is_fresh(now, 10.0) is expected
