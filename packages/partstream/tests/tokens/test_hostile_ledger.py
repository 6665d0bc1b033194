"""Values, files and neighbours that no ledger should meet: it goes on writing, and leaves alone what is not its own."""

import os
import sqlite3
import stat
import sys
import threading
from collections.abc import Callable
from contextlib import closing
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from partstream.tokens.families import CountSource
from partstream.tokens.ledger import LEDGER_NAME, Ledger
from partstream.tokens.ledger_file import KEEP_USAGE, SCHEMA_VERSION, LedgerFile, UsageOfOthers, read_usage_rows
from partstream.tokens.records import AnswerRow, CountRow, LimitRow, Sample, TotalRow, UsageRow
from partstream.tokens.usage import add_up, day_of
from tokens.ledgers import integrity_of, rows_of

posix = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such rights and links")
LONG_AGO = date(1971, 1, 1)
NOW = 1_700_000_000.0
DIGEST = bytes(16)

numbers: Any = st.one_of(
    st.none(),
    st.sampled_from([2**63, -(2**63), 10**400, float("inf"), float("-inf"), float("nan"), -1, True]),
    st.integers(),
    st.floats(),
    st.text(st.characters(exclude_categories=())),
)
texts = st.text(st.characters(exclude_categories=()), max_size=5)
counts = st.builds(CountRow, texts, numbers, st.just(CountSource.COUNTED), numbers, st.booleans(), numbers)
rows = st.builds(UsageRow, numbers, texts, texts, st.none() | texts, numbers, numbers, numbers, numbers, numbers)


def _usage(**changes: Any) -> UsageRow:
    values: dict[str, Any] = {"input_tokens": 1, "output_tokens": 2, "cached_tokens": None, "reasoning_tokens": None}
    values |= {"time": NOW, "model": "m", "upstream": "u", "conversation": None, "cost": None}
    return UsageRow(**{**values, **changes})


@settings(max_examples=40)
@given(st.lists(rows, max_size=3), st.lists(counts, max_size=3), texts, texts, numbers, numbers)
def test_whatever_is_kept_the_rows_behind_it_are_written(
    tmp_path_factory: pytest.TempPathFactory,
    usages: list[UsageRow],
    counted: list[CountRow],
    scope: str,
    model: str,
    number: Any,
    time: Any,
) -> None:
    folder = tmp_path_factory.mktemp("ledger")
    ledger = Ledger(folder / LEDGER_NAME)
    for row in usages:
        ledger.keep_usage(row)
    ledger.keep_counts(scope, {bytes([at]) * 16: row for at, row in enumerate(counted)})
    ledger.keep_total(scope, DIGEST, TotalRow(DIGEST, number, number))
    ledger.keep_sample(scope, Sample(number, number))
    ledger.keep_limit(scope, model, LimitRow(number, time))
    ledger.keep_refusal(scope, model, scope, time)
    ledger.samples(model)
    ledger.limits(model)
    ledger.refusals(scope)
    ledger.forget_limit(model, scope)
    ledger.flush()
    ledger.keep_usage(_usage(model="the last"))
    ledger.close()
    file = LedgerFile(folder / LEDGER_NAME)
    read = read_usage_rows(file, LONG_AGO)
    file.close()
    assert "the last" in [row.model for row in read]
    add_up(map(AnswerRow, read), lambda row: day_of(row.usage.time))


@pytest.mark.parametrize("count", [1, 4, 40])
@pytest.mark.parametrize("poison", [2**63, 10**400, "\ud83d", object(), b"x" * 10, float("inf")], ids=range(6))
def test_a_row_that_the_file_cannot_hold_is_dropped_alone_and_the_log_says_so(
    poison: object, count: int, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = LedgerFile(tmp_path / LEDGER_NAME)
    named = [*((f"a{number}", number) for number in range(count)), ("b", poison), ("c", 2)]
    rows = [(NOW, name, "u", None, tokens, 1, None, None, None, "p") for name, tokens in named]
    assert file.write([(KEEP_USAGE, rows), *((KEEP_USAGE, [row]) for row in rows[-1:])])
    assert file.write([])
    is_held = isinstance(poison, bytes | float)
    kept = [name for (name,) in file.read("SELECT model FROM usage ORDER BY id")]
    assert kept == [*(name for name, _ in named if is_held or name != "b"), "c"]
    assert ("cannot hold was dropped" in caplog.text) is not is_held
    file.close()


def _poisoned(folder: Path) -> LedgerFile:
    """A file with sound rows, and others that an older version or another program has written."""
    file = LedgerFile(folder / LEDGER_NAME)
    bad: list[tuple[Any, ...]] = [
        (NOW, "cost", "u", None, 1, 2, None, None, float("inf"), "p"),
        (NOW, "tokens", "u", None, 2**62, -1, "many", b"\0", 1e300, "p"),
        (float("inf"), "time", "u", None, 1, 2, None, None, None, "p"),
        (1e12, "late", "u", None, 1, 2, None, None, None, "p"),
        ("now", "text", "u", None, 1, 2, None, None, None, "p"),
        (NOW, None, "u", None, 1, 2, None, None, None, "p"),
        (NOW, "names", b"u", b"c", 1, 2, None, None, None, "p"),
    ]
    file.write([(KEEP_USAGE, [(NOW, "sound", "u", "c", 1, 2, 3, 4, 0.5, "p"), *bad])])
    return file


def test_a_poisoned_file_is_read_and_what_cannot_be_is_unknown_and_counted(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = _poisoned(tmp_path)
    read = read_usage_rows(file, LONG_AGO)
    others = UsageOfOthers().read(file, LONG_AGO, "own")
    file.close()
    for rows in (read, others):
        assert rows == [
            UsageRow(NOW, "sound", "u", "c", 1, 2, 3, 4, 0.5),
            UsageRow(NOW, "cost", "u", None, 1, 2, None, None, None),
            UsageRow(NOW, "tokens", "u", None, None, None, None, None, None),
            UsageRow(NOW, "names", "", None, 1, 2, None, None, None),
        ]
    assert caplog.text.count("7 rows hold values that cannot be") == 1
    assert add_up(map(AnswerRow, read), lambda row: row.usage.model)["cost"].cost.value is None


def test_a_text_that_is_no_utf_8_costs_its_own_letters_and_no_row(tmp_path: Path) -> None:
    path = tmp_path / LEDGER_NAME
    file = _poisoned(tmp_path)
    file.close()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("UPDATE usage SET model = CAST(x'ff61' AS TEXT) WHERE model = 'sound'")
        connection.commit()
    file = LedgerFile(path)
    assert [row.model for row in read_usage_rows(file, LONG_AGO)] == ["\ufffda", "cost", "tokens", "names"]
    assert file.write([(KEEP_USAGE, [(NOW, "m", "u", None, 1, 1, None, None, None, "p")])])
    file.close()
    assert [one.name for one in tmp_path.iterdir()] == [LEDGER_NAME]


def test_a_file_of_a_newer_version_is_left_alone_and_the_log_says_so(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / LEDGER_NAME
    _poisoned(tmp_path).close()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode = DELETE")
        connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION + 1}")
    before = path.read_bytes()
    file = LedgerFile(path)
    assert not file.write([(KEEP_USAGE, [(NOW, "m", "u", None, 1, 1, None, None, None, "p")])])
    assert file.read("SELECT * FROM usage") == []
    file.close()
    assert path.read_bytes() == before
    assert [one.name for one in tmp_path.iterdir()] == [LEDGER_NAME]
    assert "a newer version of Partstream has written it (tables 3, this version knows 2)" in caplog.text


# ---- links and rights ----


def _other_database(path: Path) -> bytes:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE precious (a)")
        connection.execute("INSERT INTO precious VALUES (1)")
        connection.commit()
    return path.read_bytes()


def _other_text(path: Path) -> bytes:
    path.write_text("precious")
    return path.read_bytes()


@posix
@pytest.mark.parametrize("make", [_other_database, _other_text])
def test_a_link_to_another_programs_file_leaves_every_byte_of_that_file(
    make: Callable[[Path], bytes], tmp_path: Path
) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "data").mkdir()
    foreign, path = tmp_path / "elsewhere" / "precious", tmp_path / "data" / LEDGER_NAME
    before = make(foreign)
    foreign.chmod(0o644)
    path.symlink_to(foreign)
    file = LedgerFile(path)
    assert file.write([(KEEP_USAGE, [(NOW, "m", "u", None, 1, 1, None, None, None, "p")])])
    file.close()
    assert foreign.read_bytes() == before
    assert stat.S_IMODE(foreign.stat().st_mode) == 0o644
    assert [one.name for one in foreign.parent.iterdir()] == ["precious"]
    assert not path.is_symlink()
    assert rows_of(path.parent, "usage") == 1


@posix
def test_a_link_to_nowhere_makes_no_file_there(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / LEDGER_NAME).symlink_to(tmp_path / "nowhere")
    file = LedgerFile(tmp_path / LEDGER_NAME)
    assert not file.write([(KEEP_USAGE, [(NOW, "m", "u", None, 1, 1, None, None, None, "p")])])
    file.close()
    assert not (tmp_path / "nowhere").exists()
    assert "it cannot be used" in caplog.text


@posix
def test_a_link_to_a_ledger_is_used(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    _poisoned(tmp_path / "elsewhere").close()
    (tmp_path / LEDGER_NAME).symlink_to(tmp_path / "elsewhere" / LEDGER_NAME)
    file = LedgerFile(tmp_path / LEDGER_NAME)
    assert file.write([(KEEP_USAGE, [(NOW, "m", "u", None, 1, 1, None, None, None, "p")])])
    file.close()
    assert rows_of(tmp_path / "elsewhere", "usage") == 9


@posix
@pytest.mark.parametrize("mode", [0o666, 0o644, 0o777])
def test_an_existing_ledger_is_made_the_users_alone(mode: int, tmp_path: Path) -> None:
    path = tmp_path / LEDGER_NAME
    path.touch()
    path.chmod(mode)
    before = os.umask(0)
    try:
        file = LedgerFile(path)
        assert file.write([(KEEP_USAGE, [(NOW, "m", "u", None, 1, 1, None, None, None, "p")])])
        modes = {one.name: stat.S_IMODE(one.stat().st_mode) & 0o077 for one in tmp_path.iterdir()}
        file.close()
    finally:
        os.umask(before)
    assert len(modes) == 3
    assert set(modes.values()) == {0}


@posix
def test_a_pipe_in_its_place_is_put_aside(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / LEDGER_NAME)
    file = LedgerFile(tmp_path / LEDGER_NAME)
    assert file.write([(KEEP_USAGE, [(NOW, "m", "u", None, 1, 1, None, None, None, "p")])])
    file.close()
    assert rows_of(tmp_path, "usage") == 1


@pytest.mark.parametrize("name", ["space and ü", "100% {a} #1?b&c=d", "日本 'q\";--"])
def test_any_folder_holds_a_ledger(name: str, tmp_path: Path) -> None:
    if sys.platform == "win32":
        name = "".join(letter for letter in name if letter not in '?"')
    file = LedgerFile(tmp_path / name / LEDGER_NAME)
    assert file.write([(KEEP_USAGE, [(NOW, "m", "u", None, 1, 1, None, None, None, "p")])])
    file.close()
    assert rows_of(tmp_path / name, "usage") == 1
    assert integrity_of(tmp_path / name) == "ok"


def test_a_relative_folder_holds_a_ledger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    file = LedgerFile(Path("here") / LEDGER_NAME)
    assert file.write([(KEEP_USAGE, [(NOW, "m", "u", None, 1, 1, None, None, None, "p")])])
    file.close()
    assert rows_of(tmp_path / "here", "usage") == 1


# ---- other people's SQL ----

SQL = {
    "a view instead of a table": ("DROP TABLE usage", "CREATE VIEW usage AS SELECT 1 AS time"),
    "a trigger that refuses rows": (
        "CREATE TRIGGER no BEFORE INSERT ON usage BEGIN SELECT RAISE(ABORT, 'no'); END",
    ),
    "a trigger that runs a function": (
        "CREATE TRIGGER f AFTER INSERT ON usage BEGIN SELECT load_extension('/nowhere/evil'); END",
    ),
    "a column of another name": ("ALTER TABLE usage RENAME COLUMN cost TO price",),
    "an index that takes a name once": ("DELETE FROM usage WHERE id > 1", "CREATE UNIQUE INDEX o ON usage (process)"),
}  # fmt: skip


@pytest.mark.parametrize("statements", SQL.values(), ids=SQL)
def test_a_ledger_with_sql_of_somebody_else_is_put_aside_and_begun_anew(
    statements: tuple[str, ...], tmp_path: Path
) -> None:
    path = tmp_path / LEDGER_NAME
    _poisoned(tmp_path).close()
    with closing(sqlite3.connect(path)) as connection:
        for statement in statements:
            connection.execute(statement)
        connection.commit()
    file = LedgerFile(path)
    assert file.write([(KEEP_USAGE, [(NOW, "m", "u", None, 1, 1, None, None, None, "p")])])
    file.close()
    assert rows_of(tmp_path, "usage") == 1
    assert (tmp_path / f"{LEDGER_NAME}.aside-1").exists()


def test_a_row_with_the_largest_number_that_there_is_hides_no_later_row(tmp_path: Path) -> None:
    file = _poisoned(tmp_path)
    others = UsageOfOthers()
    assert len(others.read(file, LONG_AGO, "own")) == 4
    file.write([("UPDATE usage SET id = 9223372036854775807 WHERE model = 'sound'", [()])])
    assert others.read(file, LONG_AGO, "own") == []
    assert file.write([(KEEP_USAGE, [(NOW, "m", "u", None, 1, 1, None, None, None, "p")])])
    assert [row.model for row in others.read(file, LONG_AGO, "own")] == ["m"]
    file.close()


def test_a_folder_that_is_a_file_keeps_learned_numbers_in_memory(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("precious")
    ledger = Ledger(tmp_path / "data" / LEDGER_NAME)
    ledger.keep_sample("f", Sample(1.5, 200))
    ledger.keep_usage(_usage())
    ledger.flush()
    assert ledger.samples("f") == (Sample(1.5, 200),)
    ledger.close()
    assert (tmp_path / "data").read_text() == "precious"


def test_two_versions_side_by_side_leave_each_others_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The older one waits beside the file of the newer one; the newer one goes on as if the older were not there."""
    row = (NOW, "m", "u", None, 1, 1, None, None, None, "p")
    with monkeypatch.context() as newer:
        newer.setattr("partstream.tokens.ledger_file.SCHEMA_VERSION", SCHEMA_VERSION + 1)
        new = LedgerFile(tmp_path / LEDGER_NAME)
        assert new.write([(KEEP_USAGE, [row])])
    old = LedgerFile(tmp_path / LEDGER_NAME)
    for _ in range(3):
        assert not old.write([(KEEP_USAGE, [row])])
        assert new.write([(KEEP_USAGE, [row])])
    old.close()
    new.close()
    assert rows_of(tmp_path, "usage") == 4
    assert [one.name for one in tmp_path.iterdir()] == [LEDGER_NAME]


def test_rows_of_many_answers_take_few_statements(tmp_path: Path) -> None:
    file = LedgerFile(tmp_path / LEDGER_NAME)
    file.write([(KEEP_USAGE, [(NOW, "m", "u", None, 1, 1, None, None, None, "p")])])
    said: list[str] = []
    file._opened().set_trace_callback(said.append)
    file.write([(KEEP_USAGE, [(NOW, "m", "u", None, 1, 1, None, None, None, "p")]) for _ in range(101)])
    assert file.read("SELECT COUNT(*) FROM usage") == [(102,)]
    assert sum(one.startswith("INSERT") for one in said) < 10
    file.close()


def test_a_ledger_whose_disk_is_too_slow_keeps_the_newest_rows_and_the_log_says_how_many_are_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("partstream.tokens.ledger_file._MOST_UNWRITTEN", 10)
    ledger, disk_is_free = Ledger(tmp_path / LEDGER_NAME), threading.Event()
    assert ledger._thread is not None
    ledger._thread.submit(disk_is_free.wait, 20)
    with caplog.at_level("WARNING", "partstream.tokens"):
        for number in range(25):  # this never waits, whatever the thread does
            ledger.keep_usage(UsageRow(NOW + number, f"m{number}", "u", None, 1, 1, None, None, None))
            ledger.flush()
        disk_is_free.set()
        ledger.close()
    kept = [row.model for row in read_usage_rows(LedgerFile(tmp_path / LEDGER_NAME), date(2020, 1, 1))]
    assert sorted(kept) == [f"m{number}" for number in range(15, 25)]
    assert [record.message for record in caplog.records] == [
        "15 rows are lost: the disk of the token ledger is too slow, or full"
    ]
