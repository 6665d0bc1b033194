"""What is wrong with a block: for each language a check, and for each comment before a fence a check of its own."""

from __future__ import annotations
import ast
import asyncio
import contextlib
import inspect
import io
import json
import re
import sys
import tomllib
from pathlib import Path
from types import CodeType, ModuleType
from typing import TYPE_CHECKING, Any

import yaml

from extension_manifest import SETTINGS_OF_VS_CODE
from partstream.config.loading import load_configuration
from partstream.settings.kinds import ConfigurationError
from partstream_devtools.testing.upstream import ReplayUpstream

from . import commands, surroundings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from tools.docs_site.code_blocks import Block

ROOT = Path(__file__).resolve().parents[2]
SERVER = "http://localhost:1234/v1"
"""The address of a model server in the examples."""
MOST_SECONDS = 30
RUNNERS = {
    "examples/readme.py": "tests/test_readme.py",
    "examples/local_model.py": "tests/examples/test_local_model_example.py",
    "examples/agents/": "packages/partstream-agents/tests/agents/test_agents_examples.py",
    "examples/providers/": "tests/test_guides.py",
    "examples/python/": "tests/test_guides.py",
}
"""By the beginning of an example's name: the test that runs it."""
WORDS_OF_A_REASON = 4


def faults(block: Block, folder: Path) -> list[str]:
    """What is wrong with a block, in words; nothing for one that was run and holds, or that says why it is not run."""
    for mark, check in CHECKS_OF_MARKS.items():
        if mark in block.marks:
            return list(check(block, block.marks[mark]))
    if block.language == "python" and _is_example(block):
        return []
    if block.language == "text" and block.follows and block.before is not None:
        return list(_output_faults(block.before))
    check_code = CHECKS.get(block.language)
    if check_code is None:
        marks = "`<!-- run by: FILE -->` or `<!-- not run: REASON -->`"
        return [f"a block of {block.language!r} is neither run nor marked {marks}"]
    return check_code(block, folder)


def _example_faults(block: Block, name: str) -> Iterator[str]:
    path = ROOT / name
    if not path.is_file() or path.read_text(encoding="utf-8") != block.code:
        yield f"it is not the file {name}"
    if not any(name.startswith(start) for start in RUNNERS):
        yield f"no test runs {name}"


def _file_faults(block: Block, name: str) -> Iterator[str]:
    yield from _run_by_faults(block, f"tests/test_{Path(block.page).stem.replace('-', '_')}.py")


def _run_by_faults(block: Block, name: str) -> Iterator[str]:
    path = ROOT / name
    page = Path(block.page)
    if not path.is_file():
        yield f"there is no file {name}"
    elif not re.search(rf"[/\"']{re.escape(page.name)}\b|[\"']{re.escape(page.stem)}[\"']", path.read_text("utf-8")):
        yield f"{name} does not mention {page.name}"


def _not_run_faults(block: Block, reason: str) -> Iterator[str]:
    if len(reason.split()) < WORDS_OF_A_REASON:
        yield f"{reason!r} is no reason"


def _output_faults(before: Block) -> Iterator[str]:
    """The runner of the block before compares what is shown; the output of other blocks is not compared."""
    if not {"example", "run by"} & {*before.marks}:
        yield "this output is not compared: mark the block before it, or this one"


def _shell_faults(block: Block, folder: Path) -> list[str]:
    return commands.faults(block.code, folder)


def _names_faults(block: Block, folder: Path) -> list[str]:
    """The site puts the descriptions of these names here."""
    import partstream

    words = [word for line in block.code.splitlines() for word in line.split()]
    return [f"partstream has no public name {word}" for word in words if word not in partstream.__all__]


def _toml_faults(block: Block, folder: Path) -> list[str]:
    """Reads the file as the commands read it; a page about one of its tables shows the rest of the file above."""
    file = folder / "partstream.toml"
    file.write_text(_continued(block), encoding="utf-8")
    try:
        configuration = load_configuration(environment={"PARTSTREAM_CONFIG": str(file)})
        if "baseUrl" in tomllib.loads(file.read_text(encoding="utf-8")):
            configuration.gateway()
    except ConfigurationError as error:
        return [str(error)]
    return [str(one) for one in (*configuration.resolved.notes, *configuration.resolved.warnings)]


def _json_faults(block: Block, folder: Path) -> list[str]:
    try:
        value = json.loads(block.code)
    except ValueError as error:
        return [str(error)]
    return [
        f"VS Code has no setting {name}"
        for name in value
        if name.startswith("partstream.") and name not in SETTINGS_OF_VS_CODE
    ]


def _yaml_faults(block: Block, folder: Path) -> list[str]:
    """Parses it; the commands that the steps of a workflow run are commands of the project."""
    try:
        value = yaml.safe_load(block.code)
    except yaml.YAMLError as error:
        return [str(error)]
    jobs = value.get("jobs", {}) if isinstance(value, dict) else {}
    runs = [step["run"] for job in jobs.values() for step in job["steps"] if "run" in step]
    return [fault for run in runs for fault in commands.faults(run, folder)]


def _python_faults(block: Block, folder: Path) -> list[str]:
    """Runs it in the folder, and calls the tests that it defines."""
    printed = io.StringIO()
    names: dict[str, Any] = {"__name__": "__main__"}
    try:
        with contextlib.chdir(folder), contextlib.redirect_stdout(printed):
            declared = filter(None, re.split(r", *", block.marks.get("given", "").replace(".", "_")))
            for name in {*declared, *_free_names(_continued(block))}:
                names[name] = getattr(surroundings, name)()
            with _modules(names):
                _run(_continued(block), block, names)
    except Exception as error:
        return [f"{type(error).__name__}: {error}"]
    return []


def _free_names(code: str) -> set[str]:
    """The names that an example uses without making them, as far as the surroundings have them."""
    tree = ast.parse(code)
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
    made = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    made |= {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
    made |= {getattr(node, "name", "") or "" for node in ast.walk(tree)}
    made |= {node.asname or node.name for node in ast.walk(tree) if isinstance(node, ast.alias)}
    return {name for name in used - made if getattr(surroundings, name, None) in surroundings.GIVEN}


def _is_example(block: Block) -> bool:
    """Whether a block is, word for word, one of the files that a test runs."""
    found = [ROOT / start if start.endswith(".py") else (ROOT / start).glob("*.py") for start in RUNNERS]
    files = [path for one in found for path in ([one] if isinstance(one, Path) else one)]
    return any(path.read_text(encoding="utf-8") == block.code for path in files)


@contextlib.contextmanager
def _modules(names: Mapping[str, Any]) -> Iterator[None]:
    """Modules of the surroundings can be imported by the example, and not later."""
    modules = {name: value for name, value in names.items() if isinstance(value, ModuleType)}
    sys.modules.update(modules)
    try:
        yield
    finally:
        for name in modules:
            del sys.modules[name]


def _run(code: str, block: Block, names: dict[str, Any]) -> None:
    compiled = _compiled(code, block)
    if compiled.co_flags & inspect.CO_COROUTINE or SERVER in code:
        asyncio.run(_run_beside_a_server(code, block, names))
    else:
        exec(compiled, names)  # noqa: S102 - as its readers run it
    for name, value in [*names.items()]:
        if name.startswith("test_"):
            value()


async def _run_beside_a_server(code: str, block: Block, names: dict[str, Any]) -> None:
    async with asyncio.timeout(MOST_SECONDS), ReplayUpstream() as upstream:
        compiled = _compiled(code.replace(SERVER, upstream.base_url), block)
        if compiled.co_flags & inspect.CO_COROUTINE:
            await eval(compiled, names)  # noqa: S307 - the same
        else:
            await asyncio.to_thread(exec, compiled, names)


def _compiled(code: str, block: Block) -> CodeType:
    """The code of a block, which may await as in a notebook."""
    return compile(code, block.page, "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)


def _continued(block: Block) -> str:
    """The code of a block, with that of the blocks of its language before it where it goes on."""
    if "continues" not in block.marks:
        return block.code
    before = block.before
    while before is not None and before.language != block.language:
        before = before.before
    return block.code if before is None else f"{_continued(before)}\n{block.code}"


CHECKS_OF_MARKS: Mapping[str, Callable[[Block, str], Iterator[str]]] = {
    "example": _example_faults,
    "file": _file_faults,
    "run by": _run_by_faults,
    "not run": _not_run_faults,
}
CHECKS: Mapping[str, Callable[[Block, Path], list[str]]] = {
    "": _shell_faults,
    "sh": _shell_faults,
    "{public-names}": _names_faults,
    "toml": _toml_faults,
    "json": _json_faults,
    "yaml": _yaml_faults,
    "python": _python_faults,
}
