"""The dialogs of the editor by name, and the short ones among them: a new file, the connection test, a report.

:data:`DIALOGS` says where each is; a window loads a dialog when it is first wanted. A dialog gets the window and what
its command was given, and returns what the extension shall do when it is over, or nothing.

*New Provider File* is two of them: the first writes the file and has the extension name it in the settings of the
workspace, which begins a new process; the second runs in that process and says what became of the file.
"""

from __future__ import annotations
import asyncio
import keyword
import os
import posixpath
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from urllib.parse import urlsplit

from partstream.codec.checks import replace
from partstream.runtime.project_templates import TEMPLATES, Template, kept
from partstream.vscode.failures import ProviderFailedError
from partstream.vscode.first_steps import announce
from partstream.vscode.methods import InvalidParamsError
from partstream.vscode.window import (
    SHOW_LOG,
    DialogClosedError,
    Item,
    Target,
    Tested,
    WentBackError,
    Window,
    WindowError,
    alone,
    file_place,
)

if TYPE_CHECKING:
    from partstream.config.examination import HarnessFacts
    from partstream.vscode import rpc_types as wire
    from partstream.vscode.recordings import SharePreview

_Dialog = Callable[[Window, Mapping[str, Any]], Awaitable["wire.RunResult | None"]]

DIALOGS: Final = {
    "newProvider": "partstream.vscode.dialogs:new_provider",
    "newProvider/loaded": "partstream.vscode.dialogs:new_provider_loaded",
    "testConnection": "partstream.vscode.dialogs:connection",
    "testConnection/again": "partstream.vscode.dialogs:connection_again",
    "testConnection/copy": "partstream.vscode.dialogs:copy_findings",
    "reportIssue": "partstream.vscode.dialogs:report_issue",
    "recorded": "partstream.vscode.dialogs:recorded",
    "share": "partstream.vscode.dialogs:share",
    "addModels": "partstream.vscode.add_models:add_models",
    "joinHub": "partstream.vscode.add_models:join_hub",
    "useWithoutAccount": "partstream.vscode.first_steps:without_account",
    "undoUseWithoutAccount": "partstream.vscode.first_steps:undo_without_account",
    "offerAccount": "partstream.vscode.first_steps:offer_account",
    "useEverywhere": "partstream.vscode.first_steps:use_everywhere",
    "generateCommitMessage": "partstream.vscode.first_steps:commit_message",
}


async def run(window: Window, params: wire.RunParams) -> wire.RunResult:
    """Runs a dialog, unless it is open.

    Raises:
        InvalidParamsError: There is no such dialog.
    """
    name = params["dialog"]
    if name not in DIALOGS:
        raise InvalidParamsError("params.dialog", repr(name), f"one of {', '.join(DIALOGS)}")
    module, _, function = DIALOGS[name].partition(":")
    dialog: _Dialog = getattr(import_module(module), function)
    return await window.once(name, lambda: dialog(window, params["given"]))


# ---- New Provider File ----

LOAD_SECONDS: Final = 30.0
"""The seconds that a new provider has to be loaded: a process may have to be started first."""

_TITLE: Final = "New Provider File"
_STEPS: Final = 2
_FOLDER: Final = "models"
_EXAMPLE: Final = "models/echo.py"
_STEM: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_OPEN_CHAT: Final = "Open Chat"


class _Obstacle(NamedTuple):
    """Why no file can be written; the button and the command that help."""

    says: str
    button: str = ""
    command: str = ""


_NO_FOLDER: Final = _Obstacle(
    "A new provider is a file in a folder, and no folder is open.", "Open Folder…", "vscode.openFolder"
)
_NOT_TRUSTED: Final = _Obstacle(
    "Partstream does not run Python from a folder that you do not trust.", "Manage Trust", "workbench.trust.manage"
)
_ELSEWHERE: Final = _Obstacle(
    "A new provider needs a folder on the machine on which Partstream runs; this one is elsewhere."
)


async def new_provider(window: Window, _: Mapping[str, Any]) -> wire.RunResult | None:
    """From a template to a file that the settings of the workspace name."""
    facts = await window.facts()
    if facts["folder"] is None:
        obstacle = _NO_FOLDER if not facts["hasFolder"] else _ELSEWHERE if facts["isTrusted"] else _NOT_TRUSTED
        buttons = filter(None, (obstacle.button,))
        if await window.message(obstacle.says, *buttons):
            await window.run(obstacle.command)
        return None
    folder = Path(facts["folder"])
    template, path = await _template_and_path(window, folder)
    key = "partstream.providers"
    providers: object = (await window.settings(key))[key].get("value", [])
    if not isinstance(providers, list):
        raise WindowError("The setting partstream.providers is not a list: correct it, then try again.")
    names = {"title": _title_of(path), "module": PurePath(path).stem}
    file = _written(folder, path, kept(f"{template.name}/provider.py.txt").substitute(names))
    await window.open_file(str(file))
    named = providers if path in providers else [*providers, path]
    then: wire.RunParams = {
        "dialog": "newProvider/loaded", "given": {"file": str(file), "path": path, "template": template.name},
    }  # fmt: skip
    return {"change": {"key": key, "value": named, "isOfWorkspace": True}, "then": then}


async def new_provider_loaded(window: Window, given: Mapping[str, Any]) -> None:
    """What became of a new file, once it is loaded."""
    path, requirements = given["path"], TEMPLATES[given["template"]].requirements
    try:
        async with asyncio.timeout(LOAD_SECONDS):
            await window.host.load_of(Path(given["file"]))
    except TimeoutError:
        says = f"{path} was written, but Python has not loaded it yet. See the log."
        if await window.message(says, SHOW_LOG):
            await window.run("partstream.showLog")
    except ProviderFailedError:
        # What is wrong is said where all problems of providers are; this says what helps.
        if requirements:
            install = " ".join(f'"{one}"' for one in requirements)
            says = (
                f"{path} needs {', '.join(requirements)}. Run: python -m pip install {install} in the Python that "
                "Partstream uses."
            )
            if await window.message(says, "Choose Python"):
                await window.run("partstream.choosePython")
    else:
        if await announce(window, f"{_title_of(path)} is in the picker.", _OPEN_CHAT) == _OPEN_CHAT:
            await window.run("workbench.action.chat.open")


async def _template_and_path(window: Window, folder: Path) -> tuple[Template, str]:
    """The template, and the path below the folder: two pages, and the second leads back to the first."""
    heading: wire.Heading = {"title": _TITLE, "step": 1, "steps": _STEPS, "hasBack": False}
    plain = [one for one in TEMPLATES.values() if not one.requirements]
    items = [Item(one.title, one, "", one.says) for one in plain]
    section = "agents, with the package of their framework"
    for one in TEMPLATES.values():
        if one.requirements:
            items.append(Item(one.title, one, ", ".join(one.requirements), one.says, section))
            section = ""
    while True:
        template = await window.choose(heading, "Choose a template", items)
        try:
            path, number = f"{_FOLDER}/{template.file_stem}.py", 1
            while _is_there(folder, path):
                number += 1
                path = f"{_FOLDER}/{template.file_stem}_{number}.py"
            text = await window.text(
                {**heading, "step": 2, "hasBack": True},
                "The new file, below the folder. It is added to partstream.providers in the settings of this "
                "workspace.",
                placeholder=_EXAMPLE,
                value=path,
                refuse=lambda text: _wrong_path(text, folder),
            )
        except WentBackError:
            continue
        return template, _kept_path(str(text))


def _kept_path(text: str) -> str:
    return posixpath.normpath(text.strip().replace("\\", "/"))


def _wrong_path(text: str, folder: Path) -> str | None:
    """Why a new file cannot have this path below the folder; None if it can."""
    path = _kept_path(text)
    stem = PurePath(path).stem
    mistakes = (
        (not text.strip(), f"Write the name of the file, such as {_EXAMPLE}."),
        (re.match(r"[/~]|[A-Za-z]:", path), f"Write a path below the folder, such as {_EXAMPLE}."),
        (path.startswith(".."), "The file must be inside the folder."),
        (not path.endswith(".py"), "The name of a Python file ends with .py."),
        (
            not _STEM.fullmatch(stem) or keyword.iskeyword(stem),
            "Use letters, digits and _ for the name of a Python file, with a letter first, such as echo.py.",
        ),
        (  # what a setting or a system cannot hold
            not all(letter.isalnum() or letter in "_ .@+()/-" for letter in path),
            "Write the folders with letters, digits, spaces, hyphens and dots.",
        ),
    )
    mistake = next((says for is_made, says in mistakes if is_made), None)
    if mistake is None and _is_there(folder, path):
        return "A file of this name already exists: choose another name."
    return mistake


def _is_there(folder: Path, path: str) -> bool:
    """Whether something is at the path or in its way, also a link that leads nowhere."""
    try:
        os.lstat(folder / path)
    except FileNotFoundError:
        return False
    except OSError:
        return True
    return True


def _title_of(path: str) -> str:
    """The name of the model in the picker, such as `My echo` for `my_echo.py`."""
    words = " ".join(filter(None, PurePath(path).stem.split("_")))
    return words[:1].upper() + words[1:] if words else "Model"


def _written(folder: Path, path: str, content: str) -> Path:
    """Writes a file that is not there yet, and its folders, below the folder and nowhere else."""
    file = folder / path
    existing = next(one for one in file.parents if one.exists())
    if not existing.resolve().is_relative_to(folder.resolve()):
        raise WindowError(f"{path} was not written: a link in its path leads out of the folder {folder}.")
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("x", encoding="utf-8", newline="\n") as opened:
        opened.write(content)
    return file


# ---- Test Connection ----

_TEST: Final = "Test Connection"


async def connection(window: Window, _: Mapping[str, Any]) -> None:
    """Lets the person choose what is tested, and shows what was found."""
    heading = alone(_TEST)
    lists: wire.ListsResult = await window.work(heading, "Looking for the groups…", window.ask("ui/lists"))
    items = [*_items("groups", _groups(lists)), *_items("providers in the settings", _providers(lists))]
    if items:
        await _test(window, await window.choose(heading, "Which connection do you want to test?", items))
    elif await window.message("There is no group and no provider to test yet.", "Add Models…"):
        await window.run("partstream.addModels")


async def connection_again(window: Window, _: Mapping[str, Any]) -> None:
    """Tests what was tested last once more."""
    if window.tested is not None:
        await _test(window, window.tested.target)


async def copy_findings(window: Window, _: Mapping[str, Any]) -> None:
    """Puts the report of what was found last into the clipboard."""
    if window.tested is not None:
        await window.copy(window.tested.report)


async def _test(window: Window, target: Target) -> None:
    asks = False
    if target.model is not None:
        may_cost = (
            "All other checks are free. This one sends a short request and receives a short answer, which may cost "
            "something."
        )
        question = f"Also ask {target.model['name']} of {target.name} for a short answer?"
        ask = "Ask the Model"
        pressed = await window.message(question, ask, "Without It", detail=may_cost, level="warning")
        if pressed is None:
            return
        asks = pressed == ask
    from partstream.vscode.examining import findings_of, findings_text  # noqa: PLC0415 - few windows test a connection

    model = target.model["id"] if asks and target.model is not None else None
    harness = await _harness(window)
    window.redactor.learn(target.group)
    examining = findings_of(window.host.examine(target.group, target.provider, model), harness)
    title = f"Testing the connection of {target.name}…"
    found, redact = await window.progress(title, examining, is_cancellable=True), window.redactor.redact
    findings = [
        replace(one, subject=redact(one.subject), says=redact(one.says), advice=redact(one.advice)) for one in found
    ]
    window.tested = Tested(target, findings, redact(findings_text(target.name, findings)))
    await window.ask("ui/page", {"page": "connection"})


async def _harness(window: Window) -> HarnessFacts | None:
    """What decides whether the Copilot harness offers the models; None in a VS Code without it."""
    from partstream.config.examination import HarnessFacts  # noqa: PLC0415 - as above

    lists, signed_out = "chat.agentHost.byokModels.enabled", "chat.agentHost.allowSignedOutWhenUsable"
    settings, facts = await window.settings(lists, signed_out), await window.facts()
    if not settings[lists]["isKnown"]:
        return None
    return HarnessFacts(
        is_remote=facts["remoteName"] is not None or facts["isWeb"],
        lists_models=settings[lists].get("value") is True,
        allows_signed_out=settings[signed_out].get("value") is True,
    )


def _items(section: str, targets: Sequence[Target]) -> list[Item[Target]]:
    items = [Item(one.name, one, one.place, one.state) for one in targets]
    return [items[0]._replace(section=section), *items[1:]] if items else []


def _groups(lists: wire.ListsResult) -> list[Target]:
    targets = []
    for one in lists["lists"]:
        group, models = one["group"], one["models"]
        if group is not None:
            where = _place_of(group["configuration"])
            name = group.get("name")
            state = one["error"] or _counted(models)
            targets.append(Target(name or where, where if name else "", state, group, None, _asked(models)))
    return targets


def _providers(lists: wire.ListsResult) -> list[Target]:
    own = [model for one in lists["lists"] if one["group"] is None for model in one["models"]]
    targets = []
    for load in lists["loads"]:
        if load["group"] is None:
            name, file, problem = load["provider"], load["file"], load["problem"]
            models = [model for model in own if model["id"].startswith(f"{name}/")]
            state = _counted(models) if problem is None else problem["message"]
            targets.append(Target(name, PurePath(file).name if file else "", state, None, name, _asked(models)))
    return targets


def _place_of(configuration: Mapping[str, Any]) -> str:
    provider, base_url = configuration.get("provider"), configuration.get("baseUrl")
    if isinstance(provider, str):
        return PurePath(provider).name
    try:
        host = urlsplit(str(base_url)).netloc.rpartition("@")[2]
    except ValueError:
        host = ""
    return host or "no address"


def _counted(models: Sequence[wire.ShownModel]) -> str:
    return "1 model" if len(models) == 1 else f"{len(models)} models"


def _asked(models: Sequence[wire.ShownModel]) -> wire.ShownModel | None:
    """The first model that the picker shows, else the first."""
    return next((one for one in models if one["isShown"]), models[0] if models else None)


# ---- Answers in files: a report, and what was recorded ----

_REPORT: Final = "partstream-issue.md"
_SHARED: Final = "answer.partstream.zip"
"""The name that is proposed; its ending says the form."""


async def report_issue(window: Window, _: Mapping[str, Any]) -> None:
    """A report in Markdown, with the last answer beside it if the person wants that.

    The report is a file, which can be sent anywhere; where the manifest says where issues go, VS Code's own reporter
    opens with it too.
    """
    preview = None
    if (await window.facts())["isTrusted"]:
        preview = await window.recordings().preview(None, is_last=True)
    if preview is not None:
        rows = (
            Item("With the Last Answer", True, "without keys and texts; a preview shows what it holds"),
            Item("Without an Answer", False, "versions, settings and models alone"),
        )
        if not await window.choose(alone("Report Issue"), "What should the report contain?", rows):
            preview = None
    if preview is None:
        target = await window.save(_SAVE, _REPORT, [{"name": "Markdown", "endings": ["md"]}])
        about = "It is not part of this report."
    else:
        target = await _shared(window, None, preview, is_last=True)
        indented = re.sub(r"(?m)^", "    ", preview.text)  # code in Markdown, whatever marks are in it
        about = f"The file `{target['name']}` beside this one holds it.\n\n{indented}"
    information: wire.DebugInformation = await window.ask("ui/debugInformation")
    sections = {
        "What happened": "What did you do, what happened, and what did you expect?",
        "The last answer": about,
        "Debug information": information["text"],
    }
    body = "\n\n".join(f"## {title}\n\n{text}" for title, text in sections.items()) + "\n"
    content = f"# An issue of Partstream\n\n{body}".encode()
    file = await window.write(target, content, **({} if preview is None else {"beside": _REPORT}))
    if information["reporter"] is not None:
        issue = {"extensionId": information["reporter"], "issueBody": body}
        await window.run("workbench.action.openIssueReporter", issue)
    says = f"The report is saved in {file}. Describe in it what happened, then send it. It holds no keys."
    if await window.message(says, "Open Report"):
        await window.open_file(file)


async def recorded(window: Window, given: Mapping[str, Any]) -> None:
    """A recording that was asked for has ended: says where it is, and what can be done with it."""
    recording, problem = given["recording"], given["problem"]
    if recording is None:
        raise WindowError(f"Partstream could not record the answer: {problem or 'there is none'}.")
    path, whose, end = recording["path"], recording["model"] or "a model", recording["outcome"] or "not over yet"
    answers = recording["answers"]
    said = f"{answers} answers, the last" if answers > 1 else "the answer"
    inspect, save, show = "Inspect", "Save to Share…", "Show File"
    message = f"Partstream recorded {said} of {whose}: {end}. The file holds its texts, but no keys."
    pressed = await window.message(message, inspect, save, show)
    if pressed == inspect:
        await window.ask("ui/page", {"page": "inspector", "path": path})
    elif pressed == save:
        await share(window, {"path": path})
    elif pressed == show:
        try:
            await window.run("revealFileInOS", file_place(Path(path)))
        except WindowError:  # a VS Code in a browser has no window of files
            await window.copy(path)
            await window.message(f"The recording is in {path}. The path is in the clipboard.")


async def share(window: Window, given: Mapping[str, Any]) -> None:
    """Saves a recording, or for None the inspected answer, without keys and texts, after saying what will be in it."""
    path = given["path"]
    await _shared(window, path, await window.recordings().preview(path), is_last=False)


_SAVE: Final = "Save to share"


async def _shared(window: Window, path: str | None, found: SharePreview | None, *, is_last: bool) -> wire.PathResult:
    """Saves the answer; returns its place."""
    if found is None or not await window.message("What the file to share holds", "Save…", detail=found.text):
        raise DialogClosedError("the answer is not shared")
    target = await window.save(_SAVE, _SHARED, found.forms)
    await window.write(target, await window.recordings().shared(path, target["name"], is_last=is_last))
    return target
