"""What differs between systems: each use has a branch in the code or a reason here, and the branches of other systems
are run as far as they can be simulated. No part of the project ever ran on Windows or macOS."""

import ast
import asyncio
import signal
import sys
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from offences import assert_none

SOURCES = sorted(Path(__file__).parent.parent.glob("packages/*/src/**/*.py"))

SPECIFIC = {
    *("add_reader", "add_signal_handler", "connect_read_pipe", "pass_fds", "raise_signal", "start_new_session"),
    *("fcntl", "msvcrt", "ctypes", "getuid", "geteuid", "chmod", "fchmod", "killpg", "shell", "select.poll"),
    *("AF_UNIX", "start_unix_server", "open_unix_connection", "SO_REUSEADDR", "SO_REUSEPORT", "SO_LINGER"),
    *(
        "os.kill",
        "os.link",
        "os.fork",
        "os.umask",
        "os.symlink",
        "symlink_to",
        "hardlink_to",
        "mkfifo",
        "sysconf",
        "tzset",
    ),
    *("SIGTERM", "SIGKILL", "SIGHUP", "resource.setrlimit"),
}
"""Names of Python's library that some systems lack, or whose meaning differs."""

ASKS_THE_SYSTEM = (
    "os.name",
    "sys.platform",
    "hasattr(",
    "HAS_SOCKETS",
    "can_share_sockets",
    "NotImplementedError",
    "ImportError",
)
"""What a condition or a handler around a use says when it is a branch for a system."""

REASONS = {
    **{
        ("start_new_session", f"partstream_agents.acp.{name}"): "Windows ignores it; `end_program` asks for the system"
        for name in ("client", "tools")
    },
    ("start_new_session", "partstream.config.loading"): "Windows ignores it; the program is ended in `_end`, by system",
    ("start_new_session", "partstream_devtools.recorder.beside"): "Windows ignores it: Ctrl-C then ends both at once",
    ("start_new_session", "partstream_devtools.commands_record"): "Windows ignores it: Ctrl-C then ends both at once",
    ("chmod", "partstream_devtools.capturing.capture_socket"): "the socket is opened only where `HAS_SOCKETS`",
    ("start_unix_server", "partstream_devtools.capturing.capture_socket"): "opened only where `HAS_SOCKETS`",
    ("open_unix_connection", "partstream_devtools.capturing.capture_socket"): "no path is found without `HAS_SOCKETS`",
    ("geteuid", "partstream_devtools.capturing.capture_socket"): "asked of a connection to a Unix socket alone",
    ("chmod", "partstream.codec.system"): "Windows changes nothing of a folder; the user's own folder protects it",
    (
        "chmod",
        "partstream.runtime.answer_files",
    ): "Windows changes nothing of a folder; the user's own folder protects it",
    ("chmod", "partstream.config.editing"): "the mode of the same file; Windows has a read-only flag, which stays",
    ("os.link", "partstream.server.clients"): "NTFS and APFS have hard links; elsewhere the error names the file",
    ("select.poll", "partstream.upstream.http_connection"): "the function returns before where there is no such call",
    ("resource.setrlimit", "partstream.server.listening"): "the function returns before where there is no such module",
    ("ctypes", "partstream.runtime.local_model"): "a library that does not export the name raises a suppressed error",
    ("ctypes", "partstream.codec.system"): "loading a C library that is no glibc raises one of the suppressed errors",
    ("SIGTERM", "partstream.server.listening"): "Windows has the name, and never sends it",
    **{
        (name, "partstream.cli.serve_workers"): "workers run only where `can_share_sockets`"
        for name in ("SIGTERM", "add_reader", "connect_read_pipe", "pass_fds", "raise_signal", "start_new_session")
    },
    (
        "SO_LINGER",
        "partstream.server.loopback",
    ): "every system has it; the two numbers have the size that Windows wants",
}
"""Uses without a branch, by name and module, with the reason why they need none."""


HEADS: dict[type[ast.AST], Callable[[Any], list[ast.expr]]] = {
    ast.If: lambda one: [one.test],
    ast.IfExp: lambda one: [one.test],
    ast.BoolOp: lambda one: one.values,
    ast.Try: lambda one: [handler.type for handler in one.handlers if handler.type],
}
"""Where a branch asks, by its kind."""


def _uses(path: Path) -> Iterator[tuple[str, bool]]:
    """Each use of a specific name in a module, and whether a condition or a handler around it asks for the system."""
    source = path.read_text(encoding="utf-8")
    if not any(name.rpartition(".")[2] in source for name in SPECIFIC):
        return
    stack: list[tuple[ast.AST, bool]] = [(ast.parse(source), False)]
    while stack:
        node, asked = stack.pop()
        match node:
            case ast.Attribute() if found := {node.attr, ast.unparse(node)} & SPECIFIC:
                yield found.pop(), asked
            case ast.keyword(arg=str(name)) if name in SPECIFIC:
                yield name, asked
            case ast.Import(names=aliases):
                yield from ((alias.name, asked) for alias in aliases if alias.name in SPECIFIC)
            case _:
                pass
        heads = HEADS.get(type(node))
        asks = heads is not None and any(word in ast.unparse(one) for one in heads(node) for word in ASKS_THE_SYSTEM)
        # A function whose first branch leaves it on another system: what follows is for the others alone.
        asks = asks or (
            isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
            and any(
                isinstance(one, ast.If)
                and any(word in ast.unparse(one.test) for word in ASKS_THE_SYSTEM)
                and isinstance(one.body[-1], ast.Return | ast.Raise)
                for one in node.body
            )
        )
        stack += [(child, asked or asks) for child in ast.iter_child_nodes(node)]


def _unexplained() -> Iterator[str]:
    seen = set()
    for path in SOURCES:
        module = ".".join(path.parts[path.parts.index("src") + 1 :]).removesuffix(".py").removesuffix(".__init__")
        for name, is_branched in _uses(path):
            seen.add((name, module))
            if not is_branched and (name, module) not in REASONS:
                yield f"{module} uses {name} without a branch for a system that lacks it, and REASONS has no row"
    yield from (f"REASONS has a row for {row}, and there is no such use" for row in REASONS if row not in seen)


def test_every_use_of_what_systems_differ_in_has_a_branch_or_a_reason() -> None:
    assert_none(_unexplained())


# ---- the branches of other systems, simulated ----


def _pretend(monkeypatch: pytest.MonkeyPatch, module: Any, library: str, /, *missing: str, **values: str) -> None:
    """Gives one module another `os` or `sys`: the real one without some names, and with other values."""
    real = vars(getattr(module, library))
    pretended = types.SimpleNamespace(**{key: value for key, value in real.items() if key not in missing} | values)
    monkeypatch.setattr(module, library, pretended)


class _Killed:
    """A process of asyncio that notes how it is ended."""

    def __init__(self) -> None:
        self.pid, self.returncode, self.stdin, self.stdout, self.ends = 1, None, None, None, 0

    def kill(self) -> None:
        self.ends += 1
        self.returncode = -9

    async def wait(self) -> None:
        pass


@pytest.mark.parametrize(
    ("module", "end"), [("partstream.config.loading", "_end"), ("partstream_agents.acp", "end_program")]
)
def test_a_process_is_killed_by_itself_where_there_are_no_process_groups(
    module: str, end: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded: Any = pytest.importorskip(module)
    process = _Killed()
    _pretend(monkeypatch, loaded, "os", "killpg", name="nt")
    asyncio.run(getattr(loaded, end)(process))
    assert process.ends == 1


def test_ctrl_c_stops_a_server_also_where_the_loop_takes_no_signals() -> None:
    from partstream.server.listening import stopped_by_signals

    async def served() -> bool:
        stopped = asyncio.Event()
        before = signal.getsignal(signal.SIGINT)
        with stopped_by_signals(stopped.set):
            signal.raise_signal(signal.SIGINT)
            await asyncio.wait_for(stopped.wait(), 5)
        return signal.getsignal(signal.SIGINT) is before

    assert asyncio.run(served()), "the handler of before is there again"


@pytest.mark.parametrize(
    ("platform", "environment", "expected"),
    [
        ("win32", {"LOCALAPPDATA": "C:/Users/ana/AppData/Local"}, "C:/Users/ana/AppData/Local/partstream"),
        ("win32", {}, "~/AppData/Local/partstream"),
        ("darwin", {}, "~/Library/Application Support/partstream"),
        ("linux", {"XDG_DATA_HOME": "/data"}, "/data/partstream"),
        ("linux", {}, "~/.local/share/partstream"),
    ],
)
def test_the_data_folder_is_where_each_system_keeps_data(
    platform: str, environment: dict[str, str], expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from partstream.codec import system

    for name in ("PARTSTREAM_DATA", "LOCALAPPDATA", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    _pretend(monkeypatch, system, "sys", platform=platform)
    assert system.DATA.path().as_posix() == Path(expected).expanduser().as_posix()


def test_a_file_in_a_shared_folder_is_read_where_there_are_no_user_numbers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from partstream.codec import system

    (tmp_path / "file").write_bytes(b"text")
    _pretend(monkeypatch, system, "sys", platform="win32")
    _pretend(monkeypatch, system, "os", "getuid")
    assert system.read_in_shared_folder(tmp_path / "file", 10) == b"text"


def test_a_token_is_made_and_read_where_there_are_no_user_numbers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from partstream.server import clients

    _pretend(monkeypatch, clients, "os", "getuid", name="nt")
    path = tmp_path / "token"
    made = clients.machine_token(path)
    again = clients.machine_token(path)
    assert (made.is_new, again.is_new) == (True, False)
    assert made.secret == again.secret


def test_many_connections_are_allowed_where_no_limit_of_files_can_be_set(monkeypatch: pytest.MonkeyPatch) -> None:
    from partstream.server.listening import allow_files

    monkeypatch.setitem(sys.modules, "resource", None)
    allow_files(10_000)


def test_memory_is_given_back_by_itself_where_the_c_library_is_another(monkeypatch: pytest.MonkeyPatch) -> None:
    from partstream.codec.system import give_memory_back

    def no_library(_name: object) -> None:
        raise TypeError("expected a name")  # the error of Windows without a name

    monkeypatch.setitem(sys.modules, "ctypes", types.SimpleNamespace(CDLL=no_library))
    give_memory_back()


def test_no_worker_shares_a_socket_on_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    from partstream.cli import serve_workers

    _pretend(monkeypatch, serve_workers, "os", name="nt")
    assert not serve_workers.can_share_sockets()
