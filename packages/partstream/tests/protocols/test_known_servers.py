"""Which server stands at an address, and what is spoken there."""

from urllib.parse import urlsplit

import pytest

from partstream.protocols.chat_completions import SPOKEN_AT as CHAT_COMPLETIONS
from partstream.protocols.protocol import PROTOCOLS, ServerProtocol, spoken_at
from partstream.settings.known_servers import KNOWN_SERVERS, known_server, server_at
from partstream.upstream.detection import decide_by_host, known_wires
from rows import one_test_for

ROWS = [
    *((name, row) for name, one in PROTOCOLS.items() if one.spoken_at is not None for row in one.spoken_at()),
    *(("chat-completions", row) for row in CHAT_COMPLETIONS),
]


@one_test_for(
    ("url", "name"),
    [
        ("https://api.openai.com/v1", "openai"),
        ("https://API.OpenAI.com:443/v1/", "openai"),
        ("https://eu.api.openai.com/v1", "openai"),
        ("https://api.openai.com./v1", "openai"),
        ("https://mine.openai.azure.com/openai/v1", "azure"),
        ("https://mine.services.ai.azure.com/openai/v1", "azure"),
        ("https://dashscope-us.aliyuncs.com/compatible-mode/v1", "qwen"),
        ("https://coding.dashscope.aliyuncs.com/v1", "qwen"),
        ("https://coding-intl.dashscope.aliyuncs.com/apps/anthropic/v1", "qwen"),
        ("https://api.moonshot.cn/v1", "moonshot"),
        ("https://api.kimi.com/coding/v1", "moonshot"),
        ("https://api.kimi.ai/coding/v1", "moonshot"),
        ("https://us-central1-aiplatform.googleapis.com/v1/projects/p/locations/l/endpoints/openapi", "vertex"),
        ("https://bedrock-runtime.us-west-2.amazonaws.com/openai/v1", "bedrock"),
        ("https://bedrock-mantle.us-east-2.api.aws/openai/v1", "bedrock"),
        ("https://dbc-1.cloud.databricks.com/serving-endpoints", "databricks"),
        ("https://adb-1.7.azuredatabricks.net/serving-endpoints", "databricks"),
        ("https://org-account.snowflakecomputing.com/api/v2/cortex/v1", "snowflake"),
        ("https://api.cohere.ai/compatibility/v1", "cohere"),
        ("https://opencode.ai/zen/v1", "opencode-zen"),
        ("https://api.business.githubcopilot.com", "github-copilot"),
        ("https://ai-gateway.vercel.sh/v4/ai", "vercel"),
        ("http://localhost:11434/v1", "ollama"),
        ("http://127.0.0.1:1234", "lm-studio"),
        ("http://[::1]:8000/v1", "vllm"),
        ("http://192.168.1.5:8080", "llama.cpp"),
        ("http://ollama:11434/v1", "ollama"),
        ("http://box.local:30000", "sglang"),
        ("https://ollama.com/v1", "ollama"),
    ],
)
def test_a_known_server_is_found_by_its_host_or_by_its_port_at_home(url: str, name: str) -> None:
    server = server_at(url)
    assert server is not None
    assert server.name == name


@one_test_for(
    "url",
    [
        "https://openai.com.attacker.example/v1",
        "https://notapi.openai.com.example",
        "https://openai.azure.com/openai/v1",  # no resource before it
        "https://api.kimi.com.attacker.example/coding/v1",
        "https://bedrock-runtime.us-west-2.amazonaws.com.attacker.example/openai/v1",
        "https://aiplatform.example/v1",
        "https://example.com:11434/v1",  # a public host may have anything on that port
        "http://localhost:9999/v1",
        "http://localhost/v1",
        "no url",
        "http://[",
        "http://localhost:many/v1",
        "",
    ],
)
def test_an_unknown_address_is_no_known_server(url: str) -> None:
    assert server_at(url) is None


def test_no_two_servers_share_a_name_a_host_or_a_port() -> None:
    for values in (
        [one.name for one in KNOWN_SERVERS],
        [host for one in KNOWN_SERVERS for host in (*one.hosts, *one.other_hosts)],
        [port for one in KNOWN_SERVERS for port in one.ports],
    ):
        assert len(values) == len(set(values))


@one_test_for(("protocol", "row"), ROWS, ids=lambda one: one.server if isinstance(one, ServerProtocol) else one)
def test_a_row_of_a_protocol_stands_at_its_server(protocol: str, row: ServerProtocol) -> None:
    server = known_server(row.server)
    assert server_at(row.base_url.replace("YOUR-RESOURCE", "mine")) == server
    assert row.source
    assert bool(row.reason) is not row.is_complete
    assert not row.base_url.endswith("/")


def test_every_offered_server_speaks_something() -> None:
    spoken = {row.server for _, row in ROWS}
    assert {one.name for one in KNOWN_SERVERS if one.is_offered} <= spoken


def test_the_regions_of_a_server_are_its_hosts_and_the_first_is_that_of_its_base_url() -> None:
    for server in KNOWN_SERVERS:
        assert {region.host for region in server.regions} <= set(server.hosts)
        if server.regions:
            bases = {urlsplit(row.base_url).hostname for _, row in ROWS if row.server == server.name}
            assert bases == {server.regions[0].host}


def test_the_better_protocol_of_a_server_comes_first() -> None:
    assert spoken_at("vercel")[0][0] == "ai-gateway"
    assert spoken_at("openai")[0][0] == "openresponses"
    assert spoken_at("unheard-of") == ()


@pytest.mark.parametrize(
    ("url", "base_url"),
    [
        ("https://mine.openai.azure.com", "https://mine.openai.azure.com/openai/v1"),
        ("https://mine.openai.azure.com/openai/deployments/x?api-version=1", "https://mine.openai.azure.com/openai/v1"),
    ],
)
def test_a_row_gives_the_base_url_at_the_host_of_another_url(url: str, base_url: str) -> None:
    (row, *_) = [row for name, row in spoken_at("azure") if name == "openresponses"]
    assert row.at(url) == base_url


@pytest.mark.parametrize("url", ["https://api.kimi.com", "https://coding.dashscope.aliyuncs.com"])
def test_the_paths_of_a_server_are_not_guessed_at_hosts_that_have_others(url: str) -> None:
    assert decide_by_host(url, known_wires()) is None
    assert decide_by_host("https://api.moonshot.cn", known_wires()) is not None
