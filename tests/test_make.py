"""The targets of the Makefile, and the help that lists them."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parents[1]
MAKEFILE = (PROJECT / "Makefile").read_text(encoding="utf-8")


needs_make = pytest.mark.skipif(shutil.which("make") is None, reason="there is no make")


@needs_make
def test_the_extension_says_what_is_missing_where_there_is_no_npm(tmp_path: Path):
    stamp = tmp_path / "installed"
    run = subprocess.run(
        [shutil.which("make") or "make", f"NODE_STAMP={stamp}", str(stamp)],
        cwd=PROJECT,
        env={"PATH": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=20,
        check=False,
    )
    assert run.returncode != 0
    assert "npm is missing: the extension needs Node 20 or newer" in run.stderr
    assert "Traceback" not in run.stderr


def test_packing_says_what_is_missing_where_there_is_no_npm(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.syspath_prepend(PROJECT / "tools")
    import build_vsix

    monkeypatch.setenv("PATH", "")
    with pytest.raises(build_vsix.BuildError, match="npm is missing"):
        build_vsix._run("npm", "run")


@pytest.mark.skipif(sys.platform == "win32", reason="the script is one of a shell")
def test_packing_runs_npm_by_the_name_under_which_it_is_found(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    """On Windows it is `npm.cmd`, which no process is started from by the name `npm`."""
    monkeypatch.syspath_prepend(PROJECT / "tools")
    import build_vsix

    script = tmp_path / "npm.cmd"
    script.write_text(f"#!/bin/sh\necho $1 > {tmp_path}/asked\n")
    script.chmod(0o755)
    monkeypatch.setattr("shutil.which", lambda name: str(script) if name == "npm" else None)
    build_vsix._run("npm", "run", folder=tmp_path)
    assert (tmp_path / "asked").read_text() == "run\n"


def _made(*arguments: str) -> subprocess.CompletedProcess[str]:
    # Not as a part of the make that may run the tests: that would say which folder it enters, and what it makes.
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}
    command = ["make", *arguments]
    return subprocess.run(
        command, cwd=PROJECT, env=environment, capture_output=True, text=True, timeout=20, check=False
    )


def _values(name: str) -> list[str]:
    """The values in a variable of the Makefile."""
    return _made("--silent", "--eval", f"shown: ; @echo $({name})", "shown").stdout.split()


def _helped() -> dict[str, list[str]]:
    """The targets that the help lists, each with its sentence and the lines of its parameters."""
    helped: dict[str, list[str]] = {}
    for line in _made("help").stdout.splitlines():
        if not line.startswith("   "):
            target, sentence = line.split(maxsplit=1)
            helped[target] = [sentence]
        else:
            helped[list(helped)[-1]].append(line.strip())
    return helped


@needs_make
@pytest.mark.parametrize("goal", [[], ["help"]])
def test_make_alone_lists_the_targets_with_one_sentence_each(goal: list[str]):
    listed = _made(*goal).stdout
    assert all(len(line) <= 132 for line in listed.splitlines())
    assert listed == _made("help").stdout
    documented = set(re.findall(r"^([a-z0-9-]+):.* ## ", MAKEFILE, re.MULTILINE))
    assert set(_helped()) == documented
    assert len(documented) <= 19, "a target more: may it be a value of PART, TRY or WHAT?"
    assert all(lines[0][0].isupper() for lines in _helped().values())


@needs_make
@pytest.mark.parametrize(
    ("target", "parameter", "variable", "rule"),
    [
        ("test", "PART", "PARTS", "test-"),
        ("bench", "WHAT", "BENCHES", "bench-"),
        ("interop", "TRY", "TRIES", "try-"),
        ("lock", "WHAT", "LOCKED", "lock-"),
        ("pictures", "WHAT", "PICTURES", ""),
        ("real", "IN", "REALS", ""),
    ],
)
def test_the_help_names_every_value_of_a_parameter_and_each_has_a_rule(
    target: str, parameter: str, variable: str, rule: str
):
    named = re.findall(rf"\b{parameter}=([a-z|]+)", " ".join(_helped()[target]))
    values = _values(variable)
    assert sorted("|".join(named).split("|")) == sorted(values)
    table = {"bench-": "BENCH", "try-": "TRY", "lock-": "LOCKS"}.get(rule)
    for value in values if rule else ():
        assert re.search(rf"^{rule}{value}:", MAKEFILE, re.MULTILINE) or (table and _values(f"{table}_{value}"))


@needs_make
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["test", "PART=nothing"], "PART=nothing is unknown: say one of python extension"),
        (["bench", "WHAT=nothing"], "WHAT=nothing is unknown: say one of streams serve"),
        (["interop", "TRY=servers nothing"], "TRY=nothing is unknown: say one of servers gateways served"),
        (["interop"], "say what to try: TRY= and one or more of servers gateways served"),
        (["lock", "WHAT=nothing"], "WHAT=nothing is unknown: say one of conformance"),
        (["pictures", "WHAT=nothing"], "WHAT=nothing is unknown: say one of pages"),
    ],
)
def test_an_unknown_value_ends_with_the_known_ones_before_anything_is_installed(arguments: list[str], said: str):
    run = _made(*arguments)
    assert run.returncode == 2
    assert run.stdout == ""
    assert said in run.stderr


@needs_make
@pytest.mark.parametrize(
    ("arguments", "command"),
    [
        (["try-servers", "ONLY=fakellm stubllm"], 'python -m interop.servers --only "fakellm" --only "stubllm"'),
        (["try-freshness", "ACCEPT=1"], "python -m interop.freshness --accept"),
        (
            ["bench-serve", "ONLY=floor partstream", "ROUNDS=3"],
            'python -m benchmarks.serving --only "floor" --only "partstream" --rounds 3',
        ),
        (["bench-tokens", "DOCS=1"], "python -m benchmarks.token_accuracy --docs docs/maintainers/token-estimates.md"),
        (["lock-ray"], "--extra ray --extra serve ../../../packages/partstream/pyproject.toml"),
    ],
)
def test_a_value_chooses_a_command_and_a_parameter_reaches_it(arguments: list[str], command: str):
    assert command in _made("--dry-run", *arguments).stdout


@needs_make
def test_every_target_that_a_page_or_a_message_names_exists():
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=PROJECT, capture_output=True, text=True, check=True).stdout
    history = {"CHANGELOG.md"}
    names = {
        name
        for name in listed.split("\0")
        if name.endswith((".md", ".py", ".js", ".sh", ".in")) and name not in history
    }
    asked = {
        (match[1], match[2] or "")
        for name in names
        if (PROJECT / name).is_file()
        for match in re.finditer(
            r"`make ([a-z0-9-]+)((?: [A-Z]+=[^` ]+)*)", (PROJECT / name).read_text(errors="replace")
        )
    }
    targets = set(re.findall(r"^([a-z0-9-]+):", MAKEFILE, re.MULTILINE))
    assert {target for target, _ in asked} <= targets
    known = {"test": "PARTS", "bench": "BENCHES", "interop": "TRIES", "lock": "LOCKED", "pictures": "PICTURES"}
    for target, parameters in asked:
        for value in re.findall(r"\b(?:PART|WHAT|TRY)=\"?([a-z]+)", parameters):
            assert value in _values(known[target]), f"make {target}{parameters}"
