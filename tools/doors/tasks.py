"""Ten things that a newcomer wants beyond the doors of the README, typed as the pages say them.

Every command is on its page, and every file is a block of it: what a reader copies. Only what is the reader's own
differs, such as the address of the server, and `PLACES` names it. The servers are here too: a model server, the same
one under a certificate that no system trusts, and a proxy on the way to it.
"""

from __future__ import annotations
import asyncio
import re
import shlex
import ssl
import subprocess
import sys
import threading
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tools.docs_site.code_blocks import find_blocks
from tools.doors.stranger import Step, StepError, Stranger
from tools.doors.table import DOORS, ROOT, commands_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["TASKS", "Task", "block_of", "done", "is_on_page", "prepared"]

SETTINGS: Final = '"$(partstream config path)"'
"""Where a block of settings is saved."""


@dataclass(frozen=True, slots=True)
class Task:
    """One thing that a person wants to do.

    Attributes:
        name: Its name in results.
        wish: What the person wants, in a few words.
        page: The page that says how.
        commands: What is typed, as the page has it.
        sees: A phrase of what the last command prints.
        saved: Where a block of the page is saved first; empty for none.
        phrase: A phrase of that block.
        runs: How the saved block is run, where it is a program or a document; no page says that.
        faults: The faults of the model server's answers, as `partstream upstream --fault` takes them.
        is_behind_proxy: Whether only the proxy knows the server, whose certificate is trusted already.
    """

    name: str
    wish: str
    page: str
    commands: tuple[str, ...] = ()
    sees: str = "Hello from Partstream!"
    saved: str = ""
    phrase: str = ""
    runs: str = ""
    faults: str = ""
    is_behind_proxy: bool = False


TASKS: Final = (
    Task(
        "proxy",
        "go through a company's proxy",
        "docs/tls-and-proxies.md",
        ("partstream doctor",),
        "through http://",
        SETTINGS,
        'proxy = "http://proxy',
        is_behind_proxy=True,
    ),
    Task(
        "certificate",
        "use a server with a self-signed certificate",
        "docs/tls-and-proxies.md",
        (
            "export SSL_CERT_FILE=/home/you/house-ca.pem",
            "partstream doctor --base-url https://models.example.com/v1",
        ),
        "fine",
    ),
    Task(
        "rename",
        "rename a model",
        "docs/models.md",
        ("partstream models",),
        "Small Qwen",
        SETTINGS,
        'allowModels = ["qwen3*"]',
    ),
    Task(
        "two-servers",
        "keep two servers with the same models apart",
        "docs/configuration.md",
        ("partstream profiles", "partstream config show"),
        "home",
        SETTINGS,
        "[profiles.home]",
    ),
    Task(
        "notebook",
        "ask from a notebook",
        "docs/jupyter.md",
        saved="cell.py",
        phrase='print(await ask("http://localhost:1234/v1"',
        runs="python -m asyncio < cell.py",
    ),
    Task(
        "container",
        "work in a dev container",
        "docs/remote.md",
        sees="partstream.providers",
        saved="devcontainer.json",
        phrase="customizations",
        runs="python -m json.tool devcontainer.json",
    ),
    Task(
        "structure",
        "get an answer that is JSON",
        "docs/structured-output.md",
        saved="answer.py",
        phrase="SCHEMA = {",
        runs="python answer.py",
    ),
    Task(
        "rate-limit",
        "get an answer from a server with a rate limit",
        "docs/command-line.md",
        ('partstream chat --base-url 127.0.0.1:8000 --model M "Hi"',),
        faults="status_then_ok=2:429:1",
    ),
    Task(
        "record",
        "see what a request and its answer were",
        "docs/troubleshooting.md",
        ("partstream chat --record FILE", "partstream replay FILE"),
    ),
    Task(
        "uninstall",
        "remove everything",
        "docs/install.md",
        ("pip uninstall --yes partstream partstream-agents partstream-devtools partstream-hub",),
        "Successfully uninstalled partstream",
    ),
)


def is_on_page(command: str, text: str) -> bool:
    """Whether a page has a command, in a block or in a line, wherever its lines break."""
    return command in " ".join(text.split())


def block_of(task: Task) -> str:
    """The block of the page that a task saves.

    Raises:
        ValueError: Not exactly one block has the phrase.
    """
    blocks = find_blocks(task.page, (ROOT / task.page).read_text(encoding="utf-8"))
    found = [block.code for block in blocks if task.phrase in block.code]
    if len(found) != 1:
        raise ValueError(f"{task.name}: {len(found)} blocks of {task.page} have {task.phrase!r}, expected one")
    return found[0]


def prepared(folder: Path) -> Stranger:
    """A person with the package, installed as the README says, and with the one that reads recordings."""
    stranger = Stranger(folder)
    package = next(door for door in DOORS if door.name == "stream")
    for command in (*commands_of(package)[:-1], "pip install ./packages/partstream-devtools"):
        stranger.types(command)
    stranger.types("cd ~")
    return stranger


def done(task: Task, stranger: Stranger, folder: Path) -> list[Step]:
    """Does a task, as its page says it.

    Returns:
        The steps, in the words of the page.

    Raises:
        StepError: A step failed, or what was to be seen is not in what the last one printed.
    """
    steps: list[Step] = []
    said = ""
    with _servers(folder, task.faults) as all_places:
        stranger.types(f'rm -f {SETTINGS}; mkdir -p "$(dirname {SETTINGS})"; unset SSL_CERT_FILE')
        places = all_places
        if task.is_behind_proxy:
            stranger.types(f"export SSL_CERT_FILE={places['/home/you/house-ca.pem']}")
            places = {place: own for place, own in all_places.items() if not own.startswith("https:")}
        if task.saved:
            code = _filled(block_of(task), places)
            step, _ = stranger.types(f"cat > {task.saved} <<'END'\n{code}END")
            steps.append(Step(f"save {'the settings' if task.saved == SETTINGS else task.saved}", step.seconds))
        elif task.name == "record":
            stranger.types(f"echo 'baseUrl = \"{places['http://localhost:1234/v1']}\"' > {SETTINGS}")
        for command in (*task.commands, *filter(None, (task.runs,))):
            typed = f'{command} "Hi"' if command.endswith("--record FILE") else command
            step, said = stranger.types(_filled(typed, places))
            steps.append(Step(command, step.seconds))
    if task.sees not in said:
        raise StepError(f"what {task.name} shows at the end, expected {task.sees}", said)
    return steps


def _filled(text: str, places: Mapping[str, str]) -> str:
    """The text with what is the reader's own."""
    for place, own in places.items():
        text = text.replace(place, own)
    return text


# ---- the servers of a task ----

_HOST: Final = re.compile(rb"(?i)(\r\nhost: )models\.example\.com")


@contextmanager
def _servers(folder: Path, faults: str) -> Iterator[Mapping[str, str]]:
    """The reader's own address or file for each place of the pages."""
    with ExitStack() as stack:
        port = stack.enter_context(_model_server(faults))
        key, certificate = _certificate(folder)
        secure, proxy = stack.enter_context(_front(port, key, certificate))
        plain = f"http://127.0.0.1:{port}"
        recording = folder / "answer.partstream.zip"
        recording.unlink(missing_ok=True)
        yield {
            "https://models.example.com/v1": f"https://localhost:{secure}/v1",
            "http://proxy.example.com:3128": f"http://127.0.0.1:{proxy}",
            "http://localhost:1234/v1": f"{plain}/v1",
            "http://localhost:11434": plain,
            "127.0.0.1:8000 --model M": f"127.0.0.1:{port} --model text",
            "/home/you/house-ca.pem": str(certificate),
            "--record FILE": f"--model text --record {shlex.quote(str(recording))}",
            "replay FILE": f"replay {shlex.quote(str(recording))}",
        }


@contextmanager
def _model_server(faults: str) -> Iterator[int]:
    """The port of a model server that comes with Partstream."""
    command = [str(Path(sys.executable).with_name("partstream")), "upstream", *(("--fault", faults) if faults else ())]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        try:
            said = "" if process.stdout is None else process.stdout.readline()
            yield int(said.partition("127.0.0.1:")[2].partition("/")[0])
        finally:
            process.terminate()


def _certificate(folder: Path) -> tuple[Path, Path]:
    """A key, and a certificate that it signed itself."""
    key, certificate = folder / "key.pem", folder / "house-ca.pem"
    names = "subjectAltName=DNS:localhost,DNS:models.example.com"
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=house"]
    command += ["-addext", names, "-keyout", str(key), "-out", str(certificate)]
    subprocess.run(command, check=True, capture_output=True, timeout=60)
    return key, certificate


@contextmanager
def _front(port: int, key: Path, certificate: Path) -> Iterator[tuple[int, int]]:
    """The ports of the same server over TLS, and of a proxy that leads every tunnel there."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    try:
        yield asyncio.run_coroutine_threadsafe(_opened(port, key, certificate), loop).result(30)
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join(30)
        loop.close()


async def _opened(port: int, key: Path, certificate: Path) -> tuple[int, int]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)

    async def encrypted(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await _joined(reader, writer, port)

    async def tunnelled(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        await _joined(reader, writer, secure_port)

    secure = await asyncio.start_server(encrypted, "127.0.0.1", 0, ssl=context)
    secure_port = secure.sockets[0].getsockname()[1]
    proxy = await asyncio.start_server(tunnelled, "127.0.0.1", 0)
    return secure_port, proxy.sockets[0].getsockname()[1]


async def _joined(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, port: int) -> None:
    """Passes everything on, both ways, until both ends are done."""
    far_reader, far_writer = await asyncio.open_connection("127.0.0.1", port)
    await asyncio.gather(_pumped(reader, far_writer), _pumped(far_reader, writer))


async def _pumped(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    with suppress(ConnectionError):
        while data := await source.read(65_536):
            target.write(_HOST.sub(rb"\1localhost", data))  # the model server answers to no other name
            await target.drain()
    target.close()
