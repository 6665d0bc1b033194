"""Dialogs that write settings of VS Code: *Use Without an Account* and *Use a Model Everywhere*.

Both show one list of settings; those with a tick are written into the person's User settings, and another click takes
them back. :class:`SettingsOffer` remembers what was there before until it is back in place, across windows.

VS Code's chat asks who is signed out for a GitHub account, although the models here need none. The extension knows who
is asked, and :func:`announce` offers the way without an account to them alone.
"""

from __future__ import annotations
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from partstream.codec.checks import dataclass
from partstream.codec.json_codec import dumps
from partstream.vscode.window import VENDOR, DialogClosedError, Item, Window, alone, place

if TYPE_CHECKING:
    from partstream.vscode import rpc_types as wire

ANSWERED: Final = "accountAnswered"
"""The key under which the window remembers that the person has answered; the extension reads it too."""

_WITHOUT: Final = "Use Without an Account"
_ANONYMOUS: Final = "chat.allowAnonymousAccess"
_AI_IS_OFF: Final = "chat.disableAIFeatures"


@dataclass(frozen=True, slots=True)
class OfferedSetting:
    """A setting that is offered, and what it does in a few words; `detail` says what to know before."""

    key: str
    value: object
    label: str
    detail: str = ""
    is_ticked: bool = True


class SettingsOffer:
    """Settings that one question lists, a click writes, and another takes back; the name tells the offers apart."""

    def __init__(self, window: Window, name: str) -> None:
        self._window = window
        self._key = f"offer.{name}"

    async def changes(self) -> dict[str, dict[str, Any]]:
        """What was written and is not taken back, by the keys of settings."""
        return dict(await self._window.remembered(self._key) or {})

    async def ask(
        self, title: str, placeholder: str, prompt: str, offered: Sequence[OfferedSetting]
    ) -> list[OfferedSetting]:
        """Asks which of the settings that this VS Code has are written."""
        known = await self._window.settings(*(one.key for one in offered))
        items = [
            Item(one.label, one, f"{one.key}: {dumps(one.value).decode()}", one.detail)
            for one in offered
            if known[one.key]["isKnown"]
        ]
        ticked = [one for one in offered if one.is_ticked]
        return await self._window.choose_many(alone(title), placeholder, items, ticked, prompt=prompt)

    async def apply(self, chosen: Sequence[OfferedSetting]) -> None:
        """Writes the settings that have another value."""
        before, changes = await self._window.settings(*(one.key for one in chosen)), await self.changes()
        for one in chosen:
            own = {key: value for key, value in before[one.key].items() if key == "own"}
            if "own" in own and _is_same(own["own"], one.value):
                continue
            first = {"before": own["own"]} if "own" in own else {}
            kept = {key: value for key, value in changes.get(one.key, first).items() if key == "before"}
            changes[one.key] = {**kept, "written": one.value}
            await self._window.remember(self._key, changes)
            await self._window.change(one.key, value=one.value)

    async def undo(self) -> tuple[list[str], list[str]]:
        """Takes everything back that the person has not changed since; returns the keys that were, and the others."""
        restored: list[str] = []
        kept: list[str] = []
        changes = await self.changes()
        now = await self._window.settings(*changes)
        for key, change in list(changes.items()):
            is_ours = "own" in now[key] and _is_same(now[key]["own"], change["written"])
            if is_ours:
                await self._window.change(key, **({"value": change["before"]} if "before" in change else {}))
            (restored if is_ours else kept).append(key)
            del changes[key]
            await self._window.remember(self._key, changes)
        return restored, kept


def _is_same(one: object, other: object) -> bool:
    return dumps(one) == dumps(other)  # True is not 1


# ---- Use Without an Account ----


async def announce(window: Window, message: str, *buttons: str) -> str | None:
    """Says that models are in the picker, and offers the way without an account to who needs it; returns another button
    that was pressed, or None."""
    if not (await window.facts())["asksForAccount"]:
        return await window.message(message, *buttons)
    reason = "VS Code's chat asks for a GitHub account first; these models need none."
    chosen = await window.message(f"{message} {reason}", _WITHOUT, *buttons)
    if chosen != _WITHOUT:
        return chosen
    await without_account(window, {})
    return None


async def offer_account(window: Window, _: Mapping[str, Any]) -> None:
    """Models were listed that nothing else has announced: offers the way without an account, once."""
    await announce(window, "Partstream's models are in the picker.", "Not Now")
    await window.remember(ANSWERED, value=True)


async def without_account(window: Window, _: Mapping[str, Any]) -> None:
    """Asks which settings are written, and has VS Code set up its chat."""
    facts = await window.facts()
    if not facts["isSignedOut"]:
        await window.message("You are signed in to GitHub: VS Code's chat asks for no account.")
        return
    offered = [
        OfferedSetting(_ANONYMOUS, True, "Chat without an account"),
        OfferedSetting("chat.byokUtilityModelDefault", "mainAgent", "Let your own model write titles and summaries"),
    ]
    if (await window.settings(_AI_IS_OFF))[_AI_IS_OFF].get("value") is True:
        offered.append(OfferedSetting(_AI_IS_OFF, False, "Turn VS Code's AI features on"))
    prompt = (
        "Writes the settings with a tick. Undo Use Without an Account takes them back."
        if facts["isChatOn"]
        else "Sets up VS Code's chat without signing in: this turns on its extension GitHub Copilot Chat, to which "
        "GitHub's terms apply. Writes the settings with a tick; Undo Use Without an Account takes them back."
    )
    offer = SettingsOffer(window, "account")
    try:
        chosen = await offer.ask(_WITHOUT, "Which settings to write?", prompt, offered)
    except DialogClosedError:  # an answer too
        await window.remember(ANSWERED, value=True)
        raise
    await window.remember(ANSWERED, value=True)

    async def set_up() -> bool:
        await offer.apply(chosen)
        is_done: bool = (await window.ask("ui/setUpChat"))["isDone"]
        return is_done

    if await window.progress("VS Code sets up its chat…", set_up()):
        await window.message("$(check) The chat needs no account", level="status")
        return
    # No extension can do it in this VS Code: the person can.
    by_hand = 'Add "chat.allowAnonymousAccess": true to your settings, then send a message.'
    if await window.message(f"This VS Code did not set up its chat. {by_hand}", "Open Settings"):
        await window.run("workbench.action.openSettingsJson")


async def undo_without_account(window: Window, _: Mapping[str, Any]) -> None:
    """Takes the settings back."""
    restored, kept = await SettingsOffer(window, "account").undo()
    said = [f"Settings restored: {', '.join(restored) or 'none'}."]
    if kept:
        said.append(f"Changed since, so not restored: {', '.join(kept)}.")
    said.append("The chat stays set up; chat.disableAIFeatures turns it off.")
    await window.message(" ".join(said))


# ---- Use a Model Everywhere ----

_EVERYWHERE: Final = "Use a Model Everywhere"
_SMALL_MODEL: Final = "chat.utilitySmallModel"
_COMMIT_MESSAGE: Final = "github.copilot.git.generateCommitMessage"
"""Copilot's own command; VS Code shows its button only to who is signed in."""


async def use_everywhere(window: Window, _: Mapping[str, Any]) -> None:
    """Asks which models VS Code uses for what, and which settings are written."""
    await _use_everywhere(window)


async def commit_message(window: Window, given: Mapping[str, Any]) -> None:
    """Has Copilot write a commit message with the small model; asks for that model first, where there is none."""
    if not await window.has_command(_COMMIT_MESSAGE):
        await window.message(
            "This window has no command that writes commit messages: enable GitHub Copilot Chat, which is part of "
            "VS Code and needs no account for it."
        )
        return
    small = (await window.settings(_SMALL_MODEL))[_SMALL_MODEL].get("value")
    if small or await _use_everywhere(window):
        await window.run(_COMMIT_MESSAGE, *([place(given["root"])] if given.get("root") else []))


async def _use_everywhere(window: Window) -> bool:
    """Whether any setting was written."""
    offer = SettingsOffer(window, "everywhere")
    every: list[wire.UsableModel] = (await window.ask("ui/models"))["models"]
    models = [one for one in every if one["vendor"] == VENDOR]
    if not models:
        if await window.message("Partstream has no models yet.", "Add Models…"):
            await window.run("partstream.addModels")
        return False
    heading = alone(_EVERYWHERE)
    if await offer.changes():
        ways = (Item("Choose Models…", False, "write them anew"), Item("Undo", True, "restore the earlier settings"))
        if await window.choose(heading, "The settings are written. What now?", ways):
            return await _undo_everywhere(window, offer)
    main = await window.choose(
        heading, "Which model answers chats and inline chat?", [Item(one["name"], one, one["id"]) for one in models]
    )
    small = await window.choose(
        heading,
        "Which model writes titles, commit messages and new names? A small one is enough.",
        [
            Item(main["name"], main, "the same model"),
            *(Item(one["name"], one, one["id"]) for one in models if one["id"] != main["id"]),
        ],
    )
    remote = (await window.facts())["remoteName"]
    prompt = "They go into your User settings. The same command undoes them."
    if remote is not None:
        prompt += (
            f" This window is remote ({remote}): the Copilot harness gets models of an extension only in local "
            "windows. Choose Local in the chat here."
        )
    offered = [*_settings_of(main, small, every), *(() if remote is not None else _HARNESS)]
    chosen = await offer.ask(_EVERYWHERE, "Choose the settings to write", prompt, offered)
    if not chosen:
        return False
    await offer.apply(chosen)
    said = (
        f"VS Code now asks {main['name']} everywhere."
        if main["id"] == small["id"]
        else f"VS Code now asks {main['name']}, and {small['name']} for titles, commit messages and new names."
    )

    async def offer_undo() -> None:
        if await window.message(said, "Undo"):
            await _undo_everywhere(window, offer)

    window.later("everywhere/undo", offer_undo)  # a commit message comes at once
    return True


async def _undo_everywhere(window: Window, offer: SettingsOffer) -> bool:
    _, kept = await offer.undo()
    said = "The earlier settings are restored."
    if kept:
        said = f"The earlier settings are restored, except those that you changed since: {', '.join(kept)}."

    async def tell() -> None:
        await window.message(said)

    window.later("everywhere/undone", tell)
    return False


def _settings_of(
    main: wire.UsableModel, small: wire.UsableModel, every: Sequence[wire.UsableModel]
) -> list[OfferedSetting]:
    """In the forms that VS Code 1.139 reads: `vendor/id`, the name and its vendor, or an id or family alone."""
    several = "Several models have this name: VS Code uses the first."
    names = [f"{one['name']} ({one['vendor']})" for one in every]
    qualified = f"{main['name']} ({main['vendor']})"
    short = _short_name(main, every)
    return [
        OfferedSetting("chat.defaultModel", short or main["id"], "New chats", "" if short else several),
        OfferedSetting(
            "inlineChat.defaultModel", qualified, "Inline chat", "" if names.count(qualified) == 1 else several
        ),
        OfferedSetting("chat.utilityModel", f"{main['vendor']}/{main['id']}", "Summaries and other help for the chat"),
        OfferedSetting(_SMALL_MODEL, f"{small['vendor']}/{small['id']}", "Titles, commit messages, new names"),
    ]


def _short_name(model: wire.UsableModel, every: Sequence[wire.UsableModel]) -> str | None:
    """The id or the family, whichever means this model alone: VS Code looks at the models of all vendors, ids first."""
    others = [one for one in every if (one["vendor"], one["id"]) != (model["vendor"], model["id"])]
    ids = {one["id"].lower() for one in others}
    if model["id"].lower() not in ids:
        return model["id"]
    family = model["family"]
    return None if family.lower() in ids | {one["family"].lower() for one in others} else family


_EXPERIMENT: Final = "An experiment of VS Code."
_HARNESS: Final = (
    OfferedSetting(
        "chat.agentHost.byokModels.enabled",
        True,
        "All models of extensions in the Copilot harness",
        _EXPERIMENT,
        is_ticked=False,
    ),
    OfferedSetting(
        "chat.agentHost.allowSignedOutWhenUsable",
        True,
        "The Copilot harness without an account",
        _EXPERIMENT,
        is_ticked=False,
    ),
)
