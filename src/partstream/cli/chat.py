"""`partstream chat`: a conversation with a model on any server that speaks a known protocol, or with a provider.

Reads the options and holds the conversation; does not know the wire, which is the provider's.
"""

from __future__ import annotations

import asyncio
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from partstream.cli.chat_captures import KEPT, ChatCaptures, checked_file
from partstream.cli.chat_partners import OwnProvider, Server
from partstream.cli.chat_session import ChatSession, Screens
from partstream.cli.options import gateway_of, upstream_options
from partstream.cli.provider_source import check_beside_provider, log_as_wanted, provider_option
from partstream.codec.system import CACHE
from partstream.lm.messages import ChatMessage
from partstream.lm.outputs import ThinkingMode
from partstream.lm.provider import LanguageModelChatInformation
from partstream.upstream.configuration import Timeouts
from partstream.upstream.context import LogLevel

if TYPE_CHECKING:
    from partstream.cli.chat_partners import ChatPartner
    from partstream.upstream.configuration import GatewayConfiguration

__all__ = ["command"]


@click.command(short_help="Chat with a model on any server that speaks a known protocol, or with your provider.")
@click.argument("prompt", required=False)
@provider_option("Ask the provider of this Python file, as it is at each message, in place of a server.")
@upstream_options
@click.option(
    "--model", "model_id", metavar="M", help="The model's id. Default: defaultModel, or the first that is listed."
)
@click.option("--system", metavar="TEXT", help="Instructions for the model.")
@click.option(
    "--timeout-first-event",
    type=click.FloatRange(min=0, min_open=True),
    metavar="SECONDS",
    help=f"Longest wait for an answer's first event. Default: the configured limit, or {Timeouts().first_event:g}.",
)
@click.option("--trace", is_flag=True, help="Log each event of the answers to standard error: --log-level trace.")
@click.option(
    "--record",
    is_flag=False,
    flag_value=KEPT,
    metavar="[FILE]",
    help="Record the answers, with each read and its time. Default: a file in the folder of recordings.",
)
def command(
    *,
    prompt: str | None,
    provider_source: str | None,
    model_id: str | None,
    system: str | None,
    timeout_first_event: float | None,
    trace: bool,
    record: str | None,
    **options: Any,
) -> None:
    """Chat with a model on any server that speaks a known protocol, or with the provider of a file.

    With PROMPT, prints one answer and exits with code 0, with 3 after a failure or an answer without text, or with 130
    after Ctrl-C; use - to read the prompt from standard input. Without PROMPT, holds a conversation, one message per
    line, until /exit or the end of the input; /help names the commands; Ctrl-C stops an answer. Answers go to standard
    output, with the model's thinking only in a terminal unless a setting says otherwise; token counts and errors go to
    standard error. Settings that no option gives come from the environment and your configuration file: see
    `partstream config show`. Without a model, the first one that the server lists answers. What a server speaks is
    remembered for a day.

    With --provider, each message is answered by the file as it is then; a file that cannot be loaded is named with its
    line, and the version before answers. At the start, such a file ends the command with code 2.
    """
    first = [ChatMessage.system(system)] if system else []
    screens = Screens()
    # A terminal shows thinking apart from the answer; who reads the output of a pipe wants the answer.
    mode = ThinkingMode.PART if sys.stdout.isatty() else ThinkingMode.OFF
    file = checked_file(record)
    if trace:
        options["logLevel"] = LogLevel.TRACE
    partner: ChatPartner
    if provider_source is None:
        partner = Server(_configuration(model_id, timeout_first_event, mode, options))
    else:
        check_beside_provider({**options, "timeout_first_event": timeout_first_event})
        log_as_wanted(options)
        partner = OwnProvider(
            provider_source, model_id, lambda text, is_bad: screens.say(text, "red" if is_bad else "dim")
        )
    with asyncio.Runner() as runner:
        # The mode of a server is one of its settings, which it keeps by itself.
        shows_thinking = mode is ThinkingMode.PART or not partner.is_own
        captures = ChatCaptures(file)
        session = ChatSession(runner, partner, screens, first, shows_thinking, captures)
        try:
            sys.exit(session.converse() if prompt is None else session.answer(_text_of(prompt)))
        finally:
            runner.run(session.aclose())
            captures.write(screens.say)


def _configuration(
    model_id: str | None, timeout_first_event: float | None, mode: ThinkingMode, options: dict[str, Any]
) -> GatewayConfiguration:
    gateway = gateway_of(defaults={"thinking": mode.value}, **options)
    named = model_id or gateway.selection.default
    return replace(
        gateway,
        # The server is asked for its models only where none is named.
        models=() if named is None else (LanguageModelChatInformation(named, named, named, "1", 128_000, 16_384),),
        timeouts=replace(gateway.timeouts, first_event=timeout_first_event or gateway.timeouts.first_event),
        protocol_folder=CACHE.path(),
    )


def _text_of(prompt: str) -> str:
    text = sys.stdin.read() if prompt == "-" else prompt
    if not text.strip():
        raise click.UsageError("PROMPT: got an empty text, expected a message for the model")
    return text
