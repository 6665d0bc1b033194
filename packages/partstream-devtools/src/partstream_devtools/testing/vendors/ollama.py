"""Ollama's server: what it refuses of a request that is understood, in its own words, and what its runner remembers.

It refuses wrong values, pictures that are not base64, and what the model cannot do. The runner does not compute the
beginning of a prompt again that it still holds. Ollama bills nothing and has no field for it
(docs/wires/ollama.md#usage).
"""

from __future__ import annotations
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from partstream.protocols.failures import RefusedRequestError
from partstream.protocols.serve import WireRequest
from partstream_devtools.testing.vendors.vendor import CachedPrompt, CacheRule, Vendor, listed_blocks


class _Ollama(Vendor):
    def refuse(self, request: WireRequest) -> None:
        body = request.body
        if not body.get("model"):
            raise RefusedRequestError("model is required")
        think = body.get("think")
        if isinstance(think, str) and think not in _LEVELS:
            raise RefusedRequestError(
                f'invalid think value: "{think}" (must be "high", "medium", "low", "max", true, or false)'
            )
        most = body.get("top_logprobs")
        if isinstance(most, int) and not 0 <= most <= _MOST_LOGPROBS:
            raise RefusedRequestError(f"top_logprobs must be between 0 and {_MOST_LOGPROBS}")
        for message in _messages(body):
            for place, image in enumerate(message.get("images") or ()):
                if not isinstance(image, str) or not _BASE64.fullmatch(image):
                    valid = re.match(r"[A-Za-z0-9+/]*", image if isinstance(image, str) else "")
                    raise RefusedRequestError(f"illegal base64 data at input byte {valid.end() if valid else place}")
        _refuse_ability(body)

    def cached_prompt(self, request: WireRequest) -> CachedPrompt:
        blocks = listed_blocks(request.body, ("tools", "messages"))
        return CachedPrompt(blocks, _RULE, str(request.body.get("model") or ""))


_RULE: Final = CacheRule(1, is_automatic=True, read_price=0.0)
_LEVELS: Final = ("high", "medium", "low", "max")
_MOST_LOGPROBS: Final = 20
_BASE64: Final = re.compile(r"[A-Za-z0-9+/\r\n]*={0,2}\s*")

_CAPABILITIES: Final[Mapping[str, frozenset[str]]] = {
    "llama2": frozenset(),
    "gemma": frozenset(),
    "gemma3": frozenset({"vision"}),
    "llama3.2": frozenset({"tools"}),
    "qwen2.5": frozenset({"tools"}),
    "qwen3": frozenset({"tools", "thinking"}),
    "gpt-oss": frozenset({"tools", "thinking"}),
}
"""What models of Ollama's library can do beside completing text, by their names without tags; others may do all."""


def _messages(body: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    listed = body.get("messages")
    yield from (one for one in (listed if isinstance(listed, list) else ()) if isinstance(one, dict))


def _refuse_ability(body: Mapping[str, Any]) -> None:
    model = str(body["model"])
    can = _CAPABILITIES.get(model.rpartition("/")[2].partition(":")[0])
    if can is None:
        return
    wanted = {
        "tools": bool(body.get("tools")),
        "thinking": body.get("think") not in (None, False),
        "vision": any(message.get("images") for message in _messages(body)),
    }
    missing = next((name for name, is_wanted in wanted.items() if is_wanted and name not in can), None)
    if missing is not None:
        raise RefusedRequestError(f'"{model}" does not support {missing}')


VENDOR: Final = _Ollama()
