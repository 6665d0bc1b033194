"""What a client needs to ask a server: its settings as values, and its own files, changed as text and back again.

A client is a row of `clients.toml`: the wires that it speaks, and what gives its settings for a server. A file of a
client keeps its comments, its order and its spaces, because it belongs to a person: only members of JSON, keys and
tables of TOML, and two simple forms of YAML are changed. As in the user's own file
(docs/decisions/0014-the-file-is-changed-as-text.md), a change of TOML counts only if the standard library reads the new
text as the old document with the change in it. No YAML is read beyond its lines; what is more than that is left to a
person, and said so (YAML 1.2.2, of which JSON's texts are a part).

A record holds for each file what was put where and what was there before. While nothing else changes the file, taking
back restores its bytes; afterwards only the values that are still ours go, and what others wrote over them stays.

Sources of the rows: the documentation of each client, and a run of each against a server on loopback, whose requests
are kept in `tests/fixtures/agents`. Knows no socket and no screen: `partstream connect` asks the server for its models
and says what was done.
"""

from __future__ import annotations
import hashlib
import json
import re
import shlex
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from enum import StrEnum
from pathlib import Path
from string import Template
from types import MappingProxyType
from typing import Any, Final

from partstream.codec.checks import dataclass, field
from partstream.codec.json_codec import loads
from partstream.codec.settings_files import (
    FileForm,
    Key,
    Member,
    Node,
    Splice,
    UnusableTextError,
    applied,
    loads_toml,
    newline_of,
    read_nodes,
    taken_back,
)
from partstream.codec.system import make_private_folder
from partstream.config.editing import TomlFile, edit_file, editing_alone
from partstream.settings.kinds import ConfigurationError

# ---- JSON files ----

_INDENTATION: Final = re.compile(r"\n([ \t]+)\S")
_BLANK: Final = " \t"


class JsonFile(FileForm):
    """JSON, also with comments."""

    def means(self, text: str, key: Key, value: Any) -> bool:  # noqa: D102
        node = _node(text, key)
        return node is not None and bool(node.value == value)

    def without(self, text: str, key: Key) -> tuple[Splice, ...]:  # noqa: D102
        splices: list[Splice] = []
        for length in range(len(key), 0, -1):
            node = _node(text, key[:length])
            if node is None or (length < len(key) and node.members):
                break
            new = self._removed(text, key[:length])
            text = applied(text, new)
            splices += new
        return tuple(splices)

    def _place(self, text: str, key: Key) -> tuple[int, int] | None:
        node = _node(text, key)
        return None if node is None else (node.start, node.end)

    def _written(self, text: str, key: Key, value: Any) -> tuple[str, ...]:
        indentation = _indentation(text)
        lines = json.dumps(value, ensure_ascii=False, indent=indentation).splitlines()
        return ((newline_of(text) + indentation * len(key)).join(lines),)

    def _added(self, text: str, key: Key, written: str) -> Splice:
        if not text.strip("\ufeff \t\r\n"):
            lines = self._nested(text, key, written, 0)
            return Splice(0, text, "{" + lines + newline_of(text) + "}" + newline_of(text))
        node, depth = read_nodes(text), 0
        while node.members is not None:
            member = next((one for one in node.members if one.name == key[depth]), None)
            if member is None:
                return self._new_member(text, node, key[depth:], written, depth)
            node, depth = member.node, depth + 1
        raise UnusableTextError(f"no object in {'.'.join(key[:depth]) or 'the file'}", "an object")

    def _nested(self, text: str, key: Key, written: str, depth: int) -> str:
        """A member and the objects around it, each on a line of its own."""
        line = newline_of(text) + _indentation(text) * (depth + 1)
        name = f"{line}{json.dumps(key[0], ensure_ascii=False)}: "
        if len(key) == 1:
            return name + written
        return name + "{" + self._nested(text, key[1:], written, depth + 1) + line + "}"

    def _new_member(self, text: str, node: Node, key: Key, written: str, depth: int) -> Splice:
        """A new member after the last one of an object."""
        member = self._nested(text, key, written, depth)
        if not node.members:
            said = text[node.start + 1 : node.end - 1].rstrip()
            gap = text[node.start + 1 + len(said) : node.end - 1]
            end = newline_of(text) + _indentation(text) * depth
            return Splice(node.start + 1 + len(said), gap, member + end)
        last = node.members[-1]
        if last.comma is not None:
            return Splice(last.comma + 1, "", member + ",")
        return Splice(last.node.end, "", "," + member)

    def _removed(self, text: str, key: Key) -> list[Splice]:
        """A member goes with its line, and with the comma after or before it."""
        around = _node(text, key[:-1])
        members = [] if around is None or around.members is None else around.members
        place = next(number for number, one in enumerate(members) if one.name == key[-1])
        member = members[place]
        start, end = _line_of(text, member)
        splices = [Splice(start, text[start:end], "")]
        if place == len(members) - 1 and member.comma is None and place:
            comma = members[place - 1].comma
            if comma is not None:
                splices.append(Splice(comma, ",", ""))
        return splices


def _node(text: str, key: Key) -> Node | None:
    if not text.strip("\ufeff \t\r\n"):
        return None
    node: Node | None = read_nodes(text)
    for name in key:
        members = (node.members if node is not None else None) or []
        node = next((one.node for one in members if one.name == name), None)
    return node


def _line_of(text: str, member: Member) -> tuple[int, int]:
    """What a member takes: from its line's begin to its end with the comma, where nothing else is on the line."""
    end = member.node.end if member.comma is None else member.comma + 1
    start = member.start
    while start and text[start - 1] in _BLANK:
        start -= 1
    after = end
    while after < len(text) and text[after] in _BLANK:
        after += 1
    if start and text[start - 1] == "\n" and text[after : after + 1] in {"\r", "\n", "}", ""}:
        start -= 2 if text[start - 2 : start] == "\r\n" else 1
        return start, after if text[after : after + 1] in {"\r", "\n"} else end
    return member.start, end


def _indentation(text: str) -> str:
    found = _INDENTATION.search(text)
    return "  " if found is None else found[1]


# ---- YAML files ----

_YAML_NOTHING: Final = re.compile(r"[ \t]*(#.*)?|---|%.*")
_PLAIN: Final = re.compile(r"[A-Za-z][\w./-]*", re.ASCII)
_WORDS: Final = frozenset({"true", "false", "null", "yes", "no", "on", "off", "y", "n"})
_ONE_LINE: Final = re.compile(
    r"""("(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|[^\s"'&*!|>{}\[\]#%@`][^#\r\n]*?)(?=[ \t]*(?:#.*)?$)"""
)
"""A text that ends on its line."""


class YamlNames(FileForm):
    """A file of names with a text each."""

    def with_written(self, text: str, key: Key, written: str) -> tuple[Splice, ...]:  # noqa: D102
        _check_lines(text, re.compile(r"[^\s\-?&*!|>%@`,\[\]{}].*:.*"), "names with a value each")
        return super().with_written(text, key, written)

    def _place(self, text: str, key: Key) -> tuple[int, int] | None:
        return _text_of(text, key[0])

    def _whole_place(self, text: str, key: Key) -> tuple[int, int] | None:
        if (place := _text_of(text, key[0])) is None:
            return None
        return text.rfind("\n", 0, place[0]) + 1, text.find("\n", place[1]) + 1 or len(text)

    def _written(self, _text: str, _key: Key, value: Any) -> tuple[str, ...]:
        return _yaml_text(value), json.dumps(value, ensure_ascii=False), f"'{value}'"

    def _added(self, text: str, key: Key, written: str) -> Splice:
        return _at_the_end(text, f"{key[0]}: {written}" + newline_of(text))


class YamlList(FileForm):
    """A file that is a list. A key is the name and the text by which an entry is known."""

    def with_written(self, text: str, key: Key, written: str) -> tuple[Splice, ...]:  # noqa: D102
        _check_lines(text, re.compile(r"-[ \t].*|-"), "a list of entries that begin with a dash at the margin")
        return super().with_written(text, key, written)

    def _place(self, text: str, key: Key) -> tuple[int, int] | None:
        return _entry(text, key)

    def _written(self, text: str, _key: Key, value: Any) -> tuple[str, ...]:
        return (_block(value, newline_of(text)),)

    def _added(self, text: str, _key: Key, written: str) -> Splice:
        return _at_the_end(text, written)


def _check_lines(text: str, form: re.Pattern[str], expected: str) -> None:
    """Lets a text pass whose lines at the margin have a form."""
    for number, line in enumerate(text.splitlines(), 1):
        if line[:1] not in {" ", "\t"} and not _YAML_NOTHING.fullmatch(line) and not form.fullmatch(line):
            raise UnusableTextError(f"another form in line {number}", expected)


def _text_of(text: str, name: str) -> tuple[int, int] | None:
    """Where the text of a name is; an error if it does not end on the line of its name."""
    line = re.search(rf"^(?:{re.escape(name)}|\"{re.escape(name)}\"|'{re.escape(name)}')[ \t]*:", text, re.MULTILINE)
    if line is None:
        return None
    found = re.compile(r"[ \t]+" + _ONE_LINE.pattern, re.MULTILINE).match(text.replace("\r\n", " \n"), line.end())
    if found is None:
        raise UnusableTextError(f"{name} with a value of more than one line", "a text on its line")
    return found.span(1)


def _entry(text: str, key: Key) -> tuple[int, int] | None:
    """The lines of the entry that says a text for a name; comments after it belong to what follows."""
    lines = text.splitlines(keepends=True)
    starts = [number for number, line in enumerate(lines) if line.startswith("-")]
    name, value = map(re.escape, key)
    says = re.compile(rf"^(?:- |  )[ \t]*{name}[ \t]*:[ \t]+[\"']?{value}[\"']?[ \t]*(?:#.*)?\r?$", re.MULTILINE)
    for start, following in zip(starts, [*starts[1:], len(lines)], strict=False):
        end = following
        while end > start and _YAML_NOTHING.fullmatch(lines[end - 1].rstrip("\r\n")):
            end -= 1
        if says.search("".join(lines[start:end])):
            return sum(map(len, lines[:start])), sum(map(len, lines[:end]))
    return None


def _at_the_end(text: str, new: str) -> Splice:
    return Splice(len(text), "", new if not text or text.endswith("\n") else newline_of(text) + new)


def _block(values: Mapping[str, Any], newline: str) -> str:
    lines = (f"{name}: {_yaml_text(value)}" for name, value in values.items())
    return "- " + f"{newline}  ".join(lines) + newline


def _yaml_text(value: Any) -> str:
    if isinstance(value, str) and _PLAIN.fullmatch(value) and value.lower() not in _WORDS:
        return value
    return json.dumps(value, ensure_ascii=False)


# ---- Servers ----

_IS_WINDOWS: Final = sys.platform == "win32"
_ANY: Final = "none"
"""The word in place of a token for a server that asks for none."""


@dataclass(frozen=True, slots=True)
class TokenPlace:
    """Where a client finds the token. The token itself is in no setting."""

    variable: str  # an environment variable that holds it, unless a file does
    file: Path | None = None
    # whether the server asks for one; without it, clients that insist on one get a word in its place
    is_needed: bool = True

    @property
    def command(self) -> tuple[str, ...]:
        """A program that prints the token, with its arguments."""
        if not self.is_needed:
            return ("cmd", "/c", "echo", _ANY) if _IS_WINDOWS else ("echo", _ANY)
        if self.file is None:
            return ("cmd", "/c", f"echo %{self.variable}%") if _IS_WINDOWS else ("printenv", self.variable)
        return ("cmd", "/c", "type", str(self.file)) if _IS_WINDOWS else ("cat", str(self.file))

    @property
    def in_braces(self) -> str:
        """The token as opencode's own file refers to it."""
        if not self.is_needed:
            return _ANY
        return f"{{env:{self.variable}}}" if self.file is None else f"{{file:{self.file}}}"

    @property
    def in_shell(self) -> str:
        """The token as a POSIX shell writes it down without showing it."""
        if not self.is_needed:
            return _ANY
        return f'"${self.variable}"' if self.file is None else f'"$(cat {shlex.quote(str(self.file))})"'


@dataclass(frozen=True, slots=True)
class Server:
    """A server and one of its models."""

    root: str  # its URL, without a slash at the end and without a path of a wire
    model: str
    token: TokenPlace
    window: int | None = None  # the tokens that the model takes and gives together, or None where it is unknown
    output: int | None = None  # the tokens of its longest answer, or None

    @property
    def v1(self) -> str:
        """The base URL of clients that want the version in it."""
        return f"{self.root}/v1"


# ---- Clients ----


@dataclass(frozen=True, slots=True)
class ClientSettingsFile:
    """A file in which a client keeps the settings of its user."""

    folder: str  # its folder in the home of the user
    names: tuple[str, ...]  # its names, of which the first that exists counts, else the first
    variable: str = ""  # the environment variable that names another folder, or empty
    mac: str = ""  # the folder on macOS, if it is another one

    def path(self, environment: Mapping[str, str]) -> Path:
        """Where it is, whether it exists or not."""
        named = environment.get(self.variable, "") if self.variable else ""
        usual = self.mac if self.mac and sys.platform == "darwin" else self.folder
        folder = Path(named) if named else Path.home() / usual
        return next((folder / name for name in self.names if (folder / name).is_file()), folder / self.names[0])


@dataclass(frozen=True, slots=True)
class FileSettings:
    """Values for a file, by their keys; a longer key is an object or a table around the value."""

    file: ClientSettingsFile
    form: FileForm
    values: Mapping[Key, Any]

    def shown(self) -> str:
        """A file with these values alone."""
        text = ""
        for key, value in self.values.items():
            text = applied(text, self.form.with_value(text, key, value))
        return text


@dataclass(frozen=True, slots=True)
class Program:
    """What a program says to a library."""

    language: str
    text: str


@dataclass(frozen=True, slots=True)
class Settings:
    """What a client has to be told."""

    files: tuple[FileSettings, ...] = ()
    # environment variables, by name; a place of the token is put for the token
    environment: Mapping[str, str | TokenPlace] = field(default_factory=lambda: MappingProxyType({}))
    is_environment_enough: bool = False  # whether the variables do without the files
    program: Program | None = None

    def exports(self) -> list[str]:
        """The variables as lines of a POSIX shell."""
        return [
            f"export {name}={value.in_shell if isinstance(value, TokenPlace) else shlex.quote(value)}"
            for name, value in self.environment.items()
        ]


@dataclass(frozen=True, slots=True)
class Client:
    """A client."""

    name: str  # what `partstream connect` calls it
    title: str  # what its makers call it
    package: str  # where it is had, such as `npm: @openai/codex`
    # the wires that it speaks, by words of people; the first is taken unless another is asked for
    wires: tuple[str, ...]
    settings: Callable[[Server, str], Settings]
    # the words of the command that starts it, with `{model}` for the model; none for a library
    run: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()  # what a person has to know, in sentences


# ---- Programs that people talk to; versions: docs/maintainers/clients.md ----

RESPONSES: Final = "responses"
WEBSOCKET: Final = "websocket"
CHAT: Final = "chat"
MESSAGES: Final = "messages"

_PROVIDER: Final = "partstream"
_USUAL_WINDOW: Final = 128_000
_USUAL_OUTPUT: Final = 16_384
"""Tokens, for clients that need a number where no server reports one."""

_CODEX: Final = ClientSettingsFile(".codex", ("config.toml",), "CODEX_HOME")
_CLAUDE: Final = ClientSettingsFile(".claude", ("settings.json",), "CLAUDE_CONFIG_DIR")
_OPENCODE: Final = ClientSettingsFile(
    ".config", ("opencode/opencode.json", "opencode/opencode.jsonc"), "XDG_CONFIG_HOME"
)
_QWEN: Final = ClientSettingsFile(".qwen", ("settings.json",))
_GEMINI: Final = ClientSettingsFile(".gemini", ("settings.json",))
_AIDER: Final = ClientSettingsFile("", (".aider.conf.yml",))
_LLM: Final = ClientSettingsFile(
    ".config/io.datasette.llm",
    ("extra-openai-models.yaml",),
    "LLM_USER_PATH",
    "Library/Application Support/io.datasette.llm",
)
_OPENCODE_PACKAGES: Final = {CHAT: "openai-compatible", RESPONSES: "openai", MESSAGES: "anthropic"}


def _codex(server: Server, wire: str) -> Settings:
    provider: dict[str, Any] = {"name": "Partstream", "base_url": server.v1, "wire_api": "responses"}
    token = server.token
    if token.is_needed and token.file is None:
        provider["env_key"] = token.variable
    elif token.is_needed:
        # Only where a command says the token, Codex asks for a list of models. From an entry of that list it takes the
        # instructions in place of its own, so its settings ask for none (tried with 0.169.0; see
        # `partstream.protocols.model_documents`).
        program, *arguments = token.command
        provider["auth"] = {"command": program, "args": arguments}
        provider["model_catalog_url"] = f"{server.v1}/models?models=none"
    if wire == WEBSOCKET:
        provider["supports_websockets"] = True
    values: dict[Key, Any] = {("model",): server.model, ("model_provider",): _PROVIDER}
    if server.window is not None:
        values["model_context_window",] = server.window
    values["model_providers", _PROVIDER] = provider
    return Settings((FileSettings(_CODEX, TomlFile(), values),))


def _claude(server: Server, _wire: str) -> Settings:
    asked = {
        "ANTHROPIC_BASE_URL": server.root,
        "ANTHROPIC_MODEL": server.model,
        "ANTHROPIC_DEFAULT_HAIKU_MODEL": server.model,
        "ANTHROPIC_DEFAULT_SONNET_MODEL": server.model,
        "ANTHROPIC_DEFAULT_OPUS_MODEL": server.model,
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "CLAUDE_CODE_ATTRIBUTION_HEADER": "0",
        **({} if server.window is None else {"CLAUDE_CODE_MAX_CONTEXT_TOKENS": str(server.window)}),
    }
    values: dict[Key, Any] = {("env", name): value for name, value in asked.items()}
    values["apiKeyHelper",] = shlex.join(server.token.command)
    environment: dict[str, str | TokenPlace] = {**asked, "ANTHROPIC_AUTH_TOKEN": server.token}
    return Settings((FileSettings(_CLAUDE, JsonFile(), values),), environment, is_environment_enough=True)


def _opencode(server: Server, wire: str) -> Settings:
    limit = {"context": server.window or _USUAL_WINDOW, "output": server.output or _USUAL_OUTPUT}
    provider = {
        "npm": f"@ai-sdk/{_OPENCODE_PACKAGES[wire]}",
        "name": "Partstream",
        "options": {"baseURL": server.v1, "apiKey": server.token.in_braces},
        "models": {server.model: {"limit": limit}},
    }
    values = {
        ("provider", _PROVIDER): provider,
        ("model",): f"{_PROVIDER}/{server.model}",
        ("small_model",): f"{_PROVIDER}/{server.model}",
    }
    return Settings((FileSettings(_OPENCODE, JsonFile(), values),))


def _copilot(server: Server, wire: str) -> Settings:
    return Settings(
        environment={
            "COPILOT_PROVIDER_TYPE": "anthropic" if wire == MESSAGES else "openai",
            "COPILOT_PROVIDER_BASE_URL": server.root if wire == MESSAGES else server.v1,
            **({"COPILOT_PROVIDER_WIRE_API": "responses"} if wire == RESPONSES else {}),
            "COPILOT_PROVIDER_BEARER_TOKEN": server.token,
            "COPILOT_MODEL": server.model,
            "COPILOT_OFFLINE": "true",
        },
        is_environment_enough=True,
    )


def _qwen(server: Server, _wire: str) -> Settings:
    model: dict[str, Any] = {"id": server.model, "name": server.model, "baseUrl": server.v1}
    model["envKey"] = server.token.variable
    if server.window is not None:
        model["generationConfig"] = {"contextWindowSize": server.window}
    values = {
        ("modelProviders", "openai"): [model],
        ("security", "auth", "selectedType"): "openai",
        ("model", "name"): server.model,
    }
    return Settings((FileSettings(_QWEN, JsonFile(), values),), _token_as_variable(server.token))


def _token_as_variable(token: TokenPlace) -> dict[str, str | TokenPlace]:
    """The variable of the token, for clients that look nowhere else; unless it is set anyway."""
    return {} if token.file is None and token.is_needed else {token.variable: token}


def _gemini(server: Server, _wire: str) -> Settings:
    return Settings(
        (FileSettings(_GEMINI, JsonFile(), {("security", "auth", "selectedType"): "gemini-api-key"}),),
        {"GOOGLE_GEMINI_BASE_URL": server.root, "GEMINI_API_KEY": server.token, "GEMINI_MODEL": server.model},
    )


def _aider(server: Server, _wire: str) -> Settings:
    values: dict[Key, Any] = {("openai-api-base",): server.v1, ("model",): f"openai/{server.model}"}
    return Settings((FileSettings(_AIDER, YamlNames(), values),), {"OPENAI_API_KEY": server.token})


def _llm(server: Server, _wire: str) -> Settings:
    name = f"{_PROVIDER}/{server.model}"
    entry: dict[str, Any] = {
        "model_id": name,
        "model_name": server.model,
        "api_base": server.v1,
        "api_key_name": _PROVIDER,
    }
    entry |= {"can_stream": True, "supports_tools": True, "vision": True}
    return Settings((FileSettings(_LLM, YamlList(), {("model_id", name): entry}),), {"OPENAI_API_KEY": server.token})


_AGENTS: Final[Mapping[str, Callable[[Server, str], Settings]]] = {
    "codex": _codex,
    "claude": _claude,
    "opencode": _opencode,
    "copilot-cli": _copilot,
    "qwen-code": _qwen,
    "gemini-cli": _gemini,
    "aider": _aider,
    "llm": _llm,
}
"""The settings of the rows that are no libraries."""

# ---- The rows ----

_quoted: Final = json.dumps
"""A text in the languages of all programs."""


def _library(row: Mapping[str, Any]) -> Callable[[Server, str], Settings]:
    """The settings of a library: variables, which are enough unless the row has none, and a program."""

    def settings(server: Server, wire: str) -> Settings:
        urls = {"root": server.root, "v1": server.v1}
        words = {**urls, "variable": server.token.variable, "model": _quoted(server.model)}
        program = Program(row["language"], Template(row["programs"][wire]).substitute(words))
        if "environment" not in row:
            return Settings(environment=_token_as_variable(server.token), program=program)
        environment = {
            name: server.token if value == "$token" else Template(value).substitute(urls)
            for name, value in row["environment"].items()
        }
        return Settings(environment=environment, is_environment_enough=True, program=program)

    return settings


def _read_clients() -> Iterator[Client]:
    """The rows of `clients.toml`, which says what their fields mean."""
    document = loads_toml(Path(__file__).with_name("clients.toml").read_text(encoding="utf-8"))
    for row in document["clients"]:
        settings = _AGENTS[row["name"]] if "run" in row else _library(row)
        notes = tuple(Template(note).substitute(refusals=document["refusals"]) for note in row.get("notes", ()))
        run = tuple(row.get("run", ()))
        yield Client(row["name"], row["title"], row["package"], tuple(row["wires"]), settings, run, notes)


CLIENTS: Final = MappingProxyType({client.name: client for client in _read_clients()})


# ---- Editors that start `partstream acp` ----


@dataclass(frozen=True, slots=True)
class Editor:
    """An editor that speaks the Agent Client Protocol. It starts our program by itself, so no server has to run."""

    name: str
    title: str
    # the settings for an agent of a name, and the words of its command
    settings: Callable[[str, Sequence[str]], Settings]
    notes: tuple[str, ...] = ()  # as of a client


_ZED: Final = ClientSettingsFile(".config/zed", ("settings.json",))
_JETBRAINS: Final = ClientSettingsFile(".jetbrains", ("acp.json",))


def _agent_server(file: ClientSettingsFile, **more: str) -> Callable[[str, Sequence[str]], Settings]:
    def settings(agent: str, words: Sequence[str]) -> Settings:
        entry = {**more, "command": words[0], "args": [*words[1:]], "env": {}}
        return Settings((FileSettings(file, JsonFile(), {("agent_servers", agent): entry}),))

    return settings


def _neovim(agent: str, words: Sequence[str]) -> Settings:
    name, (program, *rest) = _quoted(agent), [json.dumps(word, ensure_ascii=False) for word in words]
    entry = f"[{name}] = {{ command = {program}, args = {{ {', '.join(rest)} }} }}"
    lines = ('require("avante").setup({', f"  provider = {name},", f"  acp_providers = {{ {entry} }},", "})")
    return Settings(program=Program("Lua", "\n".join(lines) + "\n"))


EDITORS: Final = MappingProxyType(
    {
        editor.name: editor
        for editor in (
            Editor("zed", "Zed", _agent_server(_ZED, type="custom"), ("It is in the menu of new threads.",)),
            Editor("jetbrains", "JetBrains AI Assistant", _agent_server(_JETBRAINS)),
            Editor("neovim", "Neovim with avante.nvim", _neovim),
        )
    }
)

# ---- Writing and taking back ----

_MOST_BYTES: Final = 4 * 1024 * 1024


class Done(StrEnum):
    """What was done to a file, in words."""

    WRITTEN = "written"
    UNCHANGED = "has these settings already"
    RESTORED = "as it was before"
    CLEANED = "without these settings, and with what has changed since"
    REMOVED = "removed: it was not there before"
    GONE = "not there any more"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a file; `left` are the keys that stay as another wrote them."""

    path: Path
    done: Done
    left: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Entry:
    """What was done to one file: what a later undo has to know of it."""

    path: str
    existed: bool
    digest: str  # of the file after the change
    splices: Sequence[Splice] = field(repr=False)  # from the text before to the text after
    keys: Sequence[tuple[Key, Any, str | None]] = field(repr=False)  # with values, and what the text had there before


def write(settings: Sequence[tuple[Path, FileSettings]], record: Path) -> list[Outcome]:
    """Writes values into files. What an earlier call has written there, with other values, is taken back first.

    Returns:
        What became of each file.

    Raises:
        ConfigurationError: A file has a form that is not changed by a program, or another program writes it.
        OSError: A file cannot be written.
    """
    with _alone(record):  # else the record of one would be put back over that of another
        known = _read_record(record)
        planned = [_planned(path, one, known.get(str(path))) for path, one in settings]
        entries = {**known, **{entry.path: entry for _, _, entry in planned if entry is not None}}
        if any(entry is not None for _, _, entry in planned):
            # Both, in case this process is killed before the file is written: the file says which of them is right.
            _write_record(record, [*known.values(), *(entry for _, _, entry in planned if entry is not None)])
        try:
            for old, new, entry in planned:
                if entry is not None:
                    edit_file(Path(entry.path), old, new)
        except BaseException:
            _write_record(record, known.values())
            raise
        if known:
            _write_record(record, entries.values())
    return [
        Outcome(path, Done.UNCHANGED if entry is None else Done.WRITTEN)
        for (path, _), (_, _, entry) in zip(settings, planned, strict=True)
    ]


def take_back(settings: Sequence[tuple[Path, FileSettings]], record: Path) -> list[Outcome]:
    """Takes back what was written into the files.

    Returns:
        What became of each file that was written.

    Raises:
        ConfigurationError: As :func:`write`.
        OSError: As :func:`write`.
    """
    forms = {str(path): one.form for path, one in settings}
    outcomes: list[Outcome] = []
    if not record.exists():
        return outcomes
    with _alone(record):
        known = _read_record(record)
        for path in [path for path in known if path in forms]:
            outcomes.append(_undone(known[path], forms[path]))
            del known[path]
            _write_record(record, known.values())
    return outcomes


@contextmanager
def _alone(record: Path) -> Iterator[None]:
    """Lets no other process write or take back for the same client meanwhile."""
    make_private_folder(record.parent)
    with editing_alone(record.with_suffix(".client")):  # the lock of the record itself is for `edit_file`
        yield


def _planned(path: Path, settings: FileSettings, entry: _Entry | None) -> tuple[bytes, str, _Entry | None]:
    """The bytes of a file, its new text and what to remember; nothing to remember where nothing has to change."""
    data = _bytes_of(path)
    text = _written_text_of(path, data)
    form = settings.form
    try:
        wanted = list(settings.values.items())
        is_ours = entry is None or [(key, value) for key, value, _ in entry.keys] == wanted
        if is_ours and all(form.means(text, *one) for one in wanted):
            return data, text, None
        new = text if entry is None else _without_ours(text, entry, form)[0]
        splices: list[Splice] = []
        keys: list[tuple[Key, Any, str | None]] = []
        for key, value in wanted:
            keys.append((key, value, form.found(new, key)))
            change = form.with_value(new, key, value)
            new = applied(new, change)
            splices += change
    except UnusableTextError as error:
        raise ConfigurationError(str(path), error.got, error.expected) from None
    existed = path.exists() if entry is None else entry.existed
    return data, new, _Entry(str(path), existed, _digest(new.encode()), splices, keys)


def _undone(entry: _Entry, form: FileForm) -> Outcome:
    path = Path(entry.path)
    if not path.exists():
        return Outcome(path, Done.GONE)
    data = _bytes_of(path)
    try:
        text, left = _without_ours(_written_text_of(path, data), entry, form)
    except UnusableTextError as error:
        raise ConfigurationError(str(path), error.got, error.expected) from None
    if not entry.existed and not text.strip():
        path.unlink()
        return Outcome(path, Done.REMOVED)
    if text.encode() != data:
        edit_file(path, data, text)
    return Outcome(path, Done.RESTORED if _digest(data) == entry.digest else Done.CLEANED, left)


def _without_ours(text: str, entry: _Entry, form: FileForm) -> tuple[str, tuple[str, ...]]:
    """The text without what was written, and the keys that another has written since."""
    if _digest(text.encode()) == entry.digest:
        with suppress(ValueError):
            return taken_back(text, entry.splices), ()
    left = []
    for key, value, before in reversed(entry.keys):
        if not form.means(text, key, value):
            if form.found(text, key) is not None:
                left.append(".".join(key))
            continue
        change = form.without(text, key) if before is None else form.with_written(text, key, before)
        text = applied(text, change)
    return text, tuple(reversed(left))


def _bytes_of(path: Path) -> bytes:
    if not path.is_file():
        return b""
    with path.open("rb") as file:
        data = file.read(_MOST_BYTES + 1)
    if len(data) > _MOST_BYTES:
        raise ConfigurationError(str(path), f"more than {_MOST_BYTES:,} bytes", "a file of settings")
    return data


def _written_text_of(path: Path, data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise ConfigurationError(str(path), f"no UTF-8 at byte {error.start}", "a text in UTF-8") from None


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _read_record(path: Path) -> dict[str, _Entry]:
    if not path.is_file():
        return {}
    try:
        rows = loads(path.read_bytes())
        entries = []
        for row in rows:
            keys = [(tuple(key), value, before) for key, value, before in row["keys"]]
            splices = [Splice(*one) for one in row["splices"]]
            entries.append(_Entry(row["path"], row["existed"], row["digest"], splices, keys))
    except (ValueError, KeyError, TypeError):
        raise ConfigurationError(str(path), "no record of what was written", "that it is removed") from None
    newest = {entry.path: entry for entry in entries}
    return newest | {one.path: one for one in entries if one.digest == _digest(_bytes_of(Path(one.path)))}


def _write_record(path: Path, entries: Collection[_Entry]) -> None:
    """The record, readable for its user alone, since what it holds may have been a key; gone when it says nothing."""
    if not entries:
        path.unlink(missing_ok=True)
        return
    rows = [
        {"path": one.path, "existed": one.existed, "digest": one.digest, "splices": one.splices, "keys": one.keys}
        for one in entries
    ]
    edit_file(path, _bytes_of(path), json.dumps(rows, indent=1) + "\n")
