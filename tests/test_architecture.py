"""The rules of the house that a reader relies on: who may import whom, how large things may grow, who knows what."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import partstream
from offences import assert_none
from partstream.protocols.protocol import _MODULES, PROTOCOLS, Protocol
from rows import one_test_for
from trips import TRIPS, Walk

PROJECT = Path(__file__).resolve().parents[1]
# The packages of the workspace: the core imports none of the others, and each of those the core alone.
PACKAGES = {
    "partstream": PROJECT / "packages/partstream/src/partstream",
    "partstream_agents": PROJECT / "packages/partstream-agents/src/partstream_agents",
    "partstream_devtools": PROJECT / "packages/partstream-devtools/src/partstream_devtools",
    "partstream_hub": PROJECT / "packages/partstream-hub/src/partstream_hub",
}
PACKAGE = PACKAGES["partstream"]
MODULES = sorted(path for folder in PACKAGES.values() for path in folder.rglob("*.py"))

# A module is one trip of a reader: it opens with its theory of operation and reads top to bottom.
MAX_MODULE_LINES = 1500
MAX_FUNCTION_LINES = 100
SMALL_MODULE_LINES = 80

# The rooms of the house from the ground up: a room imports from those before it, and from itself. Types count as well.
ROOMS = (
    "_version",
    "errors",
    "plugins",
    "_moved",
    "codec",
    "settings",
    "lm",
    "conversation",
    "protocols",
    "tokens",
    "upstream",
    "runtime",
    "pages",
    "server",
    "config",
    "vscode",
    "cli",
    "agents",
    "devtools",
    "hub",
)

CORE = {"errors", "plugins", "codec", "settings", "lm", "conversation", "protocols"}

# The modules of these rooms that touch the system.
TOUCH_THE_SYSTEM = {"partstream.codec.silent_log", "partstream.codec.system", "partstream.plugins"}

# What the core may import from outside the package. None of it opens, waits, logs or tells the time.
PURE = {
    "__future__", "abc", "base64", "binascii", "bisect", "codecs", "collections", "contextlib", "dataclasses",
    "difflib", "enum", "functools", "hashlib", "hmac", "html", "idna", "importlib", "ipaddress", "itertools", "json",
    "math", "msgspec", "operator", "re", "reprlib", "string", "struct", "tomllib", "types", "typing", "unicodedata",
    "urllib.parse", "zlib",
}  # fmt: skip
IO = {
    "asyncio", "socket", "ssl", "select", "selectors", "subprocess", "multiprocessing", "threading", "http", "httpx2",
    "h11", "urllib.request", "logging", "tempfile", "shutil", "click", "rich", "sqlite3", "concurrent",
}  # fmt: skip


def _name(path: Path) -> str:
    source = next(folder.parent for folder in PACKAGES.values() if path.is_relative_to(folder))
    return ".".join(path.relative_to(source).with_suffix("").parts).removesuffix(".__init__")


def _room(module: str) -> str:
    """The room of a module of ours; the other packages are a room each."""
    package, _, rest = module.partition(".")
    return rest.partition(".")[0] if package == "partstream" else package.removeprefix("partstream_")


@cache
def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_bytes())


@cache
def _nodes(path: Path) -> list[ast.AST]:
    """All of the tree: walking it costs more than parsing does."""
    return list(ast.walk(_tree(path)))


@cache
def _imports(path: Path) -> list[str]:
    """Every module that the file imports anywhere in it; `from a import b` may mean the module a.b."""
    imported: list[str] = []
    for node in _nodes(path):
        if isinstance(node, ast.Import):
            imported += (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{_name(path)} has a relative import"
            for alias in node.names:
                module = f"{node.module}.{alias.name}"
                imported.append(module if _is_module(module) else str(node.module))
    return imported


@cache
def _is_module(name: str) -> bool:
    package, *parts = name.split(".")
    path = PACKAGES.get(package, PROJECT / "none").joinpath(*parts)
    return path.is_dir() or path.with_suffix(".py").exists()


def _floor(room: str) -> int:
    assert room in ROOMS, f"partstream.{room} is no room: add it to ROOMS where it belongs"
    return ROOMS.index(room)


INNER = [path for path in MODULES if path.parent != PACKAGE or path.stem not in {"__init__", "__main__"}]


def test_every_room_is_known() -> None:
    assert len(ROOMS) == len(set(ROOMS))
    assert {_room(_name(path)) for path in INNER} == set(ROOMS)


def _imports_upwards(path: Path) -> Iterator[tuple[str, str, str]]:
    room = _room(_name(path))
    for module in _imports(path):
        other = _room(module)
        if module.split(".")[0] in PACKAGES and other not in {"", room} and _floor(other) > _floor(room):
            yield room, other, f"{_name(path)} imports {module}"


def test_imports_point_one_way() -> None:
    upwards = [arrow for path in INNER for arrow in _imports_upwards(path)]
    assert_none(offence for _, _, offence in upwards)


def test_the_packages_beside_the_core_do_not_import_each_other() -> None:
    crossings = [
        f"{_name(path)} imports {module}"
        for path in MODULES
        for module in _imports(path)
        if module.split(".")[0] in PACKAGES.keys() - {"partstream", _name(path).split(".")[0]}
    ]
    assert_none(crossings)


def test_no_imports_go_round_in_a_circle() -> None:
    graph = {_name(path): set(_imports(path)) for path in MODULES}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(f"these import each other: {' -> '.join(error.args[1])}")


def _impure_imports(path: Path) -> Iterator[str]:
    for module in _imports(path):
        top = module if module == "urllib.parse" else module.split(".")[0]
        of_ours = module == "partstream" or (top == "partstream" and _room(module) in CORE | {"_moved", "_version"})
        if top not in PURE and not of_ours:
            yield f"{_name(path)} imports {module}"


def test_a_module_of_the_core_imports_nothing_that_does_io() -> None:
    core = [path for path in INNER if _room(_name(path)) in CORE and _name(path) not in TOUCH_THE_SYSTEM]
    assert_none(offence for path in core for offence in _impure_imports(path))


def _loaded(modules: list[str], *flags: str, then: str = "") -> set[str]:
    """What importing the modules, and what is done then, adds to a fresh interpreter."""
    lines = [
        "import sys",
        f"sys.path.insert(0, {str(PACKAGE.parent)!r})",
        "before = set(sys.modules)",
        *(f"import {module}" for module in modules),
        then,
        "print(*sorted(set(sys.modules) - before))",
    ]
    command = [sys.executable, *flags, "-c", "\n".join(lines)]
    run = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    assert run.stderr == ""
    return set(run.stdout.split())


def test_importing_the_whole_core_loads_nothing_that_does_io() -> None:
    core = [_name(path) for path in INNER if _room(_name(path)) in CORE and _name(path) not in TOUCH_THE_SYSTEM]
    # Without site packages: libraries that stand outside the core's power may load what they like.
    loaded = _loaded(core, "-I", "-S")
    assert set(core) <= loaded
    assert not loaded & IO


# What a start does not load, by what starts: modules, and the packages of modules.
OF_THE_HUB = {"partstream_hub", "psycopg"}
OF_WIRES = {f"{_MODULES[name].partition(':')[0]}.{part}" for name in _MODULES for part in ("models", "serve")}
OF_DIALOGS = {
    f"partstream.vscode.{name}" for name in ("add_models", "budgets", "dialogs", "first_steps", "status", "window")
}
LATE = {
    "partstream": IO | {"msgspec", "partstream.upstream", "partstream.runtime"},
    "partstream.cli": {"httpx2", "asyncio", "rich", "h11", "msgspec"},
    "partstream.cli.options": OF_THE_HUB | OF_WIRES | {"rich", "uvicorn", "sqlite3", "prometheus_client"},
    "partstream.cli.serve": OF_WIRES | {"rich", "httpx2", "uvicorn", "prometheus_client", "psycopg", "sqlite3"},
    "partstream.upstream.provider": OF_WIRES
    | {"httpx2", "httpcore2", "http.client", "urllib.request", "importlib.metadata", "idna", "uvicorn", "click"},
    "partstream.server.application": OF_THE_HUB | OF_WIRES | {"httpx2", "uvicorn", "sqlite3", "click"},
    "partstream.vscode.process": OF_THE_HUB | OF_WIRES | OF_DIALOGS | {"httpx2", "uvicorn", "sqlite3", "click", "rich"},
}


@pytest.mark.parametrize("module", LATE)
def test_a_start_loads_nothing_that_it_does_not_need(module: str) -> None:
    loaded = _loaded([module])
    assert module in loaded
    early = {name for name in loaded if any(f"{name}.".startswith(f"{late}.") for late in LATE[module])}
    assert_none(f"{module} loads {name}" for name in sorted(early))


def test_a_server_that_nobody_asks_loads_no_wire() -> None:
    modules = [f"partstream.server.{name}" for name in ("application", "settings", "telemetry")]
    modules += ["partstream.runtime.demo_provider"]
    statements = (
        "server, runtime = partstream.server, partstream.runtime",
        "key = partstream.upstream.endpoint.Secret('0123456789abcdef')",
        "server.application.app(runtime.demo_provider.DemoProvider(), server.settings.ServingSettings(token=key))",
        "server.telemetry.ServingMetrics(lambda: 0)",
    )
    loaded = _loaded(modules, then="; ".join(statements))
    writing = {f"{one.rpartition('.')[0]}.write_request" for one in OF_WIRES}
    assert_none(f"a server loads {one}" for one in sorted(loaded & (OF_WIRES | writing | {"prometheus_client"})))


def test_classes_of_fields_are_made_when_they_are_used() -> None:
    of_the_library = [
        f"{_name(path)} takes {alias.name} from dataclasses, expected it from partstream.codec.checks"
        for path in MODULES
        if _room(_name(path)) != "hub" and _name(path) != "partstream.codec.checks"
        for node in _nodes(path)
        if isinstance(node, ast.ImportFrom) and node.module == "dataclasses"
        for alias in node.names
        if alias.name in {"dataclass", "field", "fields"}
    ]
    assert_none(of_the_library)


def test_one_module_imports_the_driver_of_postgres() -> None:
    importing = {_name(path) for path in MODULES if any(name.split(".")[0] == "psycopg" for name in _imports(path))}
    assert importing <= {"partstream_hub.store.postgres"}


# ---- how large things are ----


# The size of the house, and of the walk that follows one answer through it. Each number may only fall: a change that
# lowers a number lowers its row. A change that raises one says in its message for which capability.
RATCHETS = {
    "modules": 353,
    "lines": 130_700,
    "lines of the wires": 30_583,
    "functions per 1,000 lines": 61.9,
    "modules of less than 80 lines": 39,
    "modules with one importer, of their own package": 35,
    "percent of the lines that stand before a module's first definition": 8.9,
    "files of read_stream of a text, Chat Completions": 12,
    "files of write_request of Anthropic Messages, from messages to body": 10,
    "files of a streamed answer of serve, from ASGI scope to provider and back": 20,
    "files of connect(url).ask to a known server": 34,
}


def _size() -> dict[str, float]:
    lines = [len(path.read_text().splitlines()) for path in MODULES]
    functions = sum(1 for path in MODULES for _ in _functions(path))
    importers: dict[str, set[str]] = {module: {"partstream"} for module in partstream._MODULES.values()}
    for path in MODULES:
        for module in set(_imports(path)):
            importers.setdefault(module, set()).add(_name(path))
    return {
        "modules": len(MODULES),
        "lines": sum(lines),
        "lines of the wires": sum(
            count for path, count in zip(MODULES, lines, strict=True) if _name(path).startswith("partstream.protocols.")
        ),
        "functions per 1,000 lines": round(1000 * functions / sum(lines), 1),
        "modules of less than 80 lines": sum(0 < count < SMALL_MODULE_LINES for count in lines),
        "percent of the lines that stand before a module's first definition": round(
            100 * sum(_lines_of_head(path) for path in MODULES) / sum(lines), 1
        ),
        "modules with one importer, of their own package": sum(
            _name(path) in importers and {_package(_name(path))} == {_package(name) for name in importers[_name(path)]}
            for path in MODULES
            if len(importers.get(_name(path), ())) == 1
        ),
    }


def _lines_of_head(path: Path) -> int:
    """The lines before the first statement that is no import, no docstring and no `__all__`."""
    for node in _tree(path).body:
        is_head = isinstance(node, ast.Import | ast.ImportFrom | ast.Expr) or (
            isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
        )
        is_list = isinstance(node, ast.Assign) and any(getattr(name, "id", "") == "__all__" for name in node.targets)
        if not is_head and not is_list:
            decorators = [one.lineno for one in getattr(node, "decorator_list", ())]
            return min([node.lineno, *decorators]) - 1
    return len(path.read_text().splitlines())


def _package(module: str) -> str:
    return module.rpartition(".")[0]


@cache
def _measured() -> dict[str, float]:
    walks = {name: Walk() for name in TRIPS}
    for name, walk in walks.items():
        TRIPS[name](walk)
    return {**_size(), **{f"files of {name}": len(walk.files) for name, walk in walks.items()}}


@one_test_for("what", RATCHETS)
def test_the_house_does_not_grow(what: str) -> None:
    assert _measured()[what] <= RATCHETS[what]


@one_test_for("what", RATCHETS)
def test_what_the_house_has_lost_is_not_forgotten(what: str) -> None:
    """A row far above what is measured would let the house grow again unseen."""
    assert _measured()[what] >= RATCHETS[what] * 0.97


def test_every_number_of_the_house_has_a_row() -> None:
    assert set(RATCHETS) == set(_measured())


def test_a_module_can_be_read_in_one_sitting() -> None:
    lines = {_name(path): len(path.read_text().splitlines()) for path in MODULES}
    assert_none(f"{module} has {count} lines" for module, count in lines.items() if count > MAX_MODULE_LINES)


def _functions(path: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in _nodes(path):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def _lines_of_code(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    body = function.body[1:] if ast.get_docstring(function) is not None else function.body
    return (body[-1].end_lineno or 0) - body[0].lineno + 1 if body else 0


def _long_functions(path: Path) -> Iterator[str]:
    for function in _functions(path):
        if (lines := _lines_of_code(function)) > MAX_FUNCTION_LINES:
            yield f"{_name(path)}.{function.name} has {lines} lines"


def test_a_function_can_be_seen_at_once() -> None:
    assert_none(offence for path in MODULES for offence in _long_functions(path))


def test_a_module_says_its_duty() -> None:
    silent = [_name(path) for path in MODULES if path.read_text().strip() and not ast.get_docstring(_tree(path))]
    assert_none(silent)


def test_nothing_is_global_but_constants() -> None:
    changes = [
        f"{_name(path)} line {node.lineno} changes a global name"
        for path in MODULES
        for node in _nodes(path)
        if isinstance(node, ast.Global)
    ]
    assert_none(changes)


# ---- who knows a protocol ----

# The registry row; the tables of the laboratory, by protocol; which protocol each path of the test server speaks; help
# texts for people; programs in the words of the libraries that they use; the wire that an agents' framework has inside.
MAY_NAME_PROTOCOLS = {
    "partstream.protocols.protocol",
    # The ways to ask for a completion, a row each, and which servers have which.
    "partstream.protocols.completions",
    "partstream.upstream.completing",
    "partstream_devtools.redaction.texts",
    "partstream_devtools.testing.admission",
    "partstream_devtools.testing.vendors",
    "partstream.cli",
    "partstream.cli.chat",
    "partstream.cli.demo",
    "partstream.cli.client_settings",
    "partstream_agents.openai_agents",
}

# A server or a family of models that is called like a protocol: titles, hosts and names of models hold the word.
_GEMINI, _OLLAMA = {"gemini"}, {"ollama"}
CALLED_LIKE_PROTOCOLS = {
    "partstream.settings.known_servers": {"ai-gateway", *_GEMINI, *_OLLAMA},
    "partstream.protocols.openresponses": {"ai-gateway", *_OLLAMA},
    "partstream.protocols.chat_completions": {"ai-gateway", *_GEMINI, *_OLLAMA},
    "partstream.protocols.chat_completions.models": _GEMINI | _OLLAMA,
    "partstream.protocols.anthropic_messages": _OLLAMA,
    "partstream.protocols.anthropic_messages.models": _OLLAMA,
    "partstream.protocols.errors": _OLLAMA,
    "partstream.upstream.configuration": _OLLAMA,
    "partstream.upstream.detection": _OLLAMA,
    "partstream_agents.langchain.messages": _OLLAMA,
    "partstream.tokens.families": _GEMINI,
    "partstream.tokens.files": {*_GEMINI, "gemini-3"},
    "partstream.runtime.translation": {"ai-sdk"},  # ModelMessages
    # Clients that are called like a protocol, or like the library of one.
    "partstream.server.clients": {"ai-sdk", *_GEMINI, *_OLLAMA},
    # Another wire of the same servers, with the same errors and files.
    "partstream.protocols.gemini_interactions": _GEMINI,
    **dict.fromkeys(
        (
            f"partstream.protocols.gemini_interactions.{module}"
            for module in ("errors", "read_response", "serve", "write_request")
        ),
        _GEMINI,
    ),
    **dict.fromkeys(
        (f"partstream.upstream.{module}" for module in ("model_shapes", "discovery", "model_information")),
        _GEMINI | _OLLAMA,
    ),
}


@cache
def _words(path: Path) -> list[str]:
    """Every identifier and string of the code, each once; docstrings and comments are for people."""
    nodes = _nodes(path)
    prose = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    words: dict[str, None] = {}
    for node in nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in prose:
            words[node.value] = None
        for field in ("id", "attr", "name", "arg", "module"):
            if isinstance(word := getattr(node, field, None), str):
                words[word] = None
    return list(words)


@cache
def _squeezed(word: str) -> str:
    return "".join(letter for letter in word.lower() if letter.isalnum())


def _folders(row: Protocol) -> set[str]:
    """The folder of a row, and that which its corner comes from."""
    return {module.split(".")[2] for module in (_MODULES[row.name], row.read_response().claim.__module__)}


def _spoken_in(folder: str) -> set[str]:
    """The protocols that may be named in a folder: its own, and those that share it, with all of theirs."""
    shared = {folder}.union(*(_folders(row) for row in PROTOCOLS.values() if folder in _folders(row)))
    return {row.name for row in PROTOCOLS.values() if _folders(row) & shared}


_OF_ONE_WIRE = re.compile(r"(?:partstream\.protocols|partstream_devtools\.testing\.vendors)\.(\w+)")


def _foreign_protocols(path: Path) -> Iterator[str]:
    module = _name(path)
    of_one_wire = _OF_ONE_WIRE.match(module)
    own = _spoken_in(of_one_wire[1]) if of_one_wire else set()
    called = CALLED_LIKE_PROTOCOLS.get(module, set())
    foreign = {_squeezed(protocol) for protocol in PROTOCOLS if protocol not in own | called}
    for word in _words(path):
        squeezed = _squeezed(word)
        if any(protocol in squeezed for protocol in foreign):
            yield f"{module} knows {word!r}"


def test_only_its_folder_and_its_row_name_a_protocol() -> None:
    others = [path for path in MODULES if _name(path) not in MAY_NAME_PROTOCOLS]
    assert_none(offence for path in others for offence in _foreign_protocols(path))


# ---- who knows the scripted model ----

MAY_KNOW_TESTING = {"cli", "devtools"}
SCRIPTED_WORDS = ("scenario", "replayupstream", "scripted")


def _is_testing(module: str) -> bool:
    return module.startswith("partstream_devtools.testing")


def test_only_the_command_line_imports_the_scripted_model() -> None:
    others = [path for path in MODULES if _room(_name(path)) not in MAY_KNOW_TESTING]
    assert_none(
        f"{_name(path)} imports {module}" for path in others for module in _imports(path) if _is_testing(module)
    )


def test_no_word_of_the_scripted_model_stands_outside_their_room() -> None:
    others = [path for path in MODULES if _room(_name(path)) not in MAY_KNOW_TESTING]
    assert_none(
        f"{_name(path)} knows {word!r}"
        for path in others
        for word in _words(path)
        if any(scripted in _squeezed(word) for scripted in SCRIPTED_WORDS)
    )


def test_the_scripted_model_knows_no_event_of_a_wire() -> None:
    frequent = {kind for row in PROTOCOLS.values() for kind in row.read_response().deltas.places}
    # `text` is an event and an everyday word, and the only kind of a wire without kinds is no word at all.
    events = {kind for kind in frequent if kind and not kind.isidentifier()}
    assert events
    words = [(path, word) for path in MODULES if _is_testing(_name(path)) for word in _words(path)]
    assert_none(
        f"{_name(path)} knows {word!r}"
        for path, word in words
        if word in events or word.endswith((".delta", "-delta", ".done", "-end", ".completed"))
    )


def test_the_rules_above_see_what_breaks_them(tmp_path: Path) -> None:
    broken = tmp_path / "broken.py"
    body = "\n".join("    x = 1" for _ in range(MAX_FUNCTION_LINES + 1))
    broken.write_text(
        f'"""Openresponses."""\nimport socket\nfrom http import client\n\ndef long():\n{body}\n\nopen_responses = 1\n'
    )
    assert set(_imports(broken)) == {"socket", "http"}
    (function,) = _functions(broken)
    assert _lines_of_code(function) == MAX_FUNCTION_LINES + 1
    assert [word for word in _words(broken) if _squeezed(word) == "openresponses"] == ["open_responses"]
    assert "socket" in _loaded(["socket"], "-I", "-S")
