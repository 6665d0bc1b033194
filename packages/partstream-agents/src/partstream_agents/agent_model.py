"""Makes a language model of an agent: the one call that puts an agent into the model picker.

::

    from partstream_agents import as_model

    provider = as_model(agent, name="My agent")

In a file for the sidecar, `partstream serve` or `partstream chat`, the agent alone is enough: it is taken as it is.
"""

from __future__ import annotations
import asyncio
import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, Unpack
from weakref import ref

from partstream.codec.checks import FILLED_TEXT, Expectation, check, described, narrow, optional
from partstream.conversation.provider_state import Origin
from partstream.conversation.turns import short_digest
from partstream.lm import provider
from partstream.lm.cancellation import CancellationToken
from partstream.lm.messages import ChatMessage, RequestOptions
from partstream.runtime.simple import OneModelProvider, check_keywords, checked_fields
from partstream.tokens import estimate_tokens
from partstream.tokens.ledger import Ledger
from partstream.tokens.records import note_usage
from partstream.upstream.context import guard_threads, run_until_cancelled
from partstream_agents.adapter import ClosableAdapter
from partstream_agents.answer import AUTO, AgentOptions, ApprovalPolicy, HostTools, ToolActivity, usage_row
from partstream_agents.detection import UnknownAgentError, as_factory, is_factory, pairing_of
from partstream_agents.run import AgentRun, AgentSpec, RunStates

_NO_FIELDS: Final[Mapping[str, Any]] = MappingProxyType({})
_OWN_KEYWORDS: Final = ("tools", "approve", "host_tools", "states")
_NOT_IN_IDS: Final = re.compile(r"[^a-z0-9._-]+")

_ACTIVITIES: Final = tuple(ToolActivity)
_TOOLS: Final = Expectation(f"one of {', '.join(_ACTIVITIES)}", lambda value: value in _ACTIVITIES)
_APPROVE: Final = Expectation(
    '"ask", "never" or a function that takes an Approval and returns whether it is allowed',
    lambda value: value in ("ask", "never") or callable(value),
)
_HOST_TOOLS: Final = Expectation(
    '"auto", True, False, names of tools, or a function that takes a Tool and returns whether the agent gets it',
    lambda value: (
        value == AUTO
        or isinstance(value, bool)
        or callable(value)
        or (isinstance(value, Iterable) and not isinstance(value, str) and all(isinstance(one, str) for one in value))
    ),
)


class AgentModel(OneModelProvider):
    """Offers one model, which is an agent; made by :func:`as_model`. Serves any number of requests at once."""

    def __init__(
        self,
        asking: AgentSpec,
        information: provider.LanguageModelChatInformation,
        count_tokens: Callable[[str | ChatMessage], int],
    ) -> None:
        super().__init__(information, count_tokens)
        self._asking = asking
        self._ledger: Ledger | None = None
        self._loop: ref[asyncio.AbstractEventLoop] | None = None

    @property
    def framework(self) -> str:
        """The framework of the agent."""
        return self._asking.adapter.framework

    def use_ledger(self, ledger: Ledger, /) -> None:
        """Enters what all inner requests of an answer took together into a ledger, see
        :class:`~partstream.tokens.counting.LedgerUser`."""
        self._ledger = ledger

    async def aclose(self) -> None:
        """Ends what the adapter keeps open between requests."""
        if (closable := narrow(self._asking.adapter, ClosableAdapter)) is not None:
            await closable.aclose()

    async def provide_language_model_chat_response(
        self,
        model: provider.LanguageModelChatInformation,
        messages: Sequence[ChatMessage],
        options: RequestOptions,
        progress: provider.Progress,
        token: CancellationToken,
    ) -> None:
        """Runs the agent; a cancellation stops the run and closes the stream of its model.

        Raises:
            LanguageModelError: The run failed, or ended with nothing to show; an
                :class:`~partstream.runtime.client_failures.AgentFailedError` for an exception of the framework.
            Exception: An error of the agent's own code, such as of a tool.
        """
        del model
        await run_until_cancelled(self._run(messages, options, progress, token), token)

    async def _run(
        self,
        messages: Sequence[ChatMessage],
        options: RequestOptions,
        progress: provider.Progress,
        token: CancellationToken,
    ) -> None:
        loop = asyncio.get_running_loop()
        if self._loop is None or self._loop() is not loop:
            self._loop = ref(loop)
            guard_threads(loop)
        run = AgentRun(self._asking, messages, options, progress, token)
        try:
            await run.answer()
        finally:
            if self._ledger is not None and run.total is not None:
                row = usage_row(run.total, self._asking.origin, options, time.time())
                self._ledger.keep_usage(row)
                self._ledger.flush()
                note_usage(row)


def as_model(
    agent: Any,
    *,
    name: str | None = None,
    tools: ToolActivity | str = ToolActivity.THINKING,
    approve: ApprovalPolicy = "ask",
    host_tools: HostTools = AUTO,
    id: str | None = None,  # noqa: A002 - the name that the model's field has
    family: str | None = None,
    version: str = "1",
    max_input_tokens: int = 128_000,
    max_output_tokens: int = 16_000,
    image_input: bool = False,
    tool_calling: bool | int = True,
    count_tokens: Callable[[str | ChatMessage], int] = estimate_tokens,
    tooltip: str | None = None,
    detail: str | None = None,
    extra: Mapping[str, Any] = _NO_FIELDS,
    states: RunStates | None = None,
    **fields: Unpack[provider.ModelFields],
) -> AgentModel:
    """Makes a provider of an agent, of a chat model, or of a function that makes agents.

    Args:
        agent: An agent or a model of a framework in :data:`partstream_agents.detection.KINDS`; an object with a method
            `__partstream_model__` that returns an :class:`~partstream_agents.adapter.AgentPairing`; or a function that
            makes one of these for each request. Such a function may take the host's tools of the request as its one
            argument, in the framework's own form. It is called once at once, with no tools, to see what it makes. An
            agent may also come in a pairing with an adapter that has options of its framework, such as
            :class:`partstream_agents.openai_agents.OpenAIAgents`.
        name: The name in the model picker; by default, the agent's own name.
        tools: How the calls of the agent's own tools are shown: `thinking`, `text` or `off`.
        approve: Who decides about calls that need an approval: `ask` asks the person in the chat, `never` refuses,
            a function decides.
        host_tools: Which of the host's tools the agent gets, such as those of VS Code: `auto` for all, False for none,
            names, or a function that says it of one.
        id: The model's id; by default, made of the name.
        family: The model family, by which Copilot picks its prompt; by default, the id.
        version: The version within the family.
        max_input_tokens: The most tokens that a prompt may hold.
        max_output_tokens: The most tokens that an answer may hold.
        image_input: Whether messages may hold images.
        tool_calling: Whether the agent may call the host's tools; Copilot's agent mode lists no other models.
        count_tokens: Counts the tokens of a text or a message; by default, an estimate.
        tooltip: The text shown when the pointer rests on the model, or None.
        detail: The text shown beside the name, or None.
        extra: Further fields that VS Code reads and :class:`~partstream.lm.provider.ModelFields` does not have.
        states: Keeps stopped runs between requests; by default, in the user's data folder.
        fields: Further fields that VS Code reads, see :class:`~partstream.lm.provider.ModelFields`.

    Raises:
        UnknownAgentError: The object is no agent that is known here.
        InvalidArgumentError: A keyword has a wrong value.
        UnknownKeywordError: There is no such keyword.
    """
    check("as_model.tools", tools, _TOOLS)
    check("as_model.approve", approve, _APPROVE)
    check("as_model.host_tools", host_tools, _HOST_TOOLS)
    check("as_model.name", name, optional(FILLED_TEXT))
    pairing, factory = pairing_of(agent), None
    if pairing is None:
        if not is_factory(agent):
            raise UnknownAgentError(described(agent))
        factory = as_factory(agent)
        made = factory(())
        if (pairing := pairing_of(made)) is None:
            raise UnknownAgentError(f"a function that makes {described(made)}")
    shown = name or own_name(pairing.agent) or f"{pairing.adapter.framework} agent"
    model_id = id or _NOT_IN_IDS.sub("-", shown.lower()).strip("-") or "agent"
    keywords: dict[str, Any] = {
        "family": family,
        "version": version,
        "max_input_tokens": max_input_tokens,
        "max_output_tokens": max_output_tokens,
        "tooltip": tooltip,
        "detail": detail,
    }
    check_keywords(
        {**keywords, "id": id, "image_input": image_input, "tool_calling": tool_calling}
        | {"count_tokens": count_tokens, "extra": extra},
        "as_model",
    )
    information = provider.LanguageModelChatInformation(
        **{**keywords, "family": family or model_id},
        id=model_id,
        name=shown,
        capabilities=provider.LanguageModelChatCapabilities(image_input=image_input, tool_calling=tool_calling),
        extra=checked_fields(fields, extra, "as_model", _OWN_KEYWORDS),
    )
    wanted = host_tools if isinstance(host_tools, bool | str) or callable(host_tools) else frozenset(host_tools)
    asking = AgentSpec(
        pairing=pairing,
        factory=factory,
        options=AgentOptions(ToolActivity(tools), approve, wanted),
        origin=Origin(short_digest(f"agent {pairing.adapter.framework}"), model_id),
        model_id=model_id,
        states=states or RunStates(),
    )
    return AgentModel(asking, information, count_tokens)


def own_name(agent: Any) -> str | None:
    """The name that an agent has itself; None without one."""
    own = getattr(agent, "name", None)
    return own if isinstance(own, str) and own.strip() else None
