"""What is left of a person's budgets at the hubs of a window: asked for after each answer, and from time to time.

The hub of a group is asked when the group has listed its models, a moment after each of its answers, and every minute
while the window has the focus. Without a hub nothing is asked, and no timer runs. What was known before is better than
nothing while a hub is away: it stays, with what keeps the hub from saying it now. The texts for the status bar are
Markdown, in which nothing of a hub is markup or an icon.
"""

from __future__ import annotations
import asyncio
import logging
from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from partstream.codec.checks import dataclass, replace
from partstream.errors import PartstreamError
from partstream.upstream.hub import HubBudget, left_text
from partstream.vscode.status import plain

if TYPE_CHECKING:
    from partstream.vscode import rpc_types as wire

AFTER_ANSWER: Final = 2.0
"""The seconds after an answer: the hub has it in its books by then."""

POLL_SECONDS: Final = 60.0
"""The seconds between two questions while no model is asked."""

LOW_SHARE: Final = 0.1
"""The share of a budget below which the item changes its colour."""

_logger = logging.getLogger("partstream.hosts.vscode")


@dataclass(frozen=True, slots=True)
class Standing:
    """A hub's facts about the person whose key a group has; `problem` says why nothing is known now."""

    hub: str  # its address
    person: str = ""
    budgets: tuple[HubBudget, ...] = ()  # those that hold, the one with the smallest share left first
    problem: str = ""

    @property
    def page(self) -> str:
        """The hub's page for people."""
        return f"{self.hub}/hub"

    def item(self) -> wire.StatusItem | None:
        """What is left of the tightest budget; None for a person whom no budget limits."""
        if not self.budgets:
            return None
        left, host = self.budgets[0].share_left, plain(urlsplit(self.hub).netloc)
        lines = [f"**{'Budget' if len(self.budgets) == 1 else 'Budgets'} at {host}**"]
        if self.person:
            lines.append(f"You are {plain(self.person)} on this hub.")
        lines += [f"{plain(_words(one))}{_reset(one.resets_at)}" for one in self.budgets]
        if self.problem:
            lines.append(f"Currently unknown; last known: {plain(self.problem)}")
        lines.append("[Open the Hub's Page](command:partstream.openHubPage)")
        return {
            "text": f"$(credit-card) {_words(self.budgets[0])}",
            "tooltip": "\n\n".join(lines),
            "fullness": "error" if left <= 0 else "warning" if left < LOW_SHARE else "normal",
        }


def _words(budget: HubBudget) -> str:
    """What is left of a budget: a text of the hub's numbers, in which all the same nothing may be an icon."""
    return left_text(budget).replace("$(", "$ (")


def _reset(moment: float | None) -> str:
    """When the next period begins, by this machine's clock."""
    return "" if moment is None else f", resets {datetime.fromtimestamp(moment).astimezone():%b %d, %Y, %H:%M}"


@dataclass(slots=True)
class _Hub:
    """The hub of one group."""

    group: wire.Group
    standing: Standing | None = None
    asking: asyncio.Task[None] | None = None
    is_due: bool = False  # whether it is to be asked again as soon as it has answered


class HubBudgets:
    """The budgets at the hubs of one window. `ask` asks the hub of a group, and gives None where its server is none;
    `tell` takes what the window shows whenever that has changed."""

    def __init__(
        self,
        ask: Callable[[wire.Group], Awaitable[Standing | None]],
        tell: Callable[[wire.BudgetsDidChangeParams], None],
    ) -> None:
        self._ask = ask
        self._tell = tell
        self._hubs: dict[str, _Hub] = {}
        self._last: str | None = None  # the group of the last answer, which the item is about
        self._shown: wire.BudgetsDidChangeParams = {"item": None, "texts": {}}
        self._is_focused = False
        self._poll: asyncio.TimerHandle | None = None
        self._after_answer: asyncio.TimerHandle | None = None

    def listed(self, group: wire.Group, *, is_hub: bool) -> None:
        """A group has listed its models."""
        hub = self._hubs.get(group["id"])
        if not is_hub:
            self.forgotten(group["id"])
        elif hub is None:
            self._hubs[group["id"]] = _Hub(group)
            self._refresh(group["id"])
            self._schedule()
        else:
            hub.group = group

    def forgotten(self, group_id: str) -> None:
        """The window does not have the group any more."""
        hub = self._hubs.pop(group_id, None)
        if hub is None:
            return
        if hub.asking is not None:
            hub.asking.cancel()
        if not self._hubs:
            self._stop()
        self._show()

    def answered(self, group_id: str) -> None:
        """An answer has ended, whichever way."""
        if group_id not in self._hubs:
            return
        self._last = group_id
        self._show()
        if self._after_answer is not None:
            self._after_answer.cancel()
        self._after_answer = asyncio.get_running_loop().call_later(AFTER_ANSWER, self._refresh, group_id)

    def focused(self, is_focused: bool) -> None:
        """The window has got or lost the focus."""
        is_back, self._is_focused = is_focused and not self._is_focused, is_focused
        if is_back:
            self._refresh_all()
        self._schedule()

    def close(self) -> None:
        """The connection ends: nothing is asked any more."""
        for group_id in list(self._hubs):
            self.forgotten(group_id)

    def _schedule(self) -> None:
        if self._poll is not None:
            self._poll.cancel()
        self._poll = None
        if self._is_focused and self._hubs:
            self._poll = asyncio.get_running_loop().call_later(POLL_SECONDS, self._poll_now)

    def _poll_now(self) -> None:
        self._refresh_all()
        self._schedule()

    def _stop(self) -> None:
        for timer in (self._poll, self._after_answer):
            if timer is not None:
                timer.cancel()
        self._poll = self._after_answer = None

    def _refresh_all(self) -> None:
        for group_id in list(self._hubs):
            self._refresh(group_id)

    def _refresh(self, group_id: str) -> None:
        hub = self._hubs.get(group_id)
        if hub is None:
            return
        hub.is_due = hub.asking is not None
        if hub.asking is None:
            hub.asking = asyncio.create_task(self._ask_hub(hub), name="the budgets at a hub")

    async def _ask_hub(self, hub: _Hub) -> None:
        try:
            standing = await self._ask(hub.group)
        except PartstreamError as error:
            _logger.info("the hub was not asked for the budgets: %s", error)
            standing = None
        hub.asking = None
        if standing is not None:
            known = hub.standing if standing.problem and hub.standing is not None else standing
            hub.standing = replace(known, problem=standing.problem)
            self._show()
        if hub.is_due:
            self._refresh(hub.group["id"])

    def _show(self) -> None:
        known = {group_id: hub.standing for group_id, hub in self._hubs.items() if hub.standing is not None}
        least = min(known.values(), key=lambda one: one.budgets[0].share_left if one.budgets else 2, default=None)
        first = known.get(self._last or "") or least
        texts = {group_id: _words(one.budgets[0]) for group_id, one in known.items() if one.budgets}
        shown: wire.BudgetsDidChangeParams = {"item": None if first is None else first.item(), "texts": texts}
        if first is not None:
            shown["page"] = first.page
        if shown != self._shown:
            self._shown = shown
            self._tell(shown)
