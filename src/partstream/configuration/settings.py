"""Every setting there is, in one table: what it is called, what it says, and how it is shown without its secrets.

How a value is checked stands beside the code that uses it; the table joins both. docs/configuration.md is made from
it. Knows no place where settings come from.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit, urlunsplit

from partstream.configuration.key_settings import KEY_CHECKS
from partstream.protocols.registry import DEFAULT_PROTOCOL
from partstream.upstreams.configuration import SETTING_CHECKS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["HIDDEN", "KEY_SETTINGS", "SETTINGS", "Form", "Setting"]

HIDDEN: Final = "***"


class Form(StrEnum):
    """What a value is; in an environment variable everything but text is written as JSON."""

    TEXT = "text"
    BOOLEAN = "true or false"
    NUMBER = "number"
    LIST = "list"
    OBJECT = "object"


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting.

    Attributes:
        name: What it is called in a VS Code group, in `partstream.toml` and in errors.
        form: What its value is.
        says: What it says, in Markdown.
        default: What holds when nobody sets it, in words.
        shown: Gives its value without what is secret in it.
        is_bound: Whether it belongs to the base URL beside it, and to no other upstream.
        is_in_group: Whether a VS Code group may hold it.
    """

    name: str
    form: Form
    says: str
    default: str = ""
    shown: Callable[[Any], Any] = lambda value: value
    is_bound: bool = True
    is_in_group: bool = True

    @property
    def variable(self) -> str:
        """The environment variable that sets it."""
        return "PARTSTREAM_" + re.sub(r"(?<=[a-z])(?=[A-Z])", "_", self.name).upper()

    def check(self, value: Any, where: str) -> None:
        """Refuses what the setting cannot be.

        Raises:
            ConfigurationError: The value is of no use; the message shows no secret.
        """
        (SETTING_CHECKS.get(self.name) or KEY_CHECKS[self.name])(value, where)


def _hidden(value: Any) -> str:
    return HIDDEN


def _hidden_values(value: Any) -> Any:
    return dict.fromkeys(value, HIDDEN) if isinstance(value, dict) else HIDDEN


_MAY_HOLD_KEYS: Final = frozenset({"extraHeaders", "extraBody", "providerOptions"})


def _without_extra(value: Any) -> Any:
    """Request settings: the values of headers and of body fields of one's own may be keys."""
    if not isinstance(value, dict):
        return HIDDEN
    return {name: _hidden_values(item) if name in _MAY_HOLD_KEYS else item for name, item in value.items()}


def _without_extras(value: Any) -> Any:
    if not isinstance(value, dict):
        return HIDDEN
    return {model_id: _without_extra(item) for model_id, item in value.items()}


def _program(value: Any) -> Any:
    """A command's arguments may hold secrets, although they should not."""
    return [value[0], *([HIDDEN] * (len(value) - 1))] if isinstance(value, list) and value else HIDDEN


def _url(value: Any) -> Any:
    """A URL without what may be secret in it: user name, password and the values of its query."""
    if not isinstance(value, str):
        return HIDDEN
    try:
        address = urlsplit(value)
    except ValueError:  # no URL at all
        return HIDDEN
    host = f"{HIDDEN}@{address.netloc.rpartition('@')[2]}" if "@" in address.netloc else address.netloc
    query = re.sub(r"=[^&]*", f"={HIDDEN}", address.query)
    return urlunsplit((address.scheme, host, address.path, query, ""))


_ROWS: Final = (
    Setting("baseUrl", Form.TEXT, "Where the server is, such as `https://api.example.com/v1`", shown=_url),
    Setting("protocol", Form.TEXT, "What the server speaks", f"`{DEFAULT_PROTOCOL}`"),
    Setting("apiKey", Form.TEXT, "The key itself; VS Code keeps that of a group in its secret storage", shown=_hidden),
    Setting("apiKeyEnv", Form.TEXT, "The environment variable that holds the key"),
    Setting("apiKeyFile", Form.TEXT, "The file that holds the key: an absolute path, or one that begins with `~/`"),
    Setting("apiKeyKeyring", Form.TEXT, "The entry of the system's keyring, as `service/user`; needs `keyring`"),
    Setting(
        "apiKeyCommand",
        Form.LIST,
        "A program and its arguments, whose output is the key; no shell is involved",
        shown=_program,
    ),
    Setting(
        "apiKeyLifetime",
        Form.NUMBER,
        "For how many seconds a key from a file, the keyring or a command is good",
        "until the `exp` of a JWT, else for ever",
    ),
    Setting(
        "vercelOidc",
        Form.OBJECT,
        "`project` and `team` (ids) whose token is the key: that of `VERCEL_OIDC_TOKEN`, or one that the login of the "
        "Vercel CLI gets",
    ),
    Setting("headers", Form.OBJECT, "Further headers of every request, by name", shown=_hidden_values),
    Setting(
        "allowInsecureHttp",
        Form.BOOLEAN,
        "Whether the base URL may be plain `http` to another machine: anyone on the way can read keys and prompts",
        "`false`",
    ),
    Setting("discover", Form.BOOLEAN, "Whether the server is asked for its models", "when `models` is empty"),
    Setting("models", Form.LIST, "Models by id, or objects that say what the server does not say of them"),
    Setting("allowModels", Form.LIST, "Patterns (`*`) of the models to offer", "all"),
    Setting("denyModels", Form.LIST, "Patterns of the models not to offer", "none"),
    Setting("hiddenModels", Form.LIST, "Patterns of the models that are offered but not shown in the picker", "none"),
    Setting("defaultModel", Form.TEXT, "The model that is taken when nobody chooses"),
    Setting("limitPolicy", Form.TEXT, "What of the context window is for the prompt", "`reserve-output`"),
    Setting("limitFraction", Form.NUMBER, "The part of the window, for the policy `fraction`"),
    Setting(
        "limitReasoning",
        Form.NUMBER,
        "Tokens that `reserve-output` leaves for reasoning beside the output limit, for servers that do not count "
        "reasoning as output",
        "0",
    ),
    Setting("fallbacks", Form.OBJECT, "By a model's id, a list of the models to ask when it cannot answer"),
    Setting(
        "request",
        Form.OBJECT,
        "How requests are written: `systemAs`, `toolImages`, `continuation`, `store`, `encryptedReasoning`, "
        "`contextSizeField`, `specificationVersion`, `providerOptions`, `contextManagement`, `truncation`, "
        "`compactAt`, `countTokens`, `team`, `extraBody`, `extraHeaders`",
        shown=_without_extra,
    ),
    Setting(
        "modelRequests",
        Form.OBJECT,
        "The same for single models, by id, in the place of `request`",
        "",
        _without_extras,
    ),
    Setting(
        "timeouts",
        Form.OBJECT,
        "Seconds: `connect`, `firstEvent`, `idle` (between two reads), `total`",
        "10, 300, 120, 3600",
        is_bound=False,
    ),
    Setting(
        "retry",
        Form.OBJECT,
        "`attempts`, and seconds between them: `firstWait`, `longestWait`",
        "3, 0.5, 30",
        is_bound=False,
    ),
    Setting(
        "proxy",
        Form.TEXT,
        "The proxy to go through; what `NO_PROXY` names and this machine are reached without it",
        "`HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY`",
        shown=_url,
        is_bound=False,
    ),
    Setting(
        "proxyStrictSSL",
        Form.BOOLEAN,
        "Whether servers and proxies have to prove who they are; `SSL_CERT_FILE` names further certificates",
        "`true`",
        is_bound=False,
    ),
    Setting(
        "ledger",
        Form.BOOLEAN,
        "Whether what is learned of tokens, and what answers take, is kept in your data folder: numbers, never text",
        "`true`",
        is_bound=False,
    ),
)

SETTINGS: Final[Mapping[str, Setting]] = {row.name: row for row in _ROWS}
"""All settings by name."""

KEY_SETTINGS: Final = tuple(name for name in SETTINGS if name == "apiKey" or name in KEY_CHECKS)
"""Those that say where the key comes from: one of them, and perhaps `apiKeyLifetime`."""
