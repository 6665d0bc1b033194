"""Commands of the documentation: what they name is there, and the real tree of commands takes their options."""

from __future__ import annotations
import contextlib
import re
import shlex
import subprocess
import tomllib
from pathlib import Path

import click

from partstream.cli import main
from partstream.cli.client_settings import CLIENTS

ROOT = Path(__file__).resolve().parents[2]
TARGETS = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
EXTRAS = {
    path.parent.name: set(tomllib.loads(path.read_text(encoding="utf-8"))["project"].get("optional-dependencies", {}))
    for path in ROOT.glob("packages/*/pyproject.toml")
}
"""The extras of each package of ours."""
INSTALLERS = {"pip": ["install"], "pipx": ["install"], "uv": ["tool", "install"]}
AGENTS = {client.run[0] for client in CLIENTS.values() if client.run}
"""The programs that take the settings which `partstream connect` writes."""
OTHERS = {".", "cd", "code", "npm", "python3"}
"""Programs that a reader has, and that know nothing of Partstream."""
HOME = "/home/you"
"""The home folder of the pages."""


def faults(code: str, folder: Path) -> list[str]:
    """What is wrong with the commands of a block; the folder is the home of the person who types them."""
    found = [fault for line in code.replace("\\\n", " ").splitlines() for fault in _line_faults(line, folder)]
    if "export " in code and "partstream" not in re.sub(r"partstream/serve-token", "", code):
        found += _export_faults(code, folder)
    return found


def _line_faults(line: str, folder: Path) -> list[str]:
    try:
        words = shlex.split(line, comments=True)
    except ValueError as error:
        return [f"{line!r}: {error}"]
    if not words or words[0] == "export":
        inner = re.findall(r"\$\((partstream .*?)\)", line)
        return [fault for one in inner for fault in _line_faults(one, folder)]
    command, *arguments = words
    if command == "uvx" and "partstream" in arguments:
        command, arguments = "partstream", arguments[arguments.index("partstream") + 1 :]
    if command == "partstream":
        return _partstream_faults(arguments, folder)
    return _other_faults(command, arguments, line)


def _other_faults(command: str, arguments: list[str], line: str) -> list[str]:
    if command == "make":
        unknown = [one for one in arguments if "=" not in one and one not in TARGETS]
        return [f"`make` has no target {one!r}" for one in unknown]
    if command in INSTALLERS:
        return install_faults(command, arguments)
    if command == "python" and arguments[:1] == ["-m"]:
        return _line_faults(shlex.join(arguments[1:]), Path())
    if command == "python" and arguments:
        return [] if (ROOT / arguments[0]).is_file() else [f"there is no file {arguments[0]}"]
    return [] if command in AGENTS | OTHERS else [f"no check knows the command {command!r}"]


def install_faults(command: str, arguments: list[str]) -> list[str]:
    """What is wrong with a line that installs: the top of the repository is no project, and no index has ours."""
    start = len(INSTALLERS[command])
    if arguments[:start] != INSTALLERS[command]:
        return []
    faults, ours = [], set()
    for one in arguments[start:]:
        name, _, extras = one.rstrip("]").partition("[")
        if name == ".":
            faults.append("there is no project at the top of the repository")
        elif re.match(r"partstream\b(?!.*\.whl$)", name):
            faults.append(f"no index has {name!r}")
        elif name.startswith("./packages/"):
            ours.add(name := name.removeprefix("./packages/"))
            if name not in EXTRAS:
                faults.append(f"there is no package {name!r}")
            else:
                unknown = {extra for extra in extras.split(",") if extra} - EXTRAS[name]
                faults += [f"{name} has no extra {extra!r}" for extra in sorted(unknown)]
    if ours and "partstream" not in ours:
        faults.append(f"pip would look on an index for what {min(ours)} needs: ./packages/partstream is missing")
    return faults


def _partstream_faults(arguments: list[str], folder: Path) -> list[str]:
    for one in arguments:
        name = one.partition(":")[0]
        if re.fullmatch(r"[\w/.-]+\.(py|sse|jsonl|har|toml|json|zip)", name) and not one.startswith(("http", "-", "/")):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).touch()
    if ">" in arguments:
        arguments = arguments[: arguments.index(">")]
    try:
        with contextlib.chdir(folder):
            _parse(main, "partstream", arguments)
    except click.ClickException as error:
        return [f"`partstream {shlex.join(arguments)}`: {error.format_message()}"]
    return []


def _parse(command: click.Command, name: str, arguments: list[str]) -> None:
    """Parses a command line as the commands themselves would, and runs none of them."""
    with command.make_context(name, list(arguments)) as context:
        if isinstance(command, click.Group):
            rest = [*context._protected_args, *context.args]
            if rest:
                found, inner, left = command.resolve_command(context, rest)
                assert found is not None
                assert inner is not None
                _parse(inner, found, left)


def _export_faults(code: str, folder: Path) -> list[str]:
    """Runs lines that set variables, in a home with a token; each of them has to set its variable to something."""
    token = folder / ".local/share/partstream/serve-token"
    token.parent.mkdir(parents=True, exist_ok=True)
    token.write_text("token\n", encoding="utf-8")
    named = re.findall(r"^export (\w+)=", code, re.MULTILINE)
    check = "".join(f'test -n "${name}" || echo {name} is empty\n' for name in named)
    done = subprocess.run(
        ["sh", "-euc", code.replace(HOME, str(folder)) + check], capture_output=True, text=True, timeout=30, check=False
    )
    return (done.stdout + done.stderr).splitlines()
