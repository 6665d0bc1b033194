"""`partstream acp`: a model or an agent of ours in every editor that speaks the Agent Client Protocol.

Reads the options and opens the provider; :mod:`partstream_agents.acp.agent` answers. Standard output has the protocol
and nothing else; what a person has to know goes to standard error, which editors keep as the agent's log.
"""

from __future__ import annotations
import asyncio
import inspect
import logging
from typing import TYPE_CHECKING, Any, Final, cast

import click

from partstream.cli.options import configuration_of, gateway_of, upstream_options
from partstream.cli.provider_source import check_beside_provider, log_as_wanted, reloaded
from partstream.codec.checks import replace
from partstream.codec.system import CACHE
from partstream.lm.outputs import ErrorMode, ThinkingMode
from partstream.lm.provider import (
    LanguageModelChatCapabilities,
    LanguageModelChatInformation,
    LanguageModelChatProvider,
)
from partstream.runtime.consumer import LanguageModels
from partstream.runtime.progress import fault_of
from partstream.runtime.provider_files import default_name
from partstream.tokens import Counters
from partstream.tokens.ledger import Ledger, open_ledger
from partstream.upstream.provider import GatewayProvider
from partstream_agents.acp import AcpMissingError, require_acp, standard_lines

if TYPE_CHECKING:
    from acp.interfaces import Agent

_logger = logging.getLogger("partstream.acp")
_WINDOW: Final = 128_000
_OUTPUT: Final = 16_384


@click.command(short_help="Answer an editor that speaks the Agent Client Protocol, over standard input and output.")
@click.argument("source", metavar="[FILE]", required=False)
@upstream_options
@click.option(
    "--model",
    "model_id",
    metavar="M",
    help="The model that answers. Default: the first one; the editor offers the others.",
)
@click.option("--no-store", is_flag=True, help="Keep no sessions: they end with the process.")
def command(*, source: str | None, model_id: str | None, no_store: bool, **options: Any) -> None:
    """Answer an editor that speaks the Agent Client Protocol, such as Zed, over standard input and output.

    The provider or agent of FILE answers, as the file is at each prompt; without FILE, the model server of a profile
    or of the options, as in `partstream chat`. The editor's files and terminals are the model's tools, and the person
    is asked there before it writes or runs anything. Sessions are kept in the data folder, unless --no-store is given.
    An editor starts this command by itself: `partstream connect zed` prints the settings.
    """
    try:
        require_acp("partstream acp")
    except AcpMissingError as error:
        raise click.UsageError(str(error)) from error
    if source is not None:
        check_beside_provider(options)
        log_as_wanted(options)
    asyncio.run(_serve(source, model_id, keeps=not no_store, options=options))


async def _serve(source: str | None, model_id: str | None, *, keeps: bool, options: dict[str, Any]) -> None:
    from acp import run_agent  # noqa: PLC0415 - of an extra; takes half a second

    from partstream_agents.acp.agent import EditorAgent, SessionFiles  # noqa: PLC0415 - needs it

    lines = standard_lines()
    ledger = open_ledger()
    refresh = None
    if source is None:
        vendor, provider = _server(model_id, ledger, options)
    else:
        provider, _ = reloaded(source, lambda error: _say_loaded(source, error), lambda: ledger)
        vendor, refresh = default_name(source), provider.look
    try:
        async with LanguageModels() as models:
            models.register_language_model_chat_provider(vendor, provider)
            agent = EditorAgent(models, vendor, SessionFiles() if keeps else None, model_id, refresh)
            try:
                await run_agent(cast("Agent", agent), lines, use_unstable_protocol=True)
            finally:
                await agent.aclose()
    finally:
        aclose = getattr(provider, "aclose", None)
        if inspect.iscoroutinefunction(aclose):
            await aclose()
        await asyncio.to_thread(ledger.close)


def _server(model_id: str | None, ledger: Ledger, options: dict[str, Any]) -> tuple[str, LanguageModelChatProvider]:
    gateway = gateway_of(configuration_of(defaults={"thinking": ThinkingMode.PART.value}, **options))
    named = model_id or gateway.selection.default
    can = LanguageModelChatCapabilities(image_input=True, tool_calling=True)  # what is not so, the server refuses
    information = None
    if named is not None:
        information = LanguageModelChatInformation(named, named, named, "1", _WINDOW, _OUTPUT, capabilities=can)
    chosen = replace(
        gateway,
        # A named model is not looked up, as in `partstream chat`: the server may have no list.
        models=() if information is None else (information,),
        errors=ErrorMode.REJECT,
        protocol_folder=CACHE.path(),
    )
    return options.get("profile") or "server", GatewayProvider(chosen, ledger=ledger, counters=Counters())


def _say_loaded(source: str, error: BaseException | None) -> None:
    if error is None:
        _logger.info("%s was loaded again", source)
    else:
        _logger.warning("%s cannot be loaded, the previous version answers: %s", source, fault_of(error))
