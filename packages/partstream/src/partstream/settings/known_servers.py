"""The servers that are known by their hosts and ports, whatever protocol is spoken there.

Nothing here names a protocol. What is spoken at a server, and below which base URL, are rows in the folder of the
protocol, see :attr:`partstream.protocols.protocol.Protocol.spoken_at`.
"""

from __future__ import annotations
from collections.abc import Iterable
from enum import StrEnum
from typing import Final
from urllib.parse import urlsplit

from partstream.codec.checks import dataclass, replace
from partstream.settings.kinds import text_of
from partstream.settings.row import Setting


class KeyRequirement(StrEnum):
    """Whether a server wants a key."""

    REQUIRED = "required"
    OPTIONAL = "optional"
    """The owner of the server decides it; most run it without."""


def _fits(host: str, form: str) -> bool:
    """Whether a host name has a form, in which one `*` may be any text."""
    first, star, rest = form.partition("*")
    if not star:
        return host == form
    return len(host) > len(first + rest) and host.startswith(first) and host.endswith(rest)


@dataclass(frozen=True, slots=True)
class Region:
    """A part of the world with a host of its own, the title that a person reads, and the base URL there, as far as it
    is known; a key works in one region only."""

    host: str
    title: str
    base_url: str = ""


@dataclass(frozen=True, slots=True)
class KnownServer:
    """A server that is known by its address.

    Attributes:
        name: What a person types to choose it, and what tables of other modules are keyed by: lower case, no blanks.
        hosts: Its host names, regional ones too; `*` is any text, such as `*.` for any name below the rest.
        other_hosts: Those of its host names at which base URLs have other paths than at the rest: its rules are known
            there, and what is spoken is not.
        key_variables: The environment variables that usually hold its key; the vendor's own first.
        keys_page: Where a person makes a key; empty where there is no such page.
        ports: The ports on which it listens by default where people run it themselves; the usual one first.
        address_example: An example of its base URL, for a server without a common address; empty for a server whose
            base URL is known.
        headers: The headers that every request to it needs, whatever the protocol: names in lower case, and values.
        region_titles: What a person reads of each host where one of them is to be chosen, in the order of `hosts`.
        is_offered: Whether it is among the presets. Others are known for their quirks alone.
    """

    name: str
    title: str
    hosts: tuple[str, ...] = ()
    key_variables: tuple[str, ...] = ()
    keys_page: str = ""
    ports: tuple[int, ...] = ()
    address_example: str = ""
    headers: tuple[tuple[str, str], ...] = ()
    region_titles: tuple[str, ...] = ()
    is_offered: bool = True
    other_hosts: tuple[str, ...] = ()

    @property
    def is_local(self) -> bool:
        """Whether people run it themselves, so that only a port tells it, which any other server may use."""
        return bool(self.ports)

    @property
    def key(self) -> KeyRequirement:
        """Whether it wants a key; nothing says so of one at any address."""
        has_host = bool(self.hosts or self.other_hosts)
        return KeyRequirement.REQUIRED if has_host and not self.is_local else KeyRequirement.OPTIONAL

    @property
    def regions(self) -> tuple[Region, ...]:
        """Its regions, if a person has to choose one; the first is that of the base URLs in the tables."""
        return tuple(map(Region, self.hosts, self.region_titles))

    def has_host(self, host: str) -> bool:
        """Whether a host name, in lower case, is one of its own."""
        return any(_fits(host, one) for one in (*self.hosts, *self.other_hosts))

    def has_paths_at(self, host: str) -> bool:
        """Whether base URLs at one of its host names have the paths that the tables of protocols have for it."""
        return self.has_host(host) and not any(_fits(host, one) for one in self.other_hosts)


# In the order in which they are offered. Sources: docs/wires and the documentation of vendors, read in November 2026.
_OFFERED: Final = (
    KnownServer(
        "openai",
        "OpenAI",
        ("api.openai.com", "*.api.openai.com"),  # eu.api.openai.com and other regions
        ("OPENAI_API_KEY",),
        "https://platform.openai.com/api-keys",
    ),
    KnownServer(
        "anthropic",
        "Anthropic",
        ("api.anthropic.com",),
        ("ANTHROPIC_API_KEY",),
        "https://platform.claude.com/settings/keys",
        headers=(("anthropic-version", "2023-06-01"),),  # its list of models demands one
    ),
    KnownServer(
        "gemini",
        "Google Gemini",
        ("generativelanguage.googleapis.com",),
        ("GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_GENERATIVE_AI_API_KEY"),
        "https://aistudio.google.com/apikey",
    ),
    KnownServer(
        "openrouter",
        "OpenRouter",
        ("openrouter.ai", "*.openrouter.ai"),
        ("OPENROUTER_API_KEY",),
        "https://openrouter.ai/settings/keys",
    ),
    KnownServer("ollama", "Ollama", ("ollama.com",), ports=(11434,), key_variables=("OLLAMA_API_KEY",)),
    KnownServer("lm-studio", "LM Studio", ports=(1234,), key_variables=("LM_API_TOKEN",)),
    KnownServer("llama.cpp", "llama.cpp", ports=(8080,), key_variables=("LLAMA_API_KEY",)),
    KnownServer("vllm", "vLLM", ports=(8000,), key_variables=("VLLM_API_KEY",)),
    KnownServer(
        "deepseek", "DeepSeek", ("api.deepseek.com",), ("DEEPSEEK_API_KEY",), "https://platform.deepseek.com/api_keys"
    ),
    KnownServer("groq", "Groq", ("api.groq.com",), ("GROQ_API_KEY",), "https://console.groq.com/keys"),
    KnownServer(
        "mistral",
        "Mistral",
        ("api.mistral.ai", "codestral.mistral.ai"),
        ("MISTRAL_API_KEY",),
        "https://console.mistral.ai/api-keys",
    ),
    KnownServer("xai", "xAI", ("api.x.ai", "*.api.x.ai"), ("XAI_API_KEY",), "https://console.x.ai"),
    KnownServer(
        "together",
        "Together AI",
        ("api.together.ai", "api.together.xyz"),
        ("TOGETHER_API_KEY",),
        "https://api.together.ai/settings/api-keys",
    ),
    KnownServer(
        "fireworks",
        "Fireworks AI",
        ("api.fireworks.ai",),
        ("FIREWORKS_API_KEY",),
        "https://app.fireworks.ai/settings/users/api-keys",
    ),
    KnownServer("cerebras", "Cerebras", ("api.cerebras.ai",), ("CEREBRAS_API_KEY",), "https://cloud.cerebras.ai"),
    KnownServer(
        "moonshot",
        "Moonshot AI (Kimi)",
        ("api.moonshot.ai", "api.moonshot.cn"),
        ("MOONSHOT_API_KEY", "KIMI_API_KEY"),
        "https://platform.moonshot.ai/console/api-keys",
        other_hosts=("api.kimi.com", "api.kimi.ai"),  # `/coding/v1`, for keys of the coding plan
        region_titles=("International", "China"),
    ),
    KnownServer(
        "zhipu",
        "Zhipu AI (Z.ai, GLM)",
        ("api.z.ai", "open.bigmodel.cn"),
        ("ZAI_API_KEY", "ZHIPU_API_KEY", "ZHIPUAI_API_KEY"),
        "https://z.ai/manage-apikey/apikey-list",
        region_titles=("International (Z.ai)", "China (BigModel)"),
    ),
    KnownServer(
        "qwen",
        "Qwen (Alibaba Model Studio)",
        (
            "dashscope-intl.aliyuncs.com",
            "dashscope-us.aliyuncs.com",
            "dashscope.aliyuncs.com",
            "cn-hongkong.dashscope.aliyuncs.com",
        ),
        ("DASHSCOPE_API_KEY",),
        "https://modelstudio.console.alibabacloud.com",
        region_titles=("Singapore", "US (Virginia)", "China (Beijing)", "Hong Kong"),
        # `/v1`, for keys of the coding plan
        other_hosts=("coding.dashscope.aliyuncs.com", "coding-intl.dashscope.aliyuncs.com"),
    ),
    KnownServer(
        "minimax",
        "MiniMax",
        ("api.minimax.io", "api.minimaxi.com"),
        ("MINIMAX_API_KEY",),
        "https://platform.minimax.io",
        region_titles=("International", "China"),
    ),
    KnownServer(
        "azure",
        "Azure OpenAI (Microsoft Foundry)",
        ("*.openai.azure.com", "*.services.ai.azure.com", "*.cognitiveservices.azure.com"),
        ("AZURE_OPENAI_API_KEY", "AZURE_API_KEY"),
        "https://ai.azure.com",
        address_example="https://YOUR-RESOURCE.openai.azure.com/openai/v1",
    ),
    KnownServer(
        "vercel",
        "Vercel AI Gateway",
        ("ai-gateway.vercel.sh",),
        ("AI_GATEWAY_API_KEY",),
        "https://vercel.com/dashboard/ai/api-keys",
    ),
    KnownServer(
        "litellm",
        "LiteLLM",
        ports=(4000,),
        key_variables=("LITELLM_API_KEY", "LITELLM_PROXY_API_KEY"),
        address_example="http://localhost:4000/v1",
    ),
    KnownServer(
        "hub",
        "Partstream hub",
        ("hub.example.com",),  # every team has its own; the key that it gave shows it
        ("PARTSTREAM_HUB_KEY",),
        address_example="https://hub.example.com/v1",
    ),
)
_NOT_OFFERED: Final = (
    KnownServer(
        "github-copilot",
        "GitHub Copilot",
        ("api.githubcopilot.com", "*.githubcopilot.com"),  # api.individual, api.business, api.enterprise
    ),
    KnownServer(
        "github-models", "GitHub Models", ("models.github.ai", "models.inference.ai.azure.com"), ("GITHUB_TOKEN",)
    ),
    # Its list of models wants more than a key.
    KnownServer(
        "vertex",
        "Google Vertex AI",
        ("aiplatform.googleapis.com",),
        ("GOOGLE_API_KEY",),
        "https://console.cloud.google.com/vertex-ai/studio",
        other_hosts=("*-aiplatform.googleapis.com",),  # the paths of regions name a project
    ),
    KnownServer("sglang", "SGLang", ports=(30000,)),
    KnownServer(
        "nvidia",
        "NVIDIA NIM",
        ("integrate.api.nvidia.com",),
        ("NVIDIA_API_KEY",),
        "https://build.nvidia.com/settings/api-keys",
    ),
    KnownServer(
        "perplexity",
        "Perplexity",
        ("api.perplexity.ai",),
        ("PERPLEXITY_API_KEY",),
        "https://www.perplexity.ai/account/api",
    ),
    KnownServer(
        "hugging-face",
        "Hugging Face",
        ("router.huggingface.co",),
        ("HF_TOKEN",),
        "https://huggingface.co/settings/tokens",
    ),
    KnownServer("chutes", "Chutes", ("llm.chutes.ai",), ("CHUTES_API_KEY",)),
    KnownServer("nebius", "Nebius", ("api.tokenfactory.nebius.com", "api.studio.nebius.com"), ("NEBIUS_API_KEY",)),
    KnownServer("baseten", "Baseten", ("inference.baseten.co",), ("BASETEN_API_KEY",)),
    KnownServer(
        "cloudflare", "Cloudflare", ("api.cloudflare.com", "gateway.ai.cloudflare.com"), ("CLOUDFLARE_API_TOKEN",)
    ),
    KnownServer(
        "bedrock",
        "Amazon Bedrock",
        key_variables=("AWS_BEARER_TOKEN_BEDROCK",),
        other_hosts=("bedrock-runtime.*.amazonaws.com", "bedrock-mantle.*.api.aws"),
    ),
    KnownServer(
        "databricks",
        "Databricks",
        key_variables=("DATABRICKS_TOKEN",),
        other_hosts=("*.cloud.databricks.com", "*.azuredatabricks.net", "*.gcp.databricks.com"),
    ),
    KnownServer("snowflake", "Snowflake Cortex", other_hosts=("*.snowflakecomputing.com",)),
    KnownServer(
        "cohere",
        "Cohere",
        key_variables=("COHERE_API_KEY", "CO_API_KEY"),
        keys_page="https://dashboard.cohere.com/api-keys",
        other_hosts=("api.cohere.ai", "api.cohere.com"),
    ),
    KnownServer(
        "opencode-zen",
        "OpenCode Zen",
        key_variables=("OPENCODE_API_KEY",),
        keys_page="https://opencode.ai/auth",
        other_hosts=("opencode.ai",),
    ),
)
KNOWN_SERVERS: Final = (*_OFFERED, *(replace(server, is_offered=False) for server in _NOT_OFFERED))


def server_at(url: str) -> KnownServer | None:
    """The known server at a URL; None where none is known.

    A host tells a server for certain. A port is a guess, as another program may listen there, and counts only at a
    host that is no public name: :attr:`KnownServer.is_local` tells which of the two it was, unless the host is one of
    :attr:`KnownServer.hosts`.
    """
    try:
        address = urlsplit(url)
        host, port = (address.hostname or "").rstrip("."), address.port
    except ValueError:  # a port that is no number, a bracket that is not closed
        return None
    if not host:
        return None
    by_host = next((server for server in KNOWN_SERVERS if server.has_host(host)), None)
    # An address, a name without dots such as that of a container, or a private name is no public name.
    is_address = ":" in host or host.replace(".", "").isdigit()
    is_private = is_address or "." not in host or host.endswith(_PRIVATE_ENDINGS)
    if by_host is not None or not is_private:
        return by_host
    return next((server for server in KNOWN_SERVERS if port in server.ports), None)


def known_server(name: str) -> KnownServer:
    """The known server with a name; a KeyError where there is none."""
    return _BY_NAME[name]


def server_setting(name: str, servers: Iterable[str], unknown: str, example: str) -> Setting:
    """The row of the setting that names the server whose rules requests follow.

    Args:
        servers: The names of the servers that the wire has rules for.
        unknown: What its value `unknown` means, for a person: the server of which nothing is known.
        example: One of the servers, for the text of the setting.
    """
    titles = {"unknown": unknown, **{one: known_server(one).title for one in servers}}
    return Setting(
        name,
        text_of(
            titles.__contains__, f"one of {', '.join(titles)}", enum=[*titles], enumDescriptions=[*titles.values()]
        ),
        f"The server type whose rules requests follow, such as `{example}` for a gateway in front of it",
        otherwise="derived from the base URL",
    )


_BY_NAME: Final = {server.name: server for server in KNOWN_SERVERS}

_PRIVATE_ENDINGS: Final = (".localhost", ".local", ".lan", ".home.arpa", ".internal")
"""RFC 6762, RFC 8375, and the name that ICANN keeps for private use."""
