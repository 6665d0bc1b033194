"""The ledger of served answers: who asked, what it took, and never a word of it."""

import logging
import sqlite3
from contextlib import closing
from contextvars import copy_context
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from partstream import Usage
from partstream.lm.outputs import Outcome
from partstream.server.clients import AnswerKind, ClientClass, RequestClient
from partstream.server.telemetry import AnswerLedger, open_answer_ledger
from partstream.tokens import ledger_file as schema
from partstream.tokens.accounting import TokenAccounting
from partstream.tokens.ledger import LEDGER_NAME, Ledger, open_ledger
from partstream.tokens.records import USAGE_ROWS, UsageRow

from .observations import an_answer


def _enter(folder: Path, *answers: Any) -> None:
    ledger = open_answer_ledger(folder)
    assert ledger is not None
    for answer in answers:
        ledger.observe(answer)
    ledger.close()


def _rows(folder: Path, columns: str = "*") -> list[tuple[Any, ...]]:
    """The rows of the file, read without the code that is tested."""
    with closing(sqlite3.connect(folder / LEDGER_NAME)) as connection:
        return connection.execute(f"SELECT {columns} FROM answers ORDER BY id").fetchall()  # noqa: S608


def test_an_answer_is_entered_with_who_asked_and_what_it_took(tmp_path: Path) -> None:
    _enter(tmp_path, an_answer(cost=0.25, is_usage_kept=True))
    columns = "client, version, class, session, turn, kind, retry, caller, model, provider, wire, input, output, cached"
    assert _rows(tmp_path, columns) == [
        ("codex", "0.169.0", "agent", "session-1", "turn-1", "turn", 0, "ada", "parrot", "birds", "openresponses",
         1_200, 101, 800)
    ]  # fmt: skip
    more = "reasoning, cost, request, status, outcome, error, first_part, duration, bytes, is_counted, is_kept"
    assert _rows(tmp_path, more) == [(40, 0.25, "req_1", 200, "completed", "", 0.5, 2.5, 9_000, 0, 1)]


@pytest.mark.parametrize(
    ("changes", "outcome", "error"),
    [
        ({"outcome": None, "is_cancelled": True}, "cancelled", "cancelled"),
        ({"outcome": None, "status": 429}, None, "429"),
        ({"outcome": Outcome.FAILED, "error": "UpstreamError"}, "failed", "UpstreamError"),
    ],
)
def test_an_answer_that_did_not_end_well_is_entered_too(
    changes: dict[str, Any], outcome: str | None, error: str, tmp_path: Path
) -> None:
    _enter(tmp_path, an_answer(**changes))
    assert _rows(tmp_path, "outcome, error") == [(outcome, error)]


def test_titles_and_repeated_requests_are_marked(tmp_path: Path) -> None:
    client = RequestClient("opencode", "1", ClientClass.AGENT, retry=2, kind=AnswerKind.TITLE)
    _enter(tmp_path, an_answer(client=client))
    assert _rows(tmp_path, "kind, retry") == [("title", 2)]


def test_answers_stand_beside_what_older_versions_have_written(tmp_path: Path) -> None:
    accounting = TokenAccounting("upstream", open_ledger(tmp_path))
    accounting.record_usage("m", Usage(1, 1))
    accounting.close()
    _enter(tmp_path, an_answer(), an_answer())
    assert len(_rows(tmp_path)) == 2
    with closing(sqlite3.connect(tmp_path / LEDGER_NAME)) as connection:
        assert connection.execute("SELECT count(*) FROM usage").fetchone() == (1,)


def test_a_request_for_which_no_provider_was_asked_is_not_entered(tmp_path: Path) -> None:
    refused = {"provider": "", "outcome": None, "usage": None}
    _enter(
        tmp_path,
        an_answer(**refused, status=401, model="", error="unauthenticated"),
        an_answer(**refused, status=404, model="nope", error="model_not_found"),
        an_answer(request_id="req_2"),
    )
    assert _rows(tmp_path, "request") == [("req_2",)]


def test_a_ledger_that_is_switched_off_writes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PARTSTREAM_LEDGER", "false")
    assert open_answer_ledger(tmp_path) is None
    assert list(tmp_path.iterdir()) == []


_NUMBERS = st.none() | st.integers() | st.floats()


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(name=st.text(), tokens=_NUMBERS, seconds=st.floats(), bytes_sent=st.integers())
def test_whatever_clients_and_providers_say_is_entered_and_what_follows_too(
    name: str, tokens: Any, seconds: float, bytes_sent: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("ledger")
    strange = an_answer(
        model=name, provider=name, caller=name, error=name, request_id=name, client=RequestClient(name, name),
        usage=Usage(tokens, tokens), duration=seconds, bytes=bytes_sent, cost=seconds,
    )  # fmt: skip
    _enter(folder, strange, an_answer())
    assert _rows(folder, "model")[-1] == ("parrot",)
    assert len(_rows(folder)) == 2


def test_old_answers_and_those_beyond_the_size_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(schema.CAPACITIES, "answers", (100, "time"))
    old = an_answer(time=1_000_000.0, model="old")
    _enter(tmp_path, old, *(an_answer(time=1_790_000_000.0 + number) for number in range(150)))
    _enter(tmp_path, an_answer(time=1_800_000_000.0))
    models = [model for (model,) in _rows(tmp_path, "model")]
    assert "old" not in models
    assert 80 <= len(models) <= 100


def test_answers_that_the_disk_is_too_slow_for_are_dropped_and_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(schema, "_MOST_UNWRITTEN", 10)
    ledger, disk_is_free = AnswerLedger(tmp_path / LEDGER_NAME), Event()
    ledger._thread.submit(disk_is_free.wait, 20)
    with caplog.at_level(logging.WARNING, "partstream.tokens"):
        for number in range(25):  # this never waits, whatever the thread does
            ledger.observe(an_answer(request_id=f"req_{number}"))
        disk_is_free.set()
        ledger.close()
    assert _rows(tmp_path, "request") == [(f"req_{number}",) for number in range(15, 25)]
    assert "15 rows are lost: the disk of the token ledger is too slow, or full" in caplog.text


def test_what_an_upstream_has_entered_is_known_to_whoever_runs_the_answer() -> None:
    accounting = TokenAccounting("upstream", Ledger())
    rows: list[UsageRow] = []

    def answer() -> None:
        USAGE_ROWS.set(rows)
        accounting.record_usage("m", Usage(3, 4), cost=0.5)

    copy_context().run(answer)
    accounting.record_usage("o", Usage(7, 8))
    assert [(row.model, row.cost) for row in rows] == [("m", 0.5)]
