"""Writes the page on configuration, and the reference of all settings, from their table."""

from __future__ import annotations
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from partstream.codec.system import CACHE, DATA
from partstream.config.table import FILE_NAME, FILE_VARIABLE, SETTINGS
from partstream.server.clients import TOKEN_VARIABLE
from partstream.settings.row import SettingSource
from partstream.upstream.detection import known_wires, probed_wires
from partstream_devtools.conformance.stdio_target import UPSTREAM_VARIABLE
from partstream_hub.store.opening import DATABASE_VARIABLE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from partstream.settings.row import Setting

__all__ = ["configuration_page", "settings_page"]

_HEAD: Final = f"""\
# Configuration

<!-- Made by tools/generate.py from the rows that partstream/config/table.py gathers. Change them. -->

One upstream is configured by [the settings](reference/settings.md). They have the same names in a VS Code group
(`chatLanguageModels.json`, through **Partstream: Manage Models**), in `{FILE_NAME}` and in errors. `partstream config
show` prints each value with its source; `partstream doctor` tries it.

## Where settings come from

The strongest place first:

"""

_PLACES: Final = {
    SettingSource.COMMAND_LINE: "the options of a command such as `partstream chat`",
    SettingSource.GROUP: "the keys of one group of models in VS Code",
    SettingSource.PROFILE: "the table `[profiles.NAME]` of the active profile",
    SettingSource.EDITOR: "`http.proxy` and `http.proxyStrictSSL` of VS Code, where they are set",
    SettingSource.ENVIRONMENT: "[variables](reference/settings.md#settings); what is not text is written as JSON",
    SettingSource.FILE: f"the user's own file, see `partstream config path`; `{FILE_VARIABLE}` names another",
    SettingSource.DEFAULT: "without any of these",
}

_RULES: Final = """
Settings of an upstream (all but those marked *anywhere*) apply only if they come from the same place as the active base
URL, from a stronger one, or from one with the same URL. So a key never goes to a server that another person's setting
names. With `--base-url` the environment's key is used, unless the environment names another URL.

`partstream.toml` is never read from the present folder: a folder that you do not trust could send your key anywhere.

An unknown setting and an invalid value are refused with their place and what is expected there, also where
a stronger place wins. In a VS Code group an unknown setting is a warning instead: see [vscode.md](vscode.md).

## Examples of the file

A server on this machine, with the model that `partstream chat` takes when none is named:

```toml
baseUrl = "http://localhost:1234/v1"
defaultModel = "qwen3:8b"
```

A server that wants a key, which stays in the environment:

```toml
baseUrl = "https://api.example.com/v1"
apiKeyEnv = "EXAMPLE_API_KEY"
allowModels = ["large-*", "small"]
maxOutputTokens = 8000

[timeouts]
firstEvent = 600

[fallbacks]
large-1 = ["small"]

[request.extraBody]
temperature = 0.2
```

Several servers, each in a profile; what precedes the first profile holds for all, but for what belongs to an
upstream:

```toml
defaultProfile = "home"
thinking = "off"

[profiles.home]
baseUrl = "http://localhost:1234/v1"
defaultModel = "qwen3:8b"

[profiles.work]
baseUrl = "https://api.example.com/v1"
apiKeyKeyring = "partstream/work"
defaultModel = "large-1"

[profiles.work.timeouts]
firstEvent = 600
```

One family of a server's models, one of them under a name of your own. What is said in `models` is added to what the
server says, and hides no other model; `allowModels` and `hiddenModels` do that:

```toml
baseUrl = "http://localhost:11434/v1"
allowModels = ["qwen3*"]

[[models]]
id = "qwen3:8b"
name = "Small Qwen"
```

A server without a list of models, in a network with a proxy and certificates of its own (`SSL_CERT_FILE`):

```toml
baseUrl = "https://models.example.com/v1"
apiKeyCommand = ["pass", "show", "models"]
proxy = "http://proxy.example.com:3128"
discover = false

[[models]]
id = "house-model"
maxInputTokens = 100000
maxOutputTokens = 8000
toolCalling = true
```

## Profiles

A profile is one upstream among several of your file: a table `[profiles.NAME]` with any settings.
`partstream add` writes one, `partstream profiles` lists them, and `partstream profiles remove NAME` removes one. The
active profile is the one that `--profile` names, else `PARTSTREAM_PROFILE`, else `defaultProfile`; `partstream config
show` names it. A base URL of a stronger place means another upstream, without a profile: `--base-url` and a VS Code
group precede the two latter, and `PARTSTREAM_BASE_URL` precedes `defaultProfile`.

A profile ranks above the environment. A key that was exported for one server goes to no profile, unless the profile
names its variable (`apiKeyEnv`). A mistake in another profile is only reported.
"""
_SETTINGS_HEAD: Final = """\
# Reference of the settings

<!-- Made by tools/generate.py from the rows that partstream/config/table.py gathers. Change them. -->

Every setting of an upstream, for VS Code groups, `partstream.toml` and the environment.
[Configuration](../configuration.md) says which place wins, and has examples.

## Settings

"""

_TAIL: Final = """
## What the server speaks

Leave `protocol` out, or set it to `auto`, and it is detected:

1. A known host tells it: `api.deepseek.com` speaks Chat Completions. Nothing is asked. [servers.md](servers.md) lists
   them.
2. Any other server gets a few small requests at the same time: for its list of models, and an empty one (`{}`) to each
   of PROBED. They cost nothing: 400 or 422 says that the endpoint is
   there, 404 or 405 that it is not. Wires at a base path of their own
   [are asked for](wires.md#how-the-protocol-is-detected) where something tells them, or nothing else is there.
3. Where several are there, the first of them is taken, unless it is not complete at that server. Ollama, vLLM and
   others are known by their lists of models, or by their usual ports.

The base URL need not be exact: without `/v1`, with `/chat/completions`, `/responses` or `/models` at its end, with a
slash at its end, or with the path of the server's own API (`/api`), the right one is found, on the same host. Only then
a second and a third base URL are asked.

`partstream config show`, `partstream doctor`, the log and the tooltips of VS Code's picker say what was found and why.
VS Code keeps it for a day. It is detected again when a request fails because its path is missing. A server that does
not tell, as it refuses the key or does not answer, is asked in what is likely; the next request finds out anew.

A `protocol` that is set is never doubted, and nothing is asked to find it out. If the server has not its endpoint, the
error says what the server speaks instead. Settings of requests that only one protocol knows may be set beside `auto`:
those of the protocol that is found are used.

## Where the key comes from

One of the `apiKey...` settings or `vercelOidc`. The strongest place that names one wins; two in one place are refused.

- A key is fetched when the first request needs it, and kept until shortly before it ends: at the `exp` of a JWT, or
  after `apiKeyLifetime` seconds. Requests that wait for it share one renewal.
- A key that the server answers with 401 is fetched once more, and the request sent again with the new one. A server
  that refuses that one too is not asked a third time.
- `apiKeyCommand` runs without a shell, in your home folder, for at most 30 s. Its output is the key and nothing else.
  Nothing of it is logged, nor what it writes to standard error: run it in a terminal to see why it fails.
- `apiKeyFile`: a file that everyone on the machine can read is warned about.
- `apiKeyKeyring` needs the package `keyring` in the Python that runs Partstream (`pip install keyring`, or the extra
  `keyring`). `partstream add` keeps a key there.
- `vercelOidc` takes `VERCEL_OIDC_TOKEN` while it is good. With `project` (and `team`) it asks Vercel for a new token
  15 minutes before the end, by the login that the Vercel CLI keeps (`vercel login`).

Keys are in no log, error, cache or command line.

## What a server does not take

Servers of one protocol refuse different fields of it. A request that is refused with HTTP 400 or 422 for an optional
field is sent once more without it, or with what the server knows in its place (`max_completion_tokens` for
`max_tokens`, the `tool_choice` `auto`, the reasoning effort `none` beside tools), only before the first part of the
answer. The field is left out for that model from then on, for a week at most. The log says what was left out and
why: as a warning where a person had set it, or where another value took its place.

A server that is busy (408, 409, 429, 5xx; also said in the first event of a stream) is asked again as `retry` says,
after as many seconds as it wants. An account without credit, a filter that refused the request and a conversation that
is too long are not tried again.

## Models that answer in another's place

`fallbacks` such as `{"large": ["small", "tiny"]}`. They are asked in order when a model is overloaded (429, 5xx, or
said so in the stream), cannot be reached or stays silent; not when the request or the key is refused. Only before the
first part: what was shown is never said twice. The log names every change, and the detail of the model in the picker
names what it falls back on.

## Conversations that grow long

VS Code shortens a conversation by itself when it nears the input limit of the model. Some servers can do something
about it before, when `request` (or `modelRequests`) says so:

- `contextManagement` for models whose id begins with `anthropic/`, through the AI Gateway. `"on"`, the default,
  asks for the results of old tool calls to be cleared from 70 % of the input limit on; the last 5 stay, and nothing is
  cleared unless it is at least a tenth of the limit, because clearing makes the server's prompt cache useless once.
  Models before Claude 4 do not know it and are not asked. `{"edits": [...]}` lists edits in the words of the AI SDK
  (`clear_thinking_20251015` first, then `clear_tool_uses_20250919` and `compact_20260112`); edits that a server would
  drop in silence are refused. `"off"` asks for none.
- `compactAt` for OpenResponses servers that summarise: from that many input tokens on. What the server makes of the
  conversation, which only it can read, goes back with the next request.
- `truncation` for OpenResponses servers: `auto` lets the server drop the middle of a conversation that is too long,
  `disabled` has it refuse.

`countTokens: "upstream"` has an OpenResponses server count each request before it is sent (`/responses/input_tokens`),
for a warning in the log that rests on its own numbers. The request waits for that up to 2 s; a server that did not
count three times in a row is not asked any more. By default requests are counted here, which needs no waiting.

What a server took out is named in the log, in the status bar and on the page of **Partstream: Show Token Usage**.

A model that falls back on others is also left for another one when the conversation is too long for it, but only for
one that is known to take more.

## Certificates and proxies

[TLS and proxies](tls-and-proxies.md) has the rules of `proxy`, `proxyStrictSSL` and `allowInsecureHttp`.
"""

_USUAL_PLACES: Final = frozenset(
    {SettingSource.GROUP, SettingSource.PROFILE, SettingSource.ENVIRONMENT, SettingSource.FILE}
)
_MOST_EXPLAINED: Final = 20
"""The most choices of a setting that are explained one by one: those of more are names of servers."""
_BOUNDS: Final = {"minimum": "from", "exclusiveMinimum": "above", "maximum": "to"}
"""The words before a bound, by the keyword of JSON Schema."""
_OTHER_VARIABLES: Final = """
## Further environment variables

They are no settings of an upstream. Those of one command's options, such as `PARTSTREAM_SERVE_PORT`, are in the
[reference of the command line](command-line.md).

"""
_VARIABLES: Final = (
    (FILE_VARIABLE, f"The file that is read instead of the user's `{FILE_NAME}`"),
    (DATA.variable, "The folder for usage, recordings and tokens of servers ([which](../install.md#removing-it))"),
    (CACHE.variable, "The folder for lists of models and files of answers (the same)"),
    (TOKEN_VARIABLE, "The token of `partstream serve`, for `partstream connect` too ([more](../serving.md#the-token))"),
    (DATABASE_VARIABLE, "The database of a hub: a file of SQLite, or `postgresql://...` ([hub](../hub.md))"),
    (UPSTREAM_VARIABLE, "Set by `partstream conformance --stdio` for what it tests: the base URL of its model server"),
)  # fmt: skip
"""The variables that are read beside those of the settings and of options."""


def configuration_page() -> str:
    """The page for people in Markdown."""
    places = [f"{number}. **{place}**: {_PLACES[place]}\n" for number, place in enumerate(SettingSource, 1)]
    tail = _TAIL.replace("PROBED", ", ".join(f"`{wire.path}`" for wire in probed_wires(known_wires())))
    return "".join((_HEAD, *places, _RULES, tail))


def settings_page() -> str:
    """The reference in Markdown; texts of rows link to pages as those of docs/ do."""
    rows = [_table(("setting", "form", "what it says", "default"), [_columns(row) for row in SETTINGS.values()])]
    rows += [_spellings(), *_elsewhere(), *map(_section, SETTINGS.values())]
    variables = _table(("environment variable", "what it says"), [(f"`{name}`", says) for name, says in _VARIABLES])
    settings = re.sub(r"\]\((?=[a-z-]+\.md)", "](../", "".join(rows))
    return "".join((_SETTINGS_HEAD, settings, _OTHER_VARIABLES, variables))


def _elsewhere() -> Iterator[str]:
    """The settings that cannot be in every place of :data:`_USUAL_PLACES`, or in others too."""
    yield "\nA setting may be in a VS Code group, a profile, the environment and the file. Elsewhere:\n\n"
    for row in SETTINGS.values():
        if row.places - {SettingSource.COMMAND_LINE} != _USUAL_PLACES:
            places = [
                place
                for place in SettingSource
                if place in row.places and (row.option or place != SettingSource.COMMAND_LINE)
            ]
            yield f"- `{row.name}`: {', '.join(places)}\n"


def _columns(row: Setting) -> tuple[str, ...]:
    says = row.says + ("" if row.is_bound else " (*anywhere*)") + "".join(_choices(row))
    return f"`{row.name}`", _form(row.kind.schema, row.kind.form), says, row.shown_default


def _form(schema: Mapping[str, Any], form: str) -> str:
    """The form of a value, with its bounds."""
    inner = schema.get("items") or schema.get("additionalProperties")
    if isinstance(inner, Mapping) and inner.get("type") == "string":
        return f"{form} of texts"
    words = ["whole number" if schema.get("type") == "integer" else form]
    words += [f"{word} {schema[key]:,}" for key, word in _BOUNDS.items() if key in schema]
    return " ".join(words)


def _choices(row: Setting) -> Iterable[str]:
    schema = row.kind.schema
    if len(words := schema.get("enum", ())) > _MOST_EXPLAINED:
        yield f": {', '.join(f'`{word}`' for word in words)}"
        return
    for word, meaning in zip(schema.get("enum", ()), schema.get("enumDescriptions", ()), strict=False):
        yield f"<br>`{word}`: {meaning}"


def _spellings() -> str:
    """How a setting is written as a variable and as an option."""
    options = [f"`{row.option}`" for row in SETTINGS.values() if row.option]
    return (
        "\nThe environment variable of a setting is `PARTSTREAM_` and its name in capitals, its words joined by `_`: "
        f"`{SETTINGS['baseUrl'].variable}`. These have an option too: {', '.join(options)}.\n"
    )


def _section(row: Setting) -> str:
    """The settings within the value of another; those that are said once are not said again."""
    if row.contents is None or row.name == "modelRequests":
        return ""
    rows = row.contents.rows
    owners = any(one.protocol for one in rows)
    head = ("setting", "form", "what it says", "default", *(("protocol",) if owners else ()))
    table = _table(head, [(*_columns(one), *((one.protocol or "all",) if owners else ())) for one in rows])
    return f"\n### Within `{row.name}`\n\n{table}"


def _table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    lines = [head, tuple("---" for _ in head), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)
