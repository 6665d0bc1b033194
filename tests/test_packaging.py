"""The built .vsix: what is in it, and that its sidecar runs on every Python of this machine."""

from __future__ import annotations
import json
import re
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from extension_manifest import MANIFEST
from partstream import __version__
from partstream.config.table import SETTINGS
from partstream.protocols.protocol import AUTO, asked_protocols
from partstream.settings.row import SettingSource
from partstream.upstream.model_information import LimitPolicy
from tools.release.contents import faults_of_extension
from tools.release.pythons import found_pythons
from tools.release.sidecar import Sidecar, initialize_params

if TYPE_CHECKING:
    from collections.abc import Iterator

    from partstream.settings.row import Setting

ROOT = Path(__file__).parent.parent
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


def _built() -> Path:
    built = ROOT / "dist" / f"partstream-{__version__}.vsix"
    if not built.exists():
        pytest.skip(f"{built.name} is not built: make vsix")
    return built


@pytest.fixture(scope="session")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that VS Code would make of the built .vsix."""
    folder = tmp_path_factory.mktemp("vsix")
    with zipfile.ZipFile(_built()) as archive:
        archive.extractall(folder)
    return folder / "extension"


@pytest.fixture(params=found_pythons().values(), ids=found_pythons())
def sidecar(request: pytest.FixtureRequest, package: Path, tmp_path: Path) -> Iterator[Sidecar]:
    with Sidecar.of_extension(request.param, package / "bundled" / "libs", tmp_path) as sidecar:
        yield sidecar


def _result(sidecar: Sidecar, method: str, params: Any) -> Any:
    answer = sidecar.ask(method, params)
    assert "error" not in answer, answer
    return answer["result"]


def test_the_packaged_sidecar_serves_a_provider_on_every_python(sidecar: Sidecar, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(PROVIDER)
    own = {"source": str(tmp_path / "mine.py"), "name": "mine"}
    opened = _result(sidecar, "initialize", initialize_params(own))
    assert opened["serverInfo"]["version"] == __version__
    listed = _result(sidecar, "languageModels/information", {"group": None, "silent": True})
    assert listed["errors"] == []
    model = listed["models"][0]["id"]
    counted = _result(sidecar, "languageModels/tokenCount", {"group": None, "model": model, "items": [{"text": "a"}]})
    assert [count["count"] for count in counted["counts"]] == [42]
    messages = [{"role": 1, "content": [{"type": "text", "value": "hello dear world"}]}]
    _result(
        sidecar,
        "languageModels/response",
        {"group": None, "model": model, "messages": messages, "options": {}, "progressToken": 1},
    )
    reports = [one["params"]["value"] for one in sidecar.notifications if one["method"] == "$/progress"]
    parts = [part for report in reports for part in report["parts"]]
    assert "".join(part["value"] for part in parts if part["type"] == "text") == "hello dear world "
    assert sidecar.end() == 0


AGENT = """
from mine import Echo

class Agent:
    def __partstream_model__(self):
        return Echo()

agent = Agent()
"""


def test_the_packaged_sidecar_finds_agents_and_recordings_by_their_entry_points(
    sidecar: Sidecar, tmp_path: Path
) -> None:
    (tmp_path / "mine.py").write_text(PROVIDER)
    (tmp_path / "my_agent.py").write_text(AGENT)
    own = {"source": str(tmp_path / "my_agent.py"), "name": "agent"}
    _result(sidecar, "initialize", initialize_params(own))
    listed = _result(sidecar, "languageModels/information", {"group": None, "silent": True})
    assert (listed["errors"], [model["name"] for model in listed["models"]]) == ([], ["Echo"])
    page = sidecar.ask("languageModels/page", {"page": "inspector", "nonce": "0" * 16, "source": ""})
    assert page["error"]["message"].startswith("There is no answer to inspect yet")


def test_the_packaged_gateway_loads_on_every_python(sidecar: Sidecar) -> None:
    _result(sidecar, "initialize", initialize_params())
    group = {"id": "g", "configuration": {"baseUrl": "http://127.0.0.1:9/v1", "models": [{"id": "m"}]}}
    listed = _result(sidecar, "languageModels/information", {"group": group, "silent": True})
    assert (listed["errors"], [model["id"] for model in listed["models"]]) == ([], ["m"])


def test_the_package_holds_the_libraries_that_the_sidecar_imports_and_no_others() -> None:
    with zipfile.ZipFile(_built()) as archive:
        assert faults_of_extension(archive, ROOT) == []


def test_the_package_is_no_larger_than_it_has_to_be() -> None:
    """ACP agents and bounds took 50 kB, pages of first steps 6 kB, completions, money without a hub and the dialogs in
    Python 76 kB: docs/maintainers/releasing.md has the sizes."""
    assert _built().stat().st_size < 2_400_000


def test_the_package_holds_no_compiled_code_and_every_licence(package: Path) -> None:
    libraries = package / "bundled" / "libs"
    assert not [path for path in libraries.rglob("*") if path.suffix in {".so", ".pyd", ".dylib", ".pyc"}]
    for distribution in libraries.glob("*.dist-info"):
        assert [path for path in distribution.rglob("*") if path.name.upper().startswith("LICEN")], distribution.name
    assert (package / "LICENSE.txt").exists()


def test_the_package_holds_nothing_but_what_runs_or_is_shown(package: Path) -> None:
    top = {path.name for path in package.iterdir()}
    shown = {"changelog.md", "docs", "l10n", "media", "package.json", "package.nls.json", "readme.md"}
    assert top == {"LICENSE.txt", "bundled", "dist", *shown}
    assert [path.name for path in (package / "l10n").iterdir()] == ["bundle.l10n.json"]
    media = [step["media"] for page in MANIFEST["contributes"]["walkthroughs"] for step in page["steps"]]
    texts = {one["markdown"] for one in media if "markdown" in one}
    pictures = {path for one in media for path in one.get("image", {}).values()}
    assert all((package / path).is_file() for path in pictures)
    pictures = {path for path in pictures if path.startswith("media/")}  # others are those of the carried pages
    assert {f"media/{path.name}" for path in (package / "media").iterdir()} == {MANIFEST["icon"]} | texts | pictures
    assert [path.name for path in (package / "dist").iterdir()] == ["extension.js"]


def test_the_readme_of_the_extension_shows_no_picture_because_vs_code_shows_none_that_is_packed() -> None:
    assert not re.search(r"!\[|<img|<picture", (ROOT / "extension/README.md").read_text(encoding="utf-8"))


def test_the_version_of_the_extension_is_the_packages_own() -> None:
    assert MANIFEST["version"] == __version__


OF_A_GROUP = [row for row in SETTINGS.values() if SettingSource.GROUP in row.places]
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
        "Google Interactions",
        "Ollama",
        "Vercel AI Gateway",
        "AG-UI",
    ]
    assert len(protocol["enumDescriptions"]) == len(protocol["enum"])
    assert all(protocol["enumDescriptions"])


def test_no_text_of_the_manifest_points_at_a_page_that_is_not_packed() -> None:
    texts = {key: value for key, value in MANIFEST.items() if key != "files"}
    assert "docs/" not in json.dumps(texts).replace('"docs/pictures/', "")


def test_the_page_that_help_opens_is_packed(package: Path) -> None:
    help_page = (ROOT / "extension" / "src" / "vscodeHelp.ts").read_text(encoding="utf-8")
    pages = re.findall(r'joinPath\(docs, "([^"]+)"', help_page)
    assert pages
    assert all((package / "docs" / page).is_file() for page in pages)


def test_the_key_is_the_one_secret_of_a_group() -> None:
    assert [name for name, schema in GROUP.items() if schema.get("secret")] == ["apiKey"]


def test_everything_bundled_is_pinned_with_hashes() -> None:
    source = (ROOT / "tools" / "build_vsix.py").read_text(encoding="utf-8")
    bundled = re.search(r"^BUNDLED = \((.+)\)$", source, re.MULTILINE)
    assert bundled
    lock = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    for name in re.findall(r'"(.+?)"', bundled[1]):
        assert re.search(rf"^{name}==.*\\\n    --hash=sha256:", lock, re.MULTILINE), name
