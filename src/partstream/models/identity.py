"""What the id of a model says: who made it, its family, its version; and a name for people.

The family is the name without its snapshot, with its generation: `gpt-4.1`, `claude-sonnet-4.5`. Copilot chooses its
prompts and edit tools by how a family begins (`gpt`, `claude`, `gemini`, `grok-code`, `o3-mini`), and tokens are
counted by family, so two generations are two families. The version is the snapshot: a date, `latest`, `preview`.

Nothing else is read out of an id: what a model can do is declared or unknown.
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
    """A model's id in its pieces; put together they are the id again.

    Attributes:
        prefix: What stands before the name: creator, routes, folders.
        family: The name without its version.
        joint: What stands between family and version.
        version: The snapshot, or an empty string.
        suffix: What stands after the name: a variant (`:free`), a tag, a quantisation, a file type.
        provider: Who made the model, in lower case, or None when the id does not say.
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
        """What a person reads, such as `GPT-4o Mini (2024-07-18, free)`."""
        shown = " ".join(_word(word) for word in re.split(r"[-_ ]+", self.family) if word) or self.family
        shown = re.sub(r"^(GPT|GLM) (?=\d)", r"\1-", shown)  # as their makers write them
        shown = re.sub(r"(?<!\.)(\d) (\d)(?![\w.])", r"\1.\2", shown)  # claude-sonnet-4-5
        asides = [self.version.replace("_", "-"), *(aside for aside in re.split(r"[:@]", self._variant) if aside)]
        said = ", ".join(aside for aside in asides if aside)
        return f"{shown} ({said})" if said else shown

    @property
    def _variant(self) -> str:
        """The suffix without its file type and the marks before it."""
        return re.sub(r"\.(?:gguf|bin|safetensors)\Z", "", self.suffix, flags=re.IGNORECASE).strip(":@-._/\\")


def parse_identity(model_id: str) -> ModelIdentity:
    """The pieces of an id; every text has some."""
    start, provider = _prefix(model_id)
    rest = model_id[start:]
    end = _name_end(rest)
    name, suffix = rest[:end], rest[end:]
    family, joint, version = _version(name)
    return ModelIdentity(model_id[:start], family, joint, version, suffix, provider)


def _prefix(model_id: str) -> tuple[int, str | None]:
    """Where the name begins, and who made the model."""
    start = max(model_id.rfind("/"), model_id.rfind("\\")) + 1
    if start == len(model_id):  # it ends with a slash, or is empty
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
    """Whether `left:right` is provider and name; else it is name and tag."""
    if left.lower() == "ft":  # a fine-tuned model: ft:gpt-4o-mini-2024-07-18:acme::id
        return bool(right)
    return left.lower() in PROVIDERS and bool(right) and not TAGS.match(right)


def _provider(word: str) -> str | None:
    return None if word.lower() in NO_PROVIDERS else word.lower()


def _from_path(path: str, name: str) -> str | None:
    """Who made a model whose name stands behind `path`; the folders of a disk say nothing."""
    if re.match(r"^([/\\.~]|[A-Za-z]:[/\\]|$)", path) or "\\" in path:
        return None
    segments = path.split("/")
    # A file lies in the folder of its repository: creator/repository/file.gguf
    if name.lower().endswith(".gguf") and len(segments) > 1:
        segments = segments[:-1]
    words = [segment.split(":")[-1].lower() for segment in segments if segment]
    return next((word for word in reversed(words) if word not in NO_PROVIDERS), None)


def _name_end(rest: str) -> int:
    """Where the name ends and tags, variants and file types begin."""
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
    """Where the last word about weights and files begins; the length of the name when it ends with none."""
    packing = QUANTISATION.search(name)
    if packing is not None and packing.start() > 0:
        return packing.start()
    # claude-3-5-sonnet@20240620 is a version, qwen2.5-7b@q4_k_m a quantisation
    at = name.rfind("@", 1)
    return at if at > 0 and not re.match(r"@(\d{8}|latest|default)\Z", name[at:]) else len(name)


def _version(name: str) -> tuple[str, str, str]:
    """Family, joint and version."""
    found = VERSION.search(name)
    if found is None or found.start() == 0:
        return name, "", ""
    return name[: found.start()], found["joint"], found["version"]


def _word(word: str) -> str:
    """A word as its makers write it; one that has capitals has been written by them."""
    if word.lower() in WORDS and word == word.lower():
        return WORDS[word]
    if word != word.lower():
        return word
    if re.fullmatch(r"(\d+x)?\d+(\.\d+)?[bmkt]", word):  # 7b, 8x7b, 128k: sizes
        return word[:-1] + word[-1].upper()
    if re.fullmatch(r"(a|e|r|k|v|m)\d+(\.\d+)?b?", word):  # r1, k2, v3.1, a22b
        return word.upper()
    if re.fullmatch(r"o\d+", word):  # o3 is written small
        return word
    return word[:1].upper() + word[1:]
