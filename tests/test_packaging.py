"""The built .vsix: what is in it, and that its sidecar runs on every Python of this machine."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from partstream import __version__
from partstream.configuration import SETTINGS, Place
from partstream.hosts.vscode.methods import PROTOCOL_VERSION
from partstream.models.limits import LimitPolicy
from partstream.protocols.registry import AUTO, asked_protocols

if TYPE_CHECKING:
    from collections.abc import Iterator

    from partstream.settings.row import Setting

ROOT = Path(__file__).parent.parent
TEXTS = json.loads((ROOT / "extension" / "package.nls.json").read_text(encoding="utf-8"))


def _localised(_match: re.Match[str]) -> str:
    return json.dumps(TEXTS[_match[1]])


# As VS Code puts the texts in the place of their keys.
MANIFEST = json.loads(
    re.sub(r'"%([^%"]+)%"', _localised, (ROOT / "extension" / "package.json").read_text(encoding="utf-8"))
)
CONFIGURATION = MANIFEST["contributes"]["languageModelChatProviders"][0]["configuration"]
ASKED = CONFIGURATION["properties"]
GROUP = {**ASKED, **CONFIGURATION["allOf"][0]["properties"]}

PROVIDER = """
from partstream import LanguageModelChatInformation, LanguageModelChatProvider, TextPart

class Echo(LanguageModelChatProvider):
    async def provide_language_model_chat_information(self, silent, token):
        return [LanguageModelChatInformation("echo", "Echo", "echo", "1", 1000, 100)]

    async def provide_language_model_chat_response(self, model, messages, options, progress, token):
        for word in messages[-1].content[0].value.split():
            progress.report(TextPart(word + " "))

    async def provide_token_count(self, model, text, token):
        return 42
"""


def _pythons() -> list[str]:
    """Every Python from 3.11 on that is here: our own, those on the PATH, and those of pyenv."""
    found: dict[str, str] = {}
    names = [shutil.which(f"python3.{minor}") for minor in range(11, 20)]
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv") / "versions"
    for candidate in [sys.executable, *filter(None, names), *sorted(map(str, pyenv.glob("*/bin/python")))]:
        probe = "import sys; print(*sys.version_info[:3], sep='.')"
        run = subprocess.run([candidate, "-I", "-c", probe], capture_output=True, text=True, timeout=20, check=False)
        version = run.stdout.strip()
        if run.returncode == 0 and tuple(map(int, version.split(".")[:2])) >= (3, 11):
            found.setdefault(version, candidate)
    return list(found.values())


@pytest.fixture(scope="session")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that VS Code would make of the built .vsix."""
    built = ROOT / "dist" / f"partstream-{__version__}.vsix"
    if not built.exists():
        pytest.skip(f"{built.name} is not built: make vsix")
    folder = tmp_path_factory.mktemp("vsix")
    with zipfile.ZipFile(built) as archive:
        archive.extractall(folder)
    return folder / "extension"


class Client:
    """The extension's side of the conversation, as plainly as it can be written."""

    def __init__(self, python: str, libraries: Path, folder: Path) -> None:
        environment = {**os.environ, "PYTHONPATH": str(libraries), "PYTHONDONTWRITEBYTECODE": "1"}
        # -S -s: nothing that happens to be installed in this Python may help.
        self.process = subprocess.Popen(
            [python, "-P", "-S", "-s", "-m", "partstream.hosts.vscode"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
            cwd=folder,
        )
        self.progress: list[Any] = []
        self._last_id = 0

    def request(self, method: str, params: Any = None) -> Any:
        self._last_id += 1
        self._send({"jsonrpc": "2.0", "id": self._last_id, "method": method, "params": params})
        while (answer := self._receive()).get("id") != self._last_id:
            if answer["method"] == "$/progress":
                self.progress.extend(answer["params"]["value"]["parts"])
        assert "error" not in answer, answer
        return answer["result"]

    def end(self) -> int:
        self.request("shutdown")
        self._send({"jsonrpc": "2.0", "method": "exit"})
        return self.process.wait(timeout=30)

    def _send(self, message: Any) -> None:
        assert self.process.stdin
        content = json.dumps({key: value for key, value in message.items() if value is not None}).encode()
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(content), content))
        self.process.stdin.flush()

    def _receive(self) -> dict[str, Any]:
        assert self.process.stdout
        length = 0
        while line := self.process.stdout.readline().strip():
            length = int(line.partition(b":")[2]) if line.lower().startswith(b"content-length") else length
        message: dict[str, Any] = json.loads(self.process.stdout.read(length))
        return message


@pytest.fixture(params=_pythons())
def client(request: pytest.FixtureRequest, package: Path, tmp_path: Path) -> Iterator[Client]:
    client = Client(request.param, package / "bundled" / "libs", tmp_path)
    yield client
    client.process.kill()
    client.process.wait(timeout=30)
    for stream in (client.process.stdin, client.process.stdout):
        assert stream
        stream.close()


def test_the_packaged_sidecar_serves_a_provider_on_every_python(client: Client, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(PROVIDER)
    opened = client.request(
        "initialize",
        {
            "protocolVersion": PROTOCOL_VERSION,
            "clientInfo": {"name": "test", "version": "1"},
            "vscodeVersion": "1.127.0",
            "configuration": {"providers": [{"source": str(tmp_path / "mine.py"), "name": "mine"}]},
        },
    )
    assert opened["serverInfo"]["version"] == __version__
    listed = client.request("languageModels/information", {"group": None, "silent": True})
    assert listed["errors"] == []
    model = listed["models"][0]["id"]
    counted = client.request("languageModels/tokenCount", {"group": None, "model": model, "items": [{"text": "a"}]})
    assert [count["count"] for count in counted["counts"]] == [42]
    messages = [{"role": 1, "content": [{"type": "text", "value": "hello dear world"}]}]
    client.request(
        "languageModels/response",
        {"group": None, "model": model, "messages": messages, "options": {}, "progressToken": 1},
    )
    assert "".join(part["value"] for part in client.progress if part["type"] == "text") == "hello dear world "
    assert client.end() == 0


def test_the_packaged_gateway_loads_on_every_python(client: Client) -> None:
    client.request(
        "initialize",
        {
            "protocolVersion": PROTOCOL_VERSION,
            "clientInfo": {"name": "test", "version": "1"},
            "vscodeVersion": "1.127.0",
            "configuration": {"providers": []},
        },
    )
    group = {"id": "g", "configuration": {"baseUrl": "http://127.0.0.1:9/v1", "models": [{"id": "m"}]}}
    listed = client.request("languageModels/information", {"group": group, "silent": True})
    assert (listed["errors"], [model["id"] for model in listed["models"]]) == ([], ["m"])


def test_the_package_holds_no_compiled_code_and_every_licence(package: Path) -> None:
    libraries = package / "bundled" / "libs"
    assert not [path for path in libraries.rglob("*") if path.suffix in {".so", ".pyd", ".dylib", ".pyc"}]
    for distribution in libraries.glob("*.dist-info"):
        assert [path for path in distribution.rglob("*") if path.name.upper().startswith("LICEN")], distribution.name
    assert (package / "LICENSE.txt").exists()


def test_the_package_holds_nothing_but_what_runs_or_is_shown(package: Path) -> None:
    top = {path.name for path in package.iterdir()}
    shown = {"changelog.md", "l10n", "media", "package.json", "package.nls.json", "readme.md"}
    assert top == {"LICENSE.txt", "bundled", "dist", *shown}
    assert [path.name for path in (package / "l10n").iterdir()] == ["bundle.l10n.json"]
    steps = [step for page in MANIFEST["contributes"]["walkthroughs"] for step in page["steps"]]
    assert {f"media/{path.name}" for path in (package / "media").iterdir()} == {
        MANIFEST["icon"],
        *(step["media"]["markdown"] for step in steps),
    }
    assert [path.name for path in (package / "dist").iterdir()] == ["extension.js"]


def test_the_version_of_the_extension_is_the_packages_own() -> None:
    assert MANIFEST["version"] == __version__


OF_A_GROUP = [row for row in SETTINGS.values() if Place.GROUP in row.places]
"""What says which profile of the file is in force belongs in no group."""


def test_the_schema_of_a_group_names_the_settings_that_the_gateway_reads() -> None:
    assert set(GROUP) == {row.name for row in OF_A_GROUP}
    assert set(GROUP["models"]["items"]["properties"]) == _within("models")
    for name in ("timeouts", "retry", "vercelOidc", "request"):
        assert set(GROUP[name]["properties"]) == _within(name)
    assert set(GROUP["modelRequests"]["additionalProperties"]["properties"]) == _within("request")
    assert GROUP["limitPolicy"]["enum"] == list(LimitPolicy)
    assert GROUP["protocol"]["enum"] == [AUTO, *asked_protocols()]
    assert GROUP["protocol"]["default"] == AUTO


def _within(name: str) -> set[str]:
    contents = SETTINGS[name].contents
    assert contents is not None
    return {row.name for row in contents.rows}


def _described(schema: dict[str, Any], row: Setting, where: str) -> Iterator[str]:
    """Every setting at or within a row that the schema describes."""
    assert schema["description"].strip(), where
    yield where
    if row.contents is not None:
        within = {"object": schema, "by name": schema.get("additionalProperties"), "list": schema.get("items")}
        for one in row.contents.rows:
            yield from _described(within[row.contents.nesting]["properties"][one.name], one, f"{where}.{one.name}")


def test_an_editor_can_complete_and_explain_every_setting_of_a_group_at_any_depth() -> None:
    described = [where for row in OF_A_GROUP for where in _described(GROUP[row.name], row, row.name)]
    assert {"request.truncation", "modelRequests.team", "timeouts.idle", "retry.attempts", "models.id"} <= {*described}
    words = GROUP["request"]["properties"]["systemAs"]
    assert len(words["enum"]) == len(words["enumDescriptions"]) > 1


def test_adding_a_group_asks_for_three_things_and_inserts_no_snippet() -> None:
    assert list(ASKED) == ["baseUrl", "protocol", "apiKey"]
    assert CONFIGURATION["required"] == ["baseUrl"]
    # VS Code opens the file and inserts a snippet if it cannot ask for one of the properties at the top.
    assert {schema["type"] for schema in ASKED.values()} == {"string"}
    assert not any("defaultSnippets" in schema for schema in ASKED.values())
    assert "additionalProperties" not in CONFIGURATION


def test_the_dialog_says_what_each_protocol_is() -> None:
    protocol = ASKED["protocol"]
    assert protocol["enumItemLabels"] == [
        "Automatic",
        "OpenResponses",
        "Chat Completions",
        "Anthropic Messages",
        "Gemini",
        "Ollama",
        "Vercel AI Gateway",
        "AG-UI",
    ]
    assert len(protocol["enumDescriptions"]) == len(protocol["enum"])
    assert all(protocol["enumDescriptions"])


def test_no_text_of_the_manifest_points_at_a_page_that_is_not_packed() -> None:
    assert "docs/" not in json.dumps(MANIFEST)


def test_the_key_is_the_one_secret_of_a_group() -> None:
    assert [name for name, schema in GROUP.items() if schema.get("secret")] == ["apiKey"]


def test_everything_bundled_is_pinned_with_hashes() -> None:
    source = (ROOT / "scripts" / "build_vsix.py").read_text(encoding="utf-8")
    bundled = re.search(r"^BUNDLED = \((.+)\)$", source, re.MULTILINE)
    assert bundled
    lock = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    for name in re.findall(r'"(.+?)"', bundled[1]):
        assert re.search(rf"^{name}==.*\\\n    --hash=sha256:", lock, re.MULTILINE), name
