"""The coding agents at a vendor: one row each, with its jobs as the calls that a model would make.

The models are the default ones of these versions, because Codex, Claude Code and Gemini CLI write other requests for
other models. Where the vendor speaks another wire than the agent, it has a model of the same name, so that the request
has the same form.
"""

from __future__ import annotations
import json
import sys
from typing import TYPE_CHECKING, Any, Final

from interop.clients.agents.agent import FOLDER
from interop.clients.agents.running import TOKEN
from interop.clients.agents.table import AGENTS
from interop.clients.agents.work import DONE, SUMMARY, Commands, Job, Way, Worker
from interop.clients.vendors.chat import Chat
from interop.clients.vendors.gemini import Gemini
from interop.clients.vendors.messages import Messages
from interop.clients.vendors.responses import Responses
from interop.clients.vendors.vendor import Answer, Asked, Call, Say, Think, text_in

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

__all__ = ["WORKERS"]

_EDIT: Final = "edits a file"
_SEARCH: Final = "searches its tools"
_COMPACT: Final = "compacts"
_WEB: Final = "searches the web"
_FOUND: Final = "A quince is a fruit."
"""What the tool says that has to be found."""
_TOO_MUCH: Final = 950_000
"""Tokens of a request after which any agent compacts."""
_TOOL_SERVER: Final = [sys.executable, str(FOLDER / "tool_server.py")]
_LOOKUP: Final = {"word": "quince"}
_PACKAGES: Final = {agent.name: agent for agent in AGENTS}


def _turn(*calls: Call) -> list[Answer]:
    """The answers of a turn: a call in each, with thinking before it, and the last words."""
    return [*(Answer([Think("About quinces."), call]) for call in calls), Answer([Say(DONE)])]


def _compacted(call: Call) -> list[Answer]:
    """The answers of a turn in which the conversation has become too long after the first call."""
    return [Answer([Think("About quinces."), call], _TOO_MUCH), Answer([Say(DONE)])]


def _program(agent: str) -> list[str]:
    *runs, program = _PACKAGES[agent].program
    return [*runs, str(FOLDER / "node_modules" / program)]


def _last_words(asked: Asked) -> str:
    said = asked.body.get("messages") or asked.body.get("contents") or asked.body.get("input") or []
    return "\n".join(text_in(said[-1:]))


_CLAUDE_MODEL: Final = "claude-opus-5-5"

# ---- Codex CLI ----

_PATCH: Final = "*** Begin Patch\n*** Update File: one.txt\n@@\n-apple\n+cherry\n*** End Patch"
_PROGRAMS: Final = "gpt-6.2-sol"
"""The default model, which calls all tools from programs that it gives to one tool."""
_CALLS: Final = "gpt-5.5"
"""A model that calls each tool by itself."""


def _codex_jobs(way: Way) -> Mapping[str, Job]:
    if way.model == _PROGRAMS:
        edit = [Call("exec", f"text(await tools.apply_patch({json.dumps(_PATCH)}));")]
        names = 'text(ALL_TOOLS.map(tool => tool.name).filter(name => name.includes("words")));'
        asks = f"text(await tools.mcp__words__lookup({json.dumps(_LOOKUP)}));"
        search = [Call("exec", names), Call("exec", asks)]
        hello = Call("exec", 'text("hello");')
    elif way.model == _CLAUDE_MODEL:
        edit = [Call("exec_command", {"cmd": f"apply_patch <<'END'\n{_PATCH}\nEND"})]
        search = [Call("lookup", _LOOKUP)]
        hello = Call("exec_command", {"cmd": "echo hello"})
    else:
        edit = [Call("apply_patch", _PATCH)]
        search = [Call("tool_search", {"query": "dictionary lookup word", "limit": 3}), Call("lookup", _LOOKUP)]
        hello = Call("exec_command", {"cmd": "echo hello"})
    return {
        _EDIT: Job(lambda _file: _turn(*edit), "one.txt", file="cherry\n"),
        _SEARCH: Job(lambda _file: _turn(*search), _FOUND),
        _COMPACT: Job(lambda _file: _compacted(hello), SUMMARY, forgets=True),
    }


def _codex_commands(prompts: Sequence[str], _home: Path) -> Commands:
    return [([*_program("codex"), *_PACKAGES["codex"].arguments(one)], "") for one in prompts]


def _codex_tools(home: Path) -> Mapping[str, str]:
    command, *arguments = _TOOL_SERVER
    file = home / ".codex" / "config.toml"
    table = f"\n[mcp_servers.words]\ncommand = {json.dumps(command)}\nargs = {json.dumps(arguments)}\n"
    file.write_text(file.read_text(encoding="utf-8") + table, encoding="utf-8")
    return {}


def _codex_alone(home: Path, url: str, way: Way) -> Mapping[str, str]:
    said: dict[str, Any] = {"model": way.model, "openai_base_url": url}
    lines = [f"{name} = {json.dumps(value)}" for name, value in said.items()]
    if way.wire:
        lines = [f'model = "{way.model}"', 'model_provider = "vendor"', "[model_providers.vendor]", 'name = "Vendor"']
        lines += [f'base_url = "{url}"', 'wire_api = "responses"', 'env_key = "CODEX_API_KEY"']
        lines += ["supports_websockets = true"] if way.wire == "websocket" else []
    (home / ".codex").mkdir()
    (home / ".codex" / "config.toml").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return {"CODEX_API_KEY": TOKEN}


def _codex_aside(asked: Asked) -> bool:
    return "CONTEXT CHECKPOINT COMPACTION" in _last_words(asked)


def _codex_ways() -> Sequence[Way]:
    ways = []
    for model in (_PROGRAMS, _CALLS):
        ways += [
            Way(f"Responses, {model}", Responses, model, "responses"),
            Way(f"Responses over WebSocket, {model}", Responses, model, "websocket"),
            Way(f"as OpenAI itself (`openai_base_url`), {model}", Responses, model, ""),
        ]
    for model in (_PROGRAMS, _CALLS, _CLAUDE_MODEL):
        ways.append(Way(f"Responses, {model}, to Messages", Messages, model, "responses", is_translated=True))
    return ways


# ---- Claude Code ----


def _claude_jobs(_way: Way) -> Mapping[str, Job]:
    def edit(file: Path) -> Sequence[Answer]:
        change = {"file_path": str(file), "old_string": "apple", "new_string": "cherry"}
        return _turn(Call("Read", {"file_path": str(file)}), Call("Edit", change))

    def found(name: str, *calls: Call) -> Sequence[Answer]:
        return _turn(Call("ToolSearch", {"query": f"select:{name}", "max_results": 3}), *calls)

    tool = "mcp__words__lookup"
    compact = [Answer([Think("About quinces."), Say("Hello.")]), Answer([Say(DONE)])]
    return {
        _EDIT: Job(edit, "has been updated", file="cherry\n"),
        _SEARCH: Job(lambda _file: found(tool, Call(tool, _LOOKUP)), _FOUND),
        _COMPACT: Job(lambda _file: compact, SUMMARY, ("Say hello.", "/compact", "Go on."), forgets=True),
        _WEB: Job(
            lambda _file: found("WebSearch", Call("WebSearch", {"query": "quinces"})), "https://example.com/quinces"
        ),
    }


def _claude_commands(prompts: Sequence[str], home: Path) -> Commands:
    tools = home / "tools.json"
    command, *arguments = _TOOL_SERVER
    tools.write_text(json.dumps({"mcpServers": {"words": {"command": command, "args": arguments}}}), encoding="utf-8")
    turns = [{"type": "user", "message": {"role": "user", "content": said}} for said in prompts]
    stream = ["--output-format", "stream-json", "--verbose", "--input-format", "stream-json"]
    allowed = ["--permission-mode", "acceptEdits", "--allowedTools", "mcp__words__lookup,WebSearch"]
    said = "".join(f"{json.dumps(turn)}\n" for turn in turns)
    return [([*_program("claude"), "-p", *stream, *allowed, "--mcp-config", str(tools)], said)]


def _claude_alone(_home: Path, url: str, way: Way) -> Mapping[str, str]:
    return {
        "ANTHROPIC_BASE_URL": url.removesuffix("/v1"),
        "ANTHROPIC_API_KEY": TOKEN,
        "ANTHROPIC_MODEL": way.model,
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    }


# ---- Gemini CLI ----

_GEMINI_MODEL: Final = "gemini-3.1-pro-preview"
_GEMINI_BESIDE: Final = ("gemini-3.1-pro-preview-customtools",)
"""It writes the summaries."""


def _gemini_jobs(_way: Way) -> Mapping[str, Job]:
    def edit(file: Path) -> Sequence[Answer]:
        change = {"instruction": "Change the fruit.", "old_string": "apple", "new_string": "cherry"}
        path = {"file_path": str(file)}
        return _turn(Call("read_file", path), Call("replace", path | change))

    return {
        _EDIT: Job(edit, "Successfully modified file", file="cherry\n"),
        _COMPACT: Job(
            lambda file: [Answer([Say("Hello.")]), *_compacted(Call("read_file", {"file_path": str(file)}))],
            SUMMARY,
            ("Say hello.", "Read the file."),
            forgets=True,
        ),
    }


def _gemini_commands(prompts: Sequence[str], _home: Path) -> Commands:
    goes_on = [[], *([["--resume", "latest"]] * (len(prompts) - 1))]
    agent = _PACKAGES["gemini-cli"]
    return [
        ([*_program(agent.name), *more, *agent.arguments(one)], "") for more, one in zip(goes_on, prompts, strict=True)
    ]


def _gemini_alone(home: Path, url: str, way: Way) -> Mapping[str, str]:
    (home / ".gemini").mkdir()
    settings = {"security": {"auth": {"selectedType": "gemini-api-key"}}}
    (home / ".gemini" / "settings.json").write_text(json.dumps(settings), encoding="utf-8")
    address = url.removesuffix("/v1beta").removesuffix("/v1")
    return {"GOOGLE_GEMINI_BASE_URL": address, "GEMINI_API_KEY": TOKEN, "GEMINI_MODEL": way.model}


# ---- opencode ----


def _opencode_jobs(way: Way) -> Mapping[str, Job]:
    def edit(file: Path) -> Sequence[Answer]:
        if way.model == _PROGRAMS:
            return _turn(Call("apply_patch", _PATCH))
        path = {"filePath": str(file)}
        return _turn(Call("read", path), Call("edit", path | {"oldString": "apple", "newString": "cherry"}))

    return {
        _EDIT: Job(edit, "one.txt", file="cherry\n"),
        _COMPACT: Job(lambda file: _compacted(Call("read", {"filePath": str(file)})), SUMMARY, forgets=True),
    }


def _opencode_commands(prompts: Sequence[str], _home: Path) -> Commands:
    return [([*_program("opencode"), *_PACKAGES["opencode"].arguments(one)], "") for one in prompts]


_CHAT_MODEL: Final = "gpt-4.1"
"""A model that takes `max_tokens`, which opencode sends to every server of Chat Completions."""
_OPENCODE: Final = {Chat: "openai-compatible", Responses: "openai", Messages: "anthropic"}


def _opencode_alone(home: Path, url: str, way: Way) -> Mapping[str, str]:
    model = {"name": way.model, "tool_call": True, "reasoning": True, "limit": {"context": 200_000, "output": 32_000}}
    options = {"baseURL": url, "apiKey": TOKEN}
    vendor = {"npm": f"@ai-sdk/{_OPENCODE[way.vendor]}", "options": options, "models": {way.model: model}}
    file = home / ".config" / "opencode" / "opencode.json"
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps({"model": f"vendor/{way.model}", "provider": {"vendor": vendor}}), encoding="utf-8")
    return {}


WORKERS: Final = (
    Worker(
        "codex at work",
        "codex",
        _PACKAGES["codex"].package,
        _codex_commands,
        _codex_ways(),
        _codex_jobs,
        _codex_tools,
        _codex_alone,
        _codex_aside,
    ),
    Worker(
        "claude at work",
        "claude",
        _PACKAGES["claude"].package,
        _claude_commands,
        (
            Way(f"Messages, {_CLAUDE_MODEL}", Messages, _CLAUDE_MODEL, "messages"),
            Way(f"Messages, {_CLAUDE_MODEL}, to Responses", Responses, _CLAUDE_MODEL, "messages", is_translated=True),
            Way(f"Messages, {_PROGRAMS}, to Responses", Responses, _PROGRAMS, "messages", is_translated=True),
        ),
        _claude_jobs,
        lambda _home: {},
        _claude_alone,
        lambda asked: "create a detailed summary of the conversation" in _last_words(asked),
    ),
    Worker(
        "opencode at work",
        "opencode",
        _PACKAGES["opencode"].package,
        _opencode_commands,
        (
            Way("Chat Completions", Chat, _CHAT_MODEL, "chat", carries_thinking=False),
            Way("Responses", Responses, _PROGRAMS, "responses"),
            Way("Messages", Messages, _CLAUDE_MODEL, "messages"),
        ),
        _opencode_jobs,
        lambda _home: _PACKAGES["opencode"].environment,
        _opencode_alone,
        lambda asked: "summary" in _last_words(asked),
    ),
    Worker(
        "gemini-cli at work",
        "gemini-cli",
        _PACKAGES["gemini-cli"].package,
        _gemini_commands,
        (
            Way("Gemini", Gemini, _GEMINI_MODEL, "gemini", beside=_GEMINI_BESIDE),
            Way(
                "Gemini, to Chat Completions",
                Chat,
                _GEMINI_MODEL,
                "gemini",
                carries_thinking=False,
                beside=_GEMINI_BESIDE,
                is_translated=True,
            ),
        ),
        _gemini_jobs,
        lambda _home: {},
        _gemini_alone,
        lambda asked: "state_snapshot" in "".join(text_in(asked.body)),
    ),
)
"""The agents at work, in the order of the page."""
