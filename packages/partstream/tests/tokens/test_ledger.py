"""What a ledger remembers through restarts, how much, and who may read it."""

import sqlite3
import stat
import sys
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest

from partstream import ChatMessage, Usage
from partstream.codec.system import DATA
from partstream.tokens import CountSource
from partstream.tokens import ledger_file as schema
from partstream.tokens.accounting import TokenAccounting
from partstream.tokens.ledger import LEDGER_NAME, Ledger, open_ledger
from partstream.tokens.ledger_file import LedgerFile, UsageOfOthers, clear_usage
from tokens.ledgers import CONVERSATION, MODEL, accounting_in, answer, expect, rows_of, settle

SECRETS = ("Be brief", "What is new", "conversation-of-mine", "my-tool")


def test_what_was_reported_is_known_after_a_restart(tmp_path: Path):
    with accounting_in(tmp_path) as before:
        answer(before, 777)
    with accounting_in(tmp_path) as after:
        estimate = expect(after)
        assert (estimate.total.tokens, estimate.total.source) == (777, CountSource.REPORTED)
        assert estimate.reported_messages == len(CONVERSATION)
        assert after.factor(MODEL.family) == before.factor(MODEL.family) != 1


def test_after_a_restart_nothing_is_counted_that_was_counted_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    messages = [ChatMessage.user(f"message {number} " * 50) for number in range(2_000)]
    with accounting_in(tmp_path) as before:
        first = before.estimate_request(MODEL, messages)
        before.answered(first, Usage(output_tokens=1))  # nothing is reported of the input
    counted: list[ChatMessage] = []
    with accounting_in(tmp_path) as after:
        counter = after._scope(MODEL.family).counter
        monkeypatch.setattr(type(counter), "count_message", _watched(type(counter).count_message, counted))
        edited = [*messages[:1_000], ChatMessage.user("edited"), *messages[1_001:]]
        assert after.estimate_request(MODEL, messages).total == first.total
        assert counted == []
        after.estimate_request(MODEL, edited)
        assert counted == [edited[1_000]]


def _watched(function, seen):  # type: ignore[no-untyped-def]
    def watched(counter, message):  # type: ignore[no-untyped-def]
        seen.append(message)
        return function(counter, message)

    return watched


def test_a_ledger_that_is_closed_still_remembers_in_memory(tmp_path: Path):
    accounting = TokenAccounting("upstream", open_ledger(tmp_path))
    accounting.close()
    answer(accounting, 777)
    assert expect(accounting).total.tokens == 777
    accounting.close()
    assert list(tmp_path.iterdir()) == []


def test_without_a_file_nothing_is_written_and_all_is_known_as_long_as_the_object_lives():
    accounting = TokenAccounting("upstream", Ledger())
    answer(accounting, 777)
    assert expect(accounting).total.tokens == 777


def test_a_person_can_turn_the_file_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PARTSTREAM_LEDGER", "false")
    with accounting_in(tmp_path) as accounting:
        answer(accounting, 777)
        assert expect(accounting).total.tokens == 777
    assert list(tmp_path.iterdir()) == []


def test_limits_and_the_real_count_are_learned_from_a_refusal(tmp_path: Path):
    with accounting_in(tmp_path) as before:
        assert before.learned_limits().get(MODEL.id) is None
        before.overflowed(expect(before), limit=500, actual=613)
    with accounting_in(tmp_path) as after:
        assert after.learned_limits().get(MODEL.id) == 500
        assert expect(after).total.tokens == 613
    other = TokenAccounting("another upstream", open_ledger(tmp_path))
    assert other.learned_limits().get(MODEL.id) is None
    other.close()


def test_processes_learn_limits_from_each_other(tmp_path: Path):
    with accounting_in(tmp_path) as one, accounting_in(tmp_path) as other:
        assert other.learned_limits().get(MODEL.id) is None
        one.overflowed(expect(one), limit=500, actual=None)
        settle(one)
        assert other.learned_limits().get(MODEL.id) == 500
        assert other.took(MODEL, 501)
        answer(other, 501)
    with accounting_in(tmp_path) as later:
        assert later.learned_limits().get(MODEL.id) is None


def test_a_limit_is_found_when_a_file_that_could_not_be_read_can_be_read_again(tmp_path: Path):
    with accounting_in(tmp_path) as before:
        before.overflowed(expect(before), limit=500, actual=None)
    with accounting_in(tmp_path) as accounting:
        with closing(sqlite3.connect(tmp_path / LEDGER_NAME)) as another:
            another.execute("PRAGMA locking_mode = EXCLUSIVE")
            another.execute("BEGIN EXCLUSIVE")
            assert accounting.learned_limits().get(MODEL.id) is None
        settle(accounting)
        assert accounting.learned_limits().get(MODEL.id) == 500


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such rights; the folder is the user's own")
def test_only_the_user_may_read_it(tmp_path: Path):
    folder = tmp_path / "new" / "partstream"
    with accounting_in(folder) as accounting:
        answer(accounting, 777)
        expect(accounting)
        settle(accounting)
        files = list(folder.iterdir())
        assert {stat.S_IMODE(path.stat().st_mode) for path in files} == {0o600}
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_it_holds_digests_and_numbers_and_no_word_of_any_conversation(tmp_path: Path):
    with accounting_in(tmp_path) as accounting:
        estimate = expect(accounting, "sk-planted-0123456789")
        accounting.answered(estimate, Usage(input_tokens=777, output_tokens=1), conversation="conversation-of-mine")
    content = (tmp_path / LEDGER_NAME).read_bytes()
    assert b"made-up" in content  # names of families and models are in it
    for secret in (*SECRETS, "sk-planted", "upstream.example"):
        assert secret.encode() not in content


def test_it_does_not_grow_beyond_its_bounds_and_the_rows_used_last_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setitem(schema.CAPACITIES, "counts", (100, "used"))
    monkeypatch.setattr("partstream.tokens.ledger_file._TRIMMED_EVERY", 1)
    for day in range(20):
        monkeypatch.setattr("partstream.tokens.ledger._today", lambda day=day: 20_000 + day)
        with accounting_in(tmp_path) as accounting:
            messages = [ChatMessage.user(f"{day} {number}") for number in range(20)]
            estimate = accounting.estimate_request(MODEL, [*CONVERSATION, *messages])
            accounting.answered(estimate, Usage(output_tokens=1))
            settle(accounting)
            assert rows_of(tmp_path, "counts") <= 100 + 23
    ledger = Ledger(tmp_path / LEDGER_NAME)
    digests = [item.digest for item in estimate.items]
    assert all(ledger.counts(digests).values())  # the last, and what every day used
    ledger.close()


def test_counting_another_way_keeps_what_was_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    with accounting_in(tmp_path) as before:
        answer(before, 777)
    monkeypatch.setattr("partstream.tokens.accounting.__version__", "99.0")
    with accounting_in(tmp_path) as after:
        alone = after.estimate_request(MODEL, CONVERSATION[:1])
        (message,) = [item for item in alone.items if item.digest != alone.tools_digest]
        assert message.is_reported
        assert message.row.version.startswith("99.0")


def test_damaged_numbers_are_not_believed(tmp_path: Path):
    with accounting_in(tmp_path) as before:
        answer(before, 777)
    file = LedgerFile(tmp_path / LEDGER_NAME)
    for table, column in (("counts", "counted"), ("counts", "reported"), ("totals", "reported"), ("samples", "ratio")):
        for value in (-5, 1e300, "many", b"\0"):
            assert file.write([(f"UPDATE {table} SET {column} = ?", [(value,)])])  # noqa: S608
            with accounting_in(tmp_path) as after:
                assert 0 < expect(after).total.tokens < 10_000
    file.close()


@pytest.mark.parametrize(
    ("platform", "variables", "expected"),
    [
        ("linux", {"XDG_DATA_HOME": "/data"}, "/data/partstream"),
        ("linux", {}, "~/.local/share/partstream"),
        ("darwin", {}, "~/Library/Application Support/partstream"),
        ("win32", {"LOCALAPPDATA": "/local"}, "/local/partstream"),
        ("linux", {"PARTSTREAM_DATA": "/mine", "XDG_DATA_HOME": "/data"}, "/mine"),
    ],
)
def test_it_lies_where_the_system_keeps_what_programs_remember(
    platform: str, variables: dict[str, str], expected: str, monkeypatch: pytest.MonkeyPatch
):
    for name in ("XDG_DATA_HOME", "LOCALAPPDATA", "PARTSTREAM_DATA"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("sys.platform", platform)
    assert DATA.path() == Path(expected).expanduser()


def test_the_usage_of_others_is_read_once_and_without_ones_own(tmp_path: Path):
    others, file, today = UsageOfOthers(), LedgerFile(tmp_path / LEDGER_NAME), datetime.now(UTC).astimezone().date()

    def new(own: TokenAccounting) -> list[int | None]:
        return [row.input_tokens for row in others.read(file, today, own._ledger.name)]

    with accounting_in(tmp_path) as one, accounting_in(tmp_path) as other:
        for accounting, reported in ((one, 701), (other, 702), (one, 703)):
            answer(accounting, reported)
            settle(accounting)
        assert new(one) == [702]
        assert new(one) == []
        answer(other, 704)
        settle(other)
        assert new(one) == [704]
        assert clear_usage(file)
        answer(other, 705)
        settle(other)
        assert new(one) == [705]
    file.close()
