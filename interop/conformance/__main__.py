"""The command behind `make interop TRY=conformance`: tests software of others with the kit, and writes what each of
them breaks.

It ends with code 1 when a target could not be tested or the kit itself failed. What others break is no failure here.
"""

from __future__ import annotations
import json
import os
import subprocess
import sys
from collections import Counter
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final

import click
from rich.console import Console

from interop.conformance.table import TARGETS
from interop.servers.environments import ROOT, NotInstalledError
from interop.servers.foreign import environment_of
from interop.servers.processes import NotStartedError, free_port, running

if TYPE_CHECKING:
    from collections.abc import Iterator

    from interop.conformance.table import ForeignTarget
    from interop.servers.foreign import ForeignServer

_HERE: Final = Path(__file__).resolve().parent
_RESULTS: Final = _HERE / "results.json"
_LONGEST: Final = 600
_KIT_ERROR: Final = 3
_KEY: Final = "PARTSTREAM_TARGET_KEY"
_LAST_EVENTS: Final = 6
"""Events of a transcript that are kept of a broken check."""


@click.command()
@click.option("--only", multiple=True, help="The name of a target; repeat for more.")
@click.option("--write/--no-write", "is_written", default=True, help="Whether the results are written.")
@click.option("--reports", type=click.Path(path_type=Path), help="A folder for the whole reports, as JSON.")
def main(only: tuple[str, ...], is_written: bool, reports: Path | None) -> None:
    """Tests software of others against the contract."""
    console = Console()
    names = [target.name for target in TARGETS]
    chosen = [target for target in TARGETS if not only or target.name in only]
    if not chosen:
        raise click.UsageError(f"--only: expected one of {', '.join(names)}")
    with TemporaryDirectory() as folder:
        kept = reports or Path(folder)
        kept.mkdir(parents=True, exist_ok=True)
        results = {target.name: _result(target, kept, console) for target in chosen}
    if is_written:
        before = json.loads(_RESULTS.read_text(encoding="utf-8")) if _RESULTS.exists() else {}
        merged = {name: results.get(name) or before[name] for name in names if name in results or name in before}
        _RESULTS.write_text(json.dumps(merged, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    sys.exit(1 if any("failed" in wire for result in results.values() for wire in result["wires"].values()) else 0)


def _result(target: ForeignTarget, reports: Path, console: Console) -> dict[str, Any]:
    console.rule(f"{target.name}: {target.package}")
    said: dict[str, Any] = {"package": target.package, "kind": target.kind, "date": _today(), "wires": {}}
    try:
        target.environment.install()
        target.environment.install_ours()
    except NotInstalledError as error:
        console.print(f"left out: {error}", style="yellow", markup=False)
        return {**said, "skipped": str(error)}
    for protocol in target.protocols:
        path = reports / f"{target.name}-{protocol}.json".replace(" ", "-").lower()
        said["wires"][protocol] = found = _tested(target, protocol, path)
        console.print(f"  {protocol:20} {_line(found)}", markup=False, soft_wrap=True)
    return said


def _today() -> str:
    return datetime.now(UTC).date().isoformat()


def _tested(target: ForeignTarget, protocol: str, path: Path) -> dict[str, Any]:
    """The kit's result for a target in one of its protocols."""
    try:
        with _reachable(target, path) as (python, source, variables):
            arguments = ("--protocol", protocol, *target.arguments, "--json", str(path))
            arguments = (*arguments, "--failures", str(path.with_suffix("")))
            if target.server is not None:
                arguments = (
                    *arguments,
                    "--key-env",
                    _KEY,
                    "--model",
                    target.server.models.get("chat", target.server.model),
                )
            said = subprocess.run(
                [python, "-m", "partstream", "conformance", source, *arguments],
                cwd=ROOT,
                env={**os.environ, **variables},
                capture_output=True,
                text=True,
                timeout=_LONGEST,
                check=False,
            )
    except (NotStartedError, subprocess.TimeoutExpired) as error:
        return {"failed": str(error)}
    if not path.exists() or said.returncode == _KIT_ERROR:
        return {"failed": (said.stderr or said.stdout).strip()[-400:] or f"code {said.returncode}"}
    return _shortened(json.loads(path.read_text(encoding="utf-8")))


@contextmanager
def _reachable(target: ForeignTarget, path: Path) -> Iterator[tuple[str, str, dict[str, str]]]:
    """The Python that runs the kit, what it tests, and what it finds in its environment."""
    if target.server is None:
        path_of_modules = str(ROOT)
        yield target.python, str(_HERE / "providers" / target.provider), {"PYTHONPATH": path_of_modules}
        return
    with _started(target.server, path) as base_url:
        yield sys.executable, base_url, {_KEY: target.server.key or "none"}


@contextmanager
def _started(server: ForeignServer, path: Path) -> Iterator[str]:
    port, home = free_port(), path.parent / "home"
    home.mkdir(exist_ok=True)
    environment = environment_of(server, port, home, "http://127.0.0.1:1/v1")
    log = path.with_suffix(".log")
    with running(server.command(port), port, server.ready_path, server.folder, log, environment):
        yield f"http://127.0.0.1:{port}/v1"


def _shortened(report: dict[str, Any]) -> dict[str, Any]:
    """What the page shows of a report: the counts, and of each broken rule what came, where, and the end of it."""
    broken: dict[str, dict[str, Any]] = {}
    scenarios: Counter[str] = Counter()
    for check in report["checks"]:
        if check["verdict"] not in {"failed", "warning"}:
            continue
        scenarios[check["rule"]] += 1
        broken.setdefault(
            check["rule"],
            {
                "level": check["level"],
                "promise": check["promise"],
                "scenario": check["scenario"],
                "got": check["got"],
                "came": _came(report, check),
            },
        )
    for rule, found in broken.items():
        found["scenarios"] = scenarios[rule]
    return {"counts": report["counts"], "seconds": round(report["seconds"], 1), "broken": broken}


def _came(report: dict[str, Any], check: dict[str, Any]) -> list[str]:
    """The last events of the transcript of a check, of the smallest one that still breaks it if there is one."""
    minimal = Path(ROOT, check["minimal"] or "none")
    is_minimal = minimal.is_file()
    transcript = json.loads(minimal.read_text()) if is_minimal else report["transcripts"].get(check["transcript"])
    if transcript is None:
        return []
    answer = transcript["answers"][(transcript if is_minimal else check)["answer"] or 0]
    lines = [
        json.dumps({k: v for k, v in event.items() if k != "at"}, ensure_ascii=False) for event in answer["events"]
    ]
    return [line[:200] for line in lines[-_LAST_EVENTS:]]


def _line(found: dict[str, Any]) -> str:
    if "failed" in found:
        return f"could not be tested: {found['failed']}"
    counts = ", ".join(f"{count} {verdict}" for verdict, count in found["counts"].items() if count)
    return f"{counts}   {', '.join(found['broken'])}"


if __name__ == "__main__":
    main()
