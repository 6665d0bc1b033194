"""`partstream usage` as a process, on a ledger that answers have filled."""

import json
import sys
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from commands import call, call_process, run
from partstream import Usage
from partstream.server.clients import AnswerKind, ClientClass, RequestClient
from partstream.server.settings import AnswerObservation
from partstream.server.telemetry import open_answer_ledger
from partstream.tokens.accounting import TokenAccounting
from partstream.tokens.ledger import LEDGER_NAME, open_ledger
from partstream.tokens.ledger_file import COUNT_COMPLETIONS, LedgerFile
from partstream.tokens.records import LimitRow
from partstream.upstream.configuration import Limits, fingerprint_of
from partstream.upstream.spending import FILE_NAME, SpendingFile, Taken
from rows import one_test_for

TODAY = datetime.now(UTC).astimezone().replace(hour=12)
DAY = timedelta(days=1)


def _fill(folder: Path, *answers: tuple[int, str, Usage, float | None]) -> None:
    """Answers, each so many days ago."""
    ago = [number for number, *_ in answers]
    clock = iter([(TODAY - number * DAY).timestamp() for number in ago])
    accounting = TokenAccounting("upstream", open_ledger(folder), clock=lambda: next(clock))
    for _, model, usage, cost in answers:
        accounting.record_usage(model, usage, cost=cost)
    accounting.close()


def _serve(folder: Path, *answers: tuple[int, str, RequestClient, Usage, dict[str, Any]]) -> None:
    """Served answers, each so many days ago."""
    ledger = open_answer_ledger(folder)
    assert ledger is not None
    for ago, model, client, usage, more in answers:
        time = (TODAY - ago * DAY).timestamp()
        ledger.observe(
            AnswerObservation(time, "wire", model, "provider", 200, 1.0, "req", client=client, usage=usage, **more)
        )
    ledger.close()


def _day(ago: int) -> str:
    return (TODAY - ago * DAY).date().isoformat()


ANSWERS = (
    (40, "gpt-4o", Usage(input_tokens=1, output_tokens=1), None),
    (3, "gpt-4o", Usage(input_tokens=1_000, output_tokens=20, cached_tokens=600, reasoning_tokens=5), 0.25),
    (3, "gpt-4o", Usage(input_tokens=3_000, output_tokens=None), None),
    (3, "claude", Usage(input_tokens=500, output_tokens=50), None),
    (0, "gpt-4o", Usage(input_tokens=2_000, output_tokens=10, cached_tokens=0), 0.5),
)


async def _usage(folder: Path, *arguments: str, **environment: str) -> str:
    ended = await call("usage", *arguments, PARTSTREAM_DATA=str(folder), **environment)
    assert (ended.code, ended.errors) == (0, "")
    return ended.output


def test_totals_are_by_day_and_model_and_say_what_is_unknown(tmp_path: Path):
    _fill(tmp_path, *ANSWERS)

    async def test() -> None:
        rows: list[dict[str, Any]] = json.loads(await _usage(tmp_path, "--json"))
        assert [(row["day"], row["model"], row["answers"]) for row in rows] == [
            (_day(3), "claude", 1),
            (_day(3), "gpt-4o", 2),
            (_day(0), "gpt-4o", 1),
        ]
        assert rows[1] == {
            "day": _day(3),
            "model": "gpt-4o",
            "answers": 2,
            "inputTokens": 4_000,
            "outputTokens": 20,
            "cachedTokens": 600,
            "reasoningTokens": 5,
            "cost": 0.25,
            "cachedShare": 0.6,  # of the prompt of which it is known
            "unknown": {"outputTokens": 1, "cachedTokens": 1, "reasoningTokens": 1, "cost": 1},
        }
        assert (rows[0]["cachedTokens"], rows[0]["cost"], rows[0]["cachedShare"]) == (None, None, None)
        assert rows[2]["cachedShare"] == 0

    run(test())


def test_days_and_models_can_be_chosen(tmp_path: Path):
    _fill(tmp_path, *ANSWERS)

    async def test() -> None:
        assert len(json.loads(await _usage(tmp_path, "--json", "--days", "41"))) == 4
        assert len(json.loads(await _usage(tmp_path, "--json", "--days", "1"))) == 1
        (row,) = json.loads(await _usage(tmp_path, "--json", "--model", "cl*"))
        assert row["model"] == "claude"
        assert "No answer of a model that matches nobody/* in the last" in await _usage(tmp_path, "--model", "nobody/*")

    run(test())


@pytest.mark.parametrize(("encoding", "bar"), [("utf-8", "▓"), ("ascii", "#")])
def test_people_get_a_table_and_a_bar_for_each_day(encoding: str, bar: str, tmp_path: Path):
    _fill(tmp_path, *ANSWERS)

    async def test() -> None:
        variables = {"PARTSTREAM_DATA": str(tmp_path), "PYTHONIOENCODING": encoding, "PYTHONUTF8": "0", "COLUMNS": "80"}
        ended = await call_process("usage", **variables)
        assert (ended.code, ended.errors) == (0, "")
        lines = [line.rstrip() for line in ended.output.splitlines()]
        (gpt,) = [line for line in lines if "gpt-4o" in line and "4,000" in line]
        assert gpt.split() == ["gpt-4o", "2", "4,000", "60%", "20+", "$0.2500+"]
        (everything,) = [line for line in lines if line.startswith("all")]
        assert everything.split() == ["all", "4", "6,500", "20%", "80+", "$0.7500+"]
        bars = [line for line in lines if line[:10] in {_day(ago) for ago in range(4)} and "$" not in line][-4:]
        assert [line.split()[-1] for line in bars] == ["4,570", _day(2), _day(1), "2,010"]
        assert bars[0].count(bar) > bars[3].count(bar) > 0
        assert max(len(line) for line in lines) <= 80

    run(test())


def test_without_any_answer_it_says_so_and_makes_no_file(tmp_path: Path):
    async def test() -> None:
        assert "No answer in the last 30 days" in await _usage(tmp_path)
        assert json.loads(await _usage(tmp_path, "--json")) == []
        assert "No usage is recorded." in await _usage(tmp_path, "--clear")
        assert list(tmp_path.iterdir()) == []

    run(test())


COMPLETIONS = "Completions today: 3 shown, 2 accepted. Completions in 30 days: 8 shown, 3 accepted."


def _complete(folder: Path) -> None:
    """Completions of today, and of three days ago."""
    file = LedgerFile(folder / LEDGER_NAME)
    assert file.write([(COUNT_COMPLETIONS, [(_day(3), 5, 1), (_day(0), 2, 2), (_day(0), 1, 0), (_day(40), 1, 1)])])
    file.close()


@one_test_for(
    ("answers", "options", "is_shown"),
    [
        (ANSWERS, [], True),
        ((), [], True),
        (ANSWERS, ["--html", "-"], True),
        (ANSWERS, ["--model", "gpt-4o"], False),  # they are of no model
        (ANSWERS, ["--by", "client"], False),
    ],
)
def test_completions_are_counted_below_all_answers(answers, options, is_shown, tmp_path):
    folder = tmp_path / str(len(answers)) / "-".join(["_", *options])
    folder.mkdir(parents=True)
    _fill(folder, *answers)
    _complete(folder)

    async def test() -> None:
        assert (COMPLETIONS in await _usage(folder, *options)) is is_shown

    run(test())


def test_clearing_forgets_the_usage_and_nothing_else(tmp_path: Path):
    _fill(tmp_path, *ANSWERS)
    ledger = open_ledger(tmp_path)
    ledger.keep_limit("u", "m", LimitRow(7, 1.0))
    ledger.close()
    _complete(tmp_path)

    async def test() -> None:
        refused = await call("usage", "--clear", typed="n\n", PARTSTREAM_DATA=str(tmp_path))
        assert refused.code == 1
        assert len(json.loads(await _usage(tmp_path, "--json"))) == 3
        assert "The usage of all answers was deleted." in await _usage(tmp_path, "--clear", "--yes")
        assert json.loads(await _usage(tmp_path, "--json", "--days", "100")) == []
        assert "Completions" not in await _usage(tmp_path)

    run(test())
    ledger = open_ledger(tmp_path)
    assert ledger.limits("u") == {"m": LimitRow(7, 1.0)}
    ledger.close()


def test_a_file_that_is_broken_is_no_error(tmp_path: Path):
    (tmp_path / LEDGER_NAME).write_bytes(b"broken" * 1_000)

    async def test() -> None:
        ended = await call_process("usage", PARTSTREAM_DATA=str(tmp_path))  # which has no logging of a test
        assert ended.code == 0
        assert "No answer" in ended.output
        assert "it was renamed to" in ended.errors

    run(test())


def test_names_of_models_are_shown_as_text(tmp_path: Path):
    _fill(tmp_path, (0, "[red]x[/red]\x1b[2J", Usage(input_tokens=5, output_tokens=1), None))

    async def test() -> None:
        output = await _usage(tmp_path)
        assert "[red]x[/red]" in output
        assert "\x1b" not in output

    run(test())


def test_the_answers_of_one_profile_can_be_shown_alone(tmp_path: Path):
    file = tmp_path / "mine.toml"
    file.write_text('[profiles.work]\nbaseUrl = "https://w/v1"\n[profiles.bare]\nthinking = "off"\n')
    for url in ("https://w/v1/", "https://other/v1"):
        accounting = TokenAccounting(fingerprint_of("openresponses", url), open_ledger(tmp_path))
        accounting.record_usage(f"model of {url}", Usage(input_tokens=1))
        accounting.close()

    async def test() -> None:
        variables = {"PARTSTREAM_CONFIG": str(file), "PARTSTREAM_PROFILE": "work"}
        everything = json.loads(await _usage(tmp_path, "--json", **variables))
        assert len(everything) == 2
        (row,) = json.loads(await _usage(tmp_path, "--json", "--profile", "work", **variables))
        assert row["model"] == "model of https://w/v1/"
        for name, says in (("wrk", "did you mean work?"), ("bare", "names no base URL")):
            refused = await call("usage", "--profile", name, PARTSTREAM_DATA=str(tmp_path), **variables)
            assert refused.code == 2
            assert says in refused.errors

    run(test())


CODEX = RequestClient("codex", "0.169.0", ClientClass.AGENT, "session-1", "turn-1")
OPENCODE = RequestClient("opencode", "1.18.33", ClientClass.AGENT, "ses_2")
SERVED: tuple[tuple[int, str, RequestClient, Usage, dict[str, Any]], ...] = (
    (1, "parrot", CODEX, Usage(100, 10), {}),
    (1, "parrot", replace(CODEX, session="session-2", retry=1), Usage(200, 20), {}),
    (0, "gpt-4o", OPENCODE, Usage(2_000, 10), {"is_usage_kept": True, "cost": 0.5}),
    (0, "parrot", replace(OPENCODE, kind=AnswerKind.TITLE), Usage(30, 3), {}),
)


def test_served_answers_are_shown_by_client_and_by_session(tmp_path: Path):
    _serve(tmp_path, *SERVED)

    async def test() -> None:
        rows = json.loads(await _usage(tmp_path, "--by", "client", "--json"))
        shown = [
            [row[name] for name in ("day", "client", "model", "answers", "inputTokens", "repeated")] for row in rows
        ]
        assert shown == [
            [_day(1), "codex", "parrot", 2, 300, 1],
            [_day(0), "opencode", "gpt-4o", 1, 2_000, 0],
            [_day(0), "opencode: title", "parrot", 1, 30, 0],
        ]
        assert rows[1]["cost"] == 0.5
        rows = json.loads(await _usage(tmp_path, "--by", "session", "--json", "--model", "par*"))
        assert [(row["client"], row["session"], row["outputTokens"]) for row in rows] == [
            ("codex", "session-1", 10),
            ("codex", "session-2", 20),
            ("opencode: title", "ses_2", 3),
        ]

    run(test())


def test_answers_that_were_served_from_a_server_of_others_are_added_up_once(tmp_path: Path):
    _fill(tmp_path, *ANSWERS)
    _serve(tmp_path, *SERVED)

    async def test() -> None:
        rows = json.loads(await _usage(tmp_path, "--json", "--days", "2"))
        assert [(row["day"], row["model"], row["answers"], row["inputTokens"]) for row in rows] == [
            (_day(1), "parrot", 2, 300),
            (_day(0), "gpt-4o", 1, 2_000),
            (_day(0), "parrot", 1, 30),
        ]

    run(test())


def test_people_see_who_asked_and_what_was_repeated(tmp_path: Path):
    _serve(tmp_path, *SERVED)

    async def test() -> None:
        said = await _usage(tmp_path, "--by", "client")
        assert [line.split() for line in said.splitlines() if "codex" in line] == [
            [_day(1), "codex", "parrot", "2", "300", "–", "30", "–"]
        ]
        assert "1 of these requests were retries" in said

    run(test())


def test_clearing_forgets_served_answers_too(tmp_path: Path):
    _serve(tmp_path, *SERVED)

    async def test() -> None:
        await _usage(tmp_path, "--clear", "--yes")
        assert json.loads(await _usage(tmp_path, "--by", "client", "--json")) == []

    run(test())


def test_who_asked_is_not_known_of_a_profile(tmp_path: Path):
    async def test() -> None:
        ended = await call("usage", "--by", "client", "--profile", "work", PARTSTREAM_DATA=str(tmp_path))
        assert ended.code == 2
        assert "--profile: the client is known only for answers that `partstream serve` gave" in ended.errors

    run(test())


def test_the_page_is_a_file_for_its_owner_alone(tmp_path: Path):
    _fill(tmp_path, *ANSWERS)
    out = tmp_path / "pages" / "usage.html"

    async def test() -> None:
        assert await _usage(tmp_path, "--html", str(out)) == f"The page is in {out}\n"
        page = out.read_text(encoding="utf-8")
        assert "6,500" in page
        assert ">claude<" in page
        assert "script-src 'none'" in page
        if sys.platform != "win32":
            assert out.stat().st_mode & 0o777 == 0o600
        assert await _usage(tmp_path, "--html", "-", "--model", "cl*") != page
        assert "gpt-4o" not in await _usage(tmp_path, "--html", "-", "--model", "cl*")

    run(test())


def test_the_page_names_the_clients_of_served_answers_once(tmp_path: Path):
    _serve(tmp_path, (0, "own", CODEX, Usage(input_tokens=7, output_tokens=3), {}))
    _serve(tmp_path, (0, "kept", CODEX, Usage(input_tokens=9, output_tokens=3), {"is_usage_kept": True}))

    async def test() -> None:
        page = await _usage(tmp_path, "--html", "-")
        assert ">codex<" in page
        assert ">own<" in page
        assert ">kept<" not in page

    run(test())


def test_without_a_file_the_page_opens_in_the_browser(tmp_path: Path):
    _fill(tmp_path, *ANSWERS)
    opened = tmp_path / "opened"
    browser = tmp_path / "browser"
    browser.write_text(f'#!{sys.executable}\nimport sys\nopen({str(opened)!r}, "w").write(sys.argv[1])\n')
    browser.chmod(0o755)

    async def test() -> None:
        variables = {"PARTSTREAM_DATA": str(tmp_path), "PARTSTREAM_CACHE": str(tmp_path / "cache")}
        ended = await call_process("usage", "--html", **variables, BROWSER=f"{browser} %s")
        assert ended.code == 0, ended.errors
        path = tmp_path / "cache" / "token-usage.html"
        assert ended.output == f"The page is in {path}\n"
        assert opened.read_text() == path.as_uri()

    run(test())


@pytest.mark.parametrize("other", [["--json"], ["--clear"], ["--by", "client"]])
def test_the_page_goes_with_no_other_form(other: list[str], tmp_path: Path):
    async def test() -> None:
        ended = await call("usage", "--html", "-", *other, PARTSTREAM_DATA=str(tmp_path))
        assert ended.code == 2
        assert "leave out --json, --clear and --by" in ended.errors

    run(test())


def test_a_page_that_cannot_be_written_is_said(tmp_path: Path):
    async def test() -> None:
        ended = await call("usage", "--html", str(tmp_path), PARTSTREAM_DATA=str(tmp_path / "data"))
        assert ended.code == 1
        assert f"cannot write {tmp_path}" in ended.errors

    run(test())


def test_a_missing_price_and_the_budget_in_force_are_named(tmp_path: Path):
    _fill(tmp_path, *ANSWERS)
    file, limits = SpendingFile(tmp_path / FILE_NAME), Limits("5 USD/day")
    begun = file.begin(limits, "any server", Taken(10**9, 1))
    assert isinstance(begun, str)
    file.end(begun, "any server", Taken(12 * 10**8, 1))
    file.close()

    async def test() -> None:
        output = await _usage(tmp_path, PARTSTREAM_BUDGET="5 USD/day")
        assert "–: no price is known; the setting `prices` sets one." in " ".join(output.split())
        assert "Your budget: 1.20 USD of 5 USD/day" in output
        assert "budget" not in await _usage(tmp_path)

    run(test())


def test_a_user_without_a_home_and_a_folder_closed_to_him_end_a_command_with_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def closed(path: Path) -> bool:
        raise PermissionError(13, "Permission denied", str(path))

    async def check() -> None:
        monkeypatch.setattr(Path, "is_file", closed)
        ended = await call("usage", PARTSTREAM_DATA=str(tmp_path))
        assert (ended.code, ended.errors.splitlines()[-1]) == (2, f"Error: {tmp_path / LEDGER_NAME}: Permission denied")
        monkeypatch.setattr("os.path.expanduser", lambda path: path)  # as for a user whom the system does not know
        ended = await call("usage", PARTSTREAM_DATA="", XDG_DATA_HOME="")
        assert (ended.code, ended.errors.splitlines()[-1]) == (
            2,
            "Error: this user has no home folder: set HOME to one",
        )

    run(check())
