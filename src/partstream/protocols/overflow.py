"""Tells whether an upstream refused a request because its input is too long, and reads the numbers that it named.

Most upstreams have only a sentence for it, so this is the one place that reads sentences: a row for each phrasing in
use, gathered from public bug reports about these servers. Gateways pass the sentences on, and local servers speak more
than one wire: so they stand here, and a protocol adds what its servers alone say (:mod:`partstream.protocols.errors`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from partstream.errors import UpstreamFailureError, UpstreamHTTPError
from partstream.numbers import as_count

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from partstream.errors import UpstreamError

__all__ = ["PHRASINGS", "Overflow", "Phrasing", "phrasing", "read_overflow", "says_nothing"]


@dataclass(frozen=True, slots=True)
class Overflow:
    """An input that was too long, in tokens as the upstream counts them.

    Attributes:
        limit: The most that the input may hold, or None where it did not say.
        count: What the input held, or None where it did not say.
        speaks_of_tokens: Whether tokens were too many, as against the bytes of the request.
    """

    limit: int | None = None
    count: int | None = None
    speaks_of_tokens: bool = True


class Phrasing(NamedTuple):
    """One phrasing that servers use.

    Attributes:
        server: Which ones.
        pattern: A regular expression for their sentence, in any case. Groups: `limit` of the input, `window` of input
            and output, `count` of the input, `total` of both, `output` that was asked for.
    """

    server: str
    pattern: str

    def search(self, said: str) -> re.Match[str] | None:
        """Looks for the sentence; the expression is compiled when it is first needed."""
        return re.search(self.pattern, said, re.IGNORECASE)


def read_overflow(
    error: UpstreamError,
    phrasings: Iterable[Phrasing],
    *,
    token_codes: Collection[str] = (),
    size_codes: Collection[str] = (),
) -> Overflow | None:
    """Reads an error that refuses an input as too long; returns None for every other error, including rate limits.

    Args:
        error: The error.
        phrasings: The sentences to look for; the first that is there is read.
        token_codes: The codes, in lower case, for an input of too many tokens. Those that are words are looked for in
            sentences too.
        size_codes: The codes for a request of too many bytes.
    """
    code = (error.provider_code or "").lower()
    said = (_said(error) or "")[:_MAX_SAID]
    if (
        error.http_status == _TOO_MANY_REQUESTS
        or code.startswith("rate_limit")
        or re.search(_RATE, said, re.IGNORECASE)
        or re.search(_NO_TEXT, said, re.IGNORECASE)
    ):
        return None
    for one in phrasings:
        if (match := one.search(said)) is not None:
            return _numbers(match.groupdict())
    if code in token_codes or any(word in said for word in token_codes if not word.isdigit()):
        return Overflow()
    if code in size_codes or error.http_status == _CONTENT_TOO_LARGE:
        return Overflow(speaks_of_tokens=False)
    return None


def says_nothing(error: UpstreamError) -> bool:
    """Whether an error blames the request and has no body: Cerebras's for an input that is too long, and others."""
    return isinstance(error, UpstreamHTTPError) and error.http_status == _BAD_REQUEST and not error.body


def _said(error: UpstreamError) -> str | None:
    """The sentence; if a gateway hides it deeper in its answer, the whole answer."""
    if isinstance(error, UpstreamHTTPError | UpstreamFailureError):
        return f"{error.provider_message or ''}\n{error.body}"
    return None


def _numbers(groups: dict[str, str | None]) -> Overflow:
    found = {name: as_count(int(re.sub(r"\D", "", text))) for name, text in groups.items() if text}
    said = {name: number for name, number in found.items() if number is not None}
    output = said.get("output", 0)
    limit, count = said.get("limit"), said.get("count")
    if limit is None and "window" in said:
        limit = said["window"] - output
    if count is None and "total" in said:
        count = said["total"] - output
    # Numbers under which the input would fit are not the ones that they were taken for.
    if limit is not None and (limit < 1 or (count is not None and count <= limit)):
        return Overflow()
    return Overflow(limit, count)


_BAD_REQUEST: Final = 400
_TOO_MANY_REQUESTS: Final = 429
_CONTENT_TOO_LARGE: Final = 413
_MAX_SAID: Final = 4000

_RATE: Final = r"rate.?limit|\bquota\b|\b(?:per|a) (?:second|sec|minute|min|hour|day)\b|\b[TR]P[MD]\b|too many requests"
"""Limits of a rate, which some servers state in tokens and under the status 413 (Groq)."""

_NO_TEXT: Final = r"invalid '[\w.\[\]]*\b(?:id|call_id|tool_call_id|name|prompt_cache_key|user|safety_identifier)'"
"""A string that is too long and none of the conversation, such as the id of a call (OpenAI: at most 40 characters)."""

_N = r"[\d][\d,._]*\d|\d"


def phrasing(server: str, pattern: str) -> Phrasing:
    """A phrasing, in short: `<limit>` stands for the number that is the limit, and so on; a space for any blanks,
    `...` for some words of one line."""
    named = re.sub(r"<(\w+)>", lambda group: f"(?P<{group[1]}>{_N})", pattern)
    return Phrasing(server, named.replace("...", r"[^\n]{0,200}?").replace(" ", r"\s+"))


PHRASINGS: Final = (
    # Its fields before its sentence, which older versions have without numbers (ggml-org/llama.cpp#15780).
    phrasing("llama.cpp, its fields", r'"n_prompt_tokens":\s*<count>[^{}]{0,200}?"n_ctx":\s*<limit>'),
    phrasing("Anthropic", r"prompt is too long: <count> tokens > <limit>"),
    phrasing("Anthropic", r"input length and `?max_tokens`? exceed context limit: <count> \+ <output> > <window>"),
    phrasing(
        "OpenAI (chat), vLLM, DeepSeek",
        r"maximum context length is <window> tokens...requested(?: about)? <total> tokens "
        r"\(<count> (?:in|of) [\w ]+?[,;] <output> (?:in|for) the (?:completion|output)\)",
    ),
    phrasing(
        "OpenRouter",
        r"maximum context length is <window> tokens...requested(?: about)? <total> tokens..., <output> in the output",
    ),
    phrasing(
        "vLLM",
        r"is too large: <output>...maximum context length is <window> tokens...request has <count> input tokens",
    ),
    # The number of the input is the least that it has: vLLM stops counting there. So it is not read.
    phrasing(
        "vLLM, newest", r"maximum context length is <window> tokens...requested <output> output tokens...at least"
    ),
    phrasing(
        "SGLang",
        r"maximum context length of <window> tokens...requested a total of <total> tokens: <count> tokens from the "
        r"input messages and <output> tokens for the completion",
    ),
    phrasing("SGLang, LiteLLM", r"token count exceeds the model's maximum context length of <limit> tokens"),
    phrasing("LiteLLM", r"input length \(<count>\) exceeds (?:the )?model's maximum context length \(<limit>\)"),
    phrasing("Together, SGLang", r"\(<count> tokens\) is longer than the model's context length \(<limit> tokens\)"),
    phrasing(
        "OpenRouter, Poolside", r"input length <count> exceeds the maximum allowed input length of <limit> tokens"
    ),
    phrasing("Cerebras", r"current length is <count> while limit is <limit>"),
    phrasing("DashScope", r"range of input length should be \[\d+,\s?<limit>\]"),
    phrasing("GitHub Models", r"request body too large for...model\. max size: <limit> tokens"),
    phrasing(
        "OpenAI (chat)",
        r"maximum context length is <limit> tokens...(?:resulted in|requested(?: about)?) <count> tokens",
    ),
    phrasing("servers that name the window alone", r"maximum context length is <limit> tokens"),
    phrasing("OpenAI (Responses)", r"exceeds the context window"),
    phrasing(
        "Google", r"input token count(?: of)? \(?<count>\)? exceeds the maximum number of tokens allowed \(?<limit>"
    ),
    phrasing("Vertex AI", r"input token count is <count> but model only supports up to <limit>"),
    phrasing("Google without numbers", r"input token count exceeds the maximum number of tokens allowed"),
    phrasing("Amazon Bedrock", r"input is too long for requested model"),
    phrasing("xAI", r"maximum prompt length is <limit> but the request contains <count> tokens"),
    phrasing("GitHub Copilot", r"prompt token count of <count> exceeds the limit of <limit>"),
    phrasing("Mistral", r"contains <count> tokens...too large for model with <limit> maximum context length"),
    phrasing("Mistral", r"too large for model with <limit> maximum context length"),
    phrasing("llama.cpp", r"request \(<count> tokens\) exceeds the available context size \(<limit> tokens\)"),
    phrasing("llama.cpp", r"exceeds the available context size(?: \(<limit> tokens\))?"),
    phrasing("LM Studio", r"greater than the context length(?: \(n_keep: <count>\s*>=\s*n_ctx: <limit>\))?"),
    phrasing("LM Studio", r"to keep the first <count> tokens...loaded with context length of only <limit> tokens"),
    phrasing("LM Studio", r"cannot truncate prompt with n_keep \(<count>\) >= n_ctx \(<limit>\)"),
    phrasing("Moonshot", r"exceeded model token limit\s?: <limit> \(requested: <count>\)"),
    phrasing("Moonshot", r"exceeded model token limit\s?: <limit>"),
    phrasing("Moonshot", r"input token length too long"),
    phrasing("Ollama", r"the prompt is longer than the context length currently available"),
    phrasing("Ollama", r"the input length exceeds the context length"),
    phrasing(
        "Ollama, whose number is that of the excess", r"prompt too long; exceeded max context length by \d+ tokens"
    ),
    phrasing("Zhipu", r"prompt (?:exceeds max length|超长)"),
    phrasing("MiniMax, whose number is that of the error", r"context window exceeds limit"),
    phrasing("Groq", r"reduce the length of the messages"),
    phrasing("Anthropic without numbers", r"prompt is too long"),
)
"""The sentences, those that name more numbers first: the first that matches is taken."""
