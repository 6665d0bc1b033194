"""Checks the recordings of a repository, and reports what is wrong where a host of repositories shows it.

The settings are environment variables, because a text of a workflow must not become code: `FILES` (globs), `PROTOCOL`,
`TOOLS` and `ALLOW_FAILED`. `partstream check --json` judges. A line `::error …` becomes a mark at the file; the page of
the run (`GITHUB_STEP_SUMMARY`) gets a table. The exit code is 1 if a file is not fine, or if no file is found.
"""

from __future__ import annotations
import json
import os
import subprocess
import sys
from math import inf
from pathlib import Path
from typing import Any, Final

_UNUSED: Final = frozenset({".git", ".venv", "node_modules"})
_ROWS: Final = 200
"""The most rows of the table; the host shows a megabyte of it."""


def main() -> int:
    """Checks all files that the globs find."""
    globs = os.environ.get("FILES", "").split()
    files = sorted({path for glob in globs for path in Path().glob(glob) if _is_wanted(path)})
    if not files:
        print(f"::error title=No recordings::{_escaped('no file matches ' + (' '.join(globs) or 'nothing'))}")
        return 1
    reports = [report for path in files for report in _reports(path)]
    wrong = {report["file"]: problem for report in reports if (problem := _problem(report)) is not None}
    for file, (title, detail) in wrong.items():
        name, _, answer = file.partition("#")
        where = f"answer {answer}: " if answer else ""
        print(f"::error file={_escaped(name, ',:')},title={_escaped(title, ',:')}::{_escaped(where + detail)}")
    total = f"{len(reports)} answer{'s' * (len(reports) != 1)} checked, {len(wrong) or 'none'} wrong"
    print(total)
    if summary := os.environ.get("GITHUB_STEP_SUMMARY"):
        with Path(summary).open("a", encoding="utf-8") as page:
            page.write(_table(total, wrong))
    return 1 if wrong else 0


def _is_wanted(path: Path) -> bool:
    return path.is_file() and not _UNUSED.intersection(path.parts)


def _reports(path: Path) -> list[dict[str, Any]]:
    """The reports of the answers in a file; of a file that cannot be read, one with the reason."""
    options = ["--json"]
    if protocol := os.environ.get("PROTOCOL"):
        options += ["--protocol", protocol]
    for tool in os.environ.get("TOOLS", "").split():
        options += ["--tool", tool]
    command = [sys.executable, "-m", "partstream", "check", *options, "--", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", check=False)  # noqa: S603
    reports = [json.loads(line) for line in done.stdout.splitlines()]
    return reports or [{"file": str(path), "error": {"message": done.stderr.strip()}}]


def _problem(report: dict[str, Any]) -> tuple[str, str] | None:
    """The first broken rule and what broke it; else why the answer has none or no end; None if it is fine."""
    if broken := [rule for rule in report.get("rules", ()) if rule["verdict"] == "broken"]:
        rule = min(broken, key=lambda rule: inf if rule["first_part"] is None else rule["first_part"])
        return rule["id"], "; ".join(rule["details"])
    error = report["error"]
    if "rules" not in report:
        return "cannot be read", error["message"]
    if report["outcome"] in ("completed", "incomplete") or os.environ.get("ALLOW_FAILED") == "true":
        return None
    return report["outcome"], error["message"] if error else "the stream has no end"


def _table(total: str, wrong: dict[str, tuple[str, str]]) -> str:
    rows = [f"### {total}", ""]
    if wrong:
        rows += ["| recording | first broken rule | what broke it |", "|---|---|---|"]
        rows += [f"| {_cell(file)} | {_cell(title)} | {_cell(detail)} |" for file, (title, detail) in wrong.items()][
            :_ROWS
        ]
    if len(wrong) > _ROWS:
        rows.append(f"| and {len(wrong) - _ROWS} more | | |")
    return "\n".join(rows) + "\n"


def _cell(text: str) -> str:
    """A text as it is, in a cell of a table: no mark of Markdown counts in it."""
    return "".join(f"&#{ord(letter)};" if letter in "|<>&`*_[]\\!" or letter < " " else letter for letter in text[:500])


def _escaped(text: str, more: str = "") -> str:
    """A text in a command of the host: a line or a sign of such a command in a recording is none."""
    return "".join(f"%{ord(letter):02X}" if letter in "%\r\n" + more else letter for letter in text)


if __name__ == "__main__":
    sys.exit(main())
