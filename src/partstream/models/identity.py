"""Parses the id of a model into creator, family and version, and makes a name for people.

The family is the name with its generation and without its snapshot: `gpt-4.1`, `claude-sonnet-4.5`. Copilot chooses its
prompts and edit tools by the beginning of the family (`gpt`, `claude`, `gemini`, `grok-code`, `o3-mini`), and tokens
are counted by family, so two generations are two families. The version is the snapshot: a date, `latest`, `preview`.

An id tells nothing else: capabilities are declared or unknown.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from partstream.models.vocabulary import (
    BEDROCK_REGIONS,
    BEDROCK_VENDORS,
    NO_PROVIDERS,
    PROVIDERS,
    QUANTISATION,
    TAGS,
    VERSION,
    WORDS,
)

__all__ = ["ModelIdentity", "parse_identity"]


@dataclass(frozen=True, slots=True)
class ModelIdentity:
    """The pieces of a model's id; joined, they are the id again.

    Attributes:
        prefix: The text before the name: creator, routes, folders.
        family: The name without its version.
        joint: The separator between family and version.
        version: The snapshot, or an empty string.
        suffix: The text after the name: a variant (`:free`), a tag, a quantisation, a file type.
        provider: The model's creator in lower case, or None if the id does not tell.
    """

    prefix: str
    family: str
    joint: str
    version: str
    suffix: str
    provider: str | None

    @property
    def id(self) -> str:
        """The whole id."""
        return f"{self.prefix}{self.name}{self.suffix}"

    @property
    def name(self) -> str:
        """Family and version."""
        return f"{self.family}{self.joint}{self.version}"

    @property
    def display_name(self) -> str:
        """The name for people, such as `GPT-4o Mini (2024-07-18, free)`."""
        shown = " ".join(_word(word) for word in re.split(r"[-_ ]+", self.family) if word) or self.family
        shown = re.sub(r"^(GPT|GLM) (?=\d)", r"\1-", shown)  # as their makers write them
        shown = re.sub(r"(?<!\.)(\d) (\d)(?![\w.])", r"\1.\2", shown)  # claude-sonnet-4-5
        asides = [self.version.replace("_", "-"), *(aside for aside in re.split(r"[:@]", self._variant) if aside)]
        joined = ", ".join(aside for aside in asides if aside)
        return f"{shown} ({joined})" if joined else shown

    @property
    def _variant(self) -> str:
        """The suffix without its file type and its separators."""
        return re.sub(r"\.(?:gguf|bin|safetensors)\Z", "", self.suffix, flags=re.IGNORECASE).strip(":@-._/\\")


def parse_identity(model_id: str) -> ModelIdentity:
    """The pieces of an id; works for every text."""
    start, provider = _prefix(model_id)
    rest = model_id[start:]
    end = _name_end(rest)
    name, suffix = rest[:end], rest[end:]
    family, joint, version = _version(name)
    return ModelIdentity(model_id[:start], family, joint, version, suffix, provider)


def _prefix(model_id: str) -> tuple[int, str | None]:
    """The index at which the name starts, and the model's creator."""
    start = max(model_id.rfind("/"), model_id.rfind("\\")) + 1
    if start == len(model_id):  # the id ends with a slash, or is empty
        return 0, None
    provider = _from_path(model_id[: max(start - 1, 0)], model_id[start:]) if start else None
    route = re.match(r"([A-Za-z][\w.-]*):", model_id[start:])
    if route and _is_route(route[1], model_id[start + route.end() :]):
        start += route.end()
        provider = _provider(route[1]) or provider
    region = re.match(rf"(?:{BEDROCK_REGIONS})\.(?=(?:{BEDROCK_VENDORS})\.)", model_id[start:])
    start += region.end() if region else 0
    vendor = re.match(rf"({BEDROCK_VENDORS})\.(?=[A-Za-z])", model_id[start:])
    if vendor:
        start += vendor.end()
        provider = vendor[1]
    return start, provider


def _is_route(left: str, right: str) -> bool:
    """Whether `left:right` is a provider and a name; otherwise it is a name and a tag."""
    if left.lower() == "ft":  # a fine-tuned model: ft:gpt-4o-mini-2024-07-18:acme::id
        return bool(right)
    return left.lower() in PROVIDERS and bool(right) and not TAGS.match(right)


def _provider(word: str) -> str | None:
    return None if word.lower() in NO_PROVIDERS else word.lower()


def _from_path(path: str, name: str) -> str | None:
    """The creator of a model whose name follows `path`; None for folders of a disk."""
    if re.match(r"^([/\\.~]|[A-Za-z]:[/\\]|$)", path) or "\\" in path:
        return None
    segments = path.split("/")
    # A file lies in the folder of its repository: creator/repository/file.gguf
    if name.lower().endswith(".gguf") and len(segments) > 1:
        segments = segments[:-1]
    words = [segment.split(":")[-1].lower() for segment in segments if segment]
    return next((word for word in reversed(words) if word not in NO_PROVIDERS), None)


def _name_end(rest: str) -> int:
    """The index at which the name ends and tags, variants and file types start."""
    end = len(rest)
    # Bedrock's revision is part of the version: 20240620-v1:0
    revision = re.search(r"[-.]v\d+:\d+", rest)
    colon = rest.find(":", revision.end() if revision else 1)
    if colon > 0:
        end = colon
    while (shorter := _without_packing(rest[:end])) < end:
        end = shorter
    return end


def _without_packing(name: str) -> int:
    """The index at which a final word about weights or files starts; the length of the name without such a word."""
    packing = QUANTISATION.search(name)
    if packing is not None and packing.start() > 0:
        return packing.start()
    # @20240620 in claude-3-5-sonnet@20240620 is a version, @q4_k_m in qwen2.5-7b@q4_k_m a quantisation
    at = name.rfind("@", 1)
    return at if at > 0 and not re.match(r"@(\d{8}|latest|default)\Z", name[at:]) else len(name)


def _version(name: str) -> tuple[str, str, str]:
    """Family, joint and version."""
    found = VERSION.search(name)
    if found is None or found.start() == 0:
        return name, "", ""
    return name[: found.start()], found["joint"], found["version"]


def _word(word: str) -> str:
    """A word in its creator's spelling; a word with capitals already has it."""
    if word.lower() in WORDS and word == word.lower():
        return WORDS[word]
    if word != word.lower():
        return word
    if re.fullmatch(r"(\d+x)?\d+(\.\d+)?[bmkt]", word):  # 7b, 8x7b, 128k: sizes
        return word[:-1] + word[-1].upper()
    if re.fullmatch(r"(a|e|r|k|v|m)\d+(\.\d+)?b?", word):  # r1, k2, v3.1, a22b
        return word.upper()
    if re.fullmatch(r"o\d+", word):  # o3 stays in lower case
        return word
    return word[:1].upper() + word[1:]
