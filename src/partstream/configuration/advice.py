"""Advice that fits the place where a person stands: at a terminal, or before an editor."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from partstream.errors import UpstreamError, UpstreamHTTPError
from partstream.upstream.http_errors import is_about_the_key, sends_key

if TYPE_CHECKING:
    from partstream.errors import LanguageModelError
    from partstream.upstream.configuration import GatewayConfiguration

__all__ = ["AT_A_TERMINAL", "Advice", "explained"]


@dataclass(frozen=True, slots=True)
class Advice:
    """What helps, as sentences that name what a person has at hand; "" where nothing does.

    Attributes:
        no_server: There is no base URL.
        no_key: A server wants a key, and none was sent.
        another_key: A server refuses the key; follows the question whether it is the right one.
        perhaps_a_key: A server forbids something, and no key was sent.
        no_model: A model is to be asked, and none is named.
        other_model: The named model is not listed.
        not_asked: No model was asked for an answer.
        fault: Something failed that must not fail.
    """

    no_server: str
    no_key: str
    another_key: str
    perhaps_a_key: str
    no_model: str
    other_model: str
    not_asked: str
    fault: str


AT_A_TERMINAL: Final = Advice(
    no_server=(
        "`partstream add` adds a server; or name a profile by --profile, or set `baseUrl` in the file, "
        "PARTSTREAM_BASE_URL or --base-url"
    ),
    no_key=(
        "no key was sent: put one into the environment variable PARTSTREAM_API_KEY, "
        "or name another variable with --api-key-env; a profile names it by apiKeyEnv or apiKeyKeyring"
    ),
    another_key="",
    perhaps_a_key="no key was sent; if the server wants one: the environment variable PARTSTREAM_API_KEY holds it",
    no_model="give --model or set `defaultModel`",
    other_model="--model chooses",
    not_asked="no model was asked; `--ask` asks one",
    fault="this is a fault of Partstream; --log-level debug shows more",
)

_FORBIDDEN: Final = 403


def explained(error: LanguageModelError, gateway: GatewayConfiguration, advice: Advice = AT_A_TERMINAL) -> str:
    """The sentence of an error, with the advice that fits the place."""
    if isinstance(error, UpstreamError):
        error.advise(_advice_on_key(error, advice, has_key=sends_key(gateway)))
    return error.message


def _advice_on_key(error: UpstreamError, advice: Advice, *, has_key: bool) -> str:
    """What helps where the key may be the reason; "" where it is not."""
    if is_about_the_key(error):
        return f"{error.advice} {advice.another_key}".strip() if has_key else advice.no_key
    is_forbidden = isinstance(error, UpstreamHTTPError) and error.http_status == _FORBIDDEN
    return advice.perhaps_a_key if is_forbidden and not has_key and not error.advice else ""
