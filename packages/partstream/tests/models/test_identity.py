"""What ids say, on a table of ids that real servers use; and that nothing of an id is ever lost."""

from hypothesis import example, given
from hypothesis import strategies as st

from partstream.upstream.model_information import ModelIdentity, parse_identity
from rows import one_test_for

# id: provider, family, version, name for people
IDS: dict[str, tuple[str | None, str, str, str]] = {
    # OpenAI: dates, previews, fine-tuned models
    "gpt-4o": (None, "gpt-4o", "", "GPT-4o"),
    "gpt-4o-2024-08-06": (None, "gpt-4o", "2024-08-06", "GPT-4o (2024-08-06)"),
    "gpt-4.1-mini": (None, "gpt-4.1-mini", "", "GPT-4.1 Mini"),
    "gpt-4.1-2025-04-14": (None, "gpt-4.1", "2025-04-14", "GPT-4.1 (2025-04-14)"),
    "gpt-5.2": (None, "gpt-5.2", "", "GPT-5.2"),
    "gpt-5.1-codex-max": (None, "gpt-5.1-codex-max", "", "GPT-5.1 Codex Max"),
    "gpt-4-0613": (None, "gpt-4", "0613", "GPT-4 (0613)"),
    "gpt-4-1106-preview": (None, "gpt-4", "1106-preview", "GPT-4 (1106-preview)"),
    "gpt-4-turbo-preview": (None, "gpt-4-turbo", "preview", "GPT-4 Turbo (preview)"),
    "gpt-3.5-turbo-16k-0613": (None, "gpt-3.5-turbo-16k", "0613", "GPT-3.5 Turbo 16K (0613)"),
    "chatgpt-4o-latest": (None, "chatgpt-4o", "latest", "ChatGPT 4o (latest)"),
    "o3-mini-2025-01-31": (None, "o3-mini", "2025-01-31", "o3 Mini (2025-01-31)"),
    "o4-mini": (None, "o4-mini", "", "o4 Mini"),
    "ft:gpt-4o-mini-2024-07-18:acme::9AbCdEf": (
        *(None, "gpt-4o-mini", "2024-07-18"),
        "GPT-4o Mini (2024-07-18, acme, 9AbCdEf)",
    ),
    # Anthropic
    "claude-sonnet-4-5-20250929": (None, "claude-sonnet-4-5", "20250929", "Claude Sonnet 4.5 (20250929)"),
    "claude-opus-4-0": (None, "claude-opus-4-0", "", "Claude Opus 4.0"),
    "claude-3-7-sonnet-latest": (None, "claude-3-7-sonnet", "latest", "Claude 3.7 Sonnet (latest)"),
    # Google
    "models/gemini-1.5-pro-latest": (None, "gemini-1.5-pro", "latest", "Gemini 1.5 Pro (latest)"),
    "gemini-2.0-flash-001": (None, "gemini-2.0-flash", "001", "Gemini 2.0 Flash (001)"),
    "gemini-exp-1206": (None, "gemini", "exp-1206", "Gemini (exp-1206)"),
    "gemini-2.0-flash-thinking-exp-01-21": (
        *(None, "gemini-2.0-flash-thinking", "exp-01-21"),
        "Gemini 2.0 Flash Thinking (exp-01-21)",
    ),
    # creator/name
    "anthropic/claude-sonnet-4.5": ("anthropic", "claude-sonnet-4.5", "", "Claude Sonnet 4.5"),
    "google/gemini-2.5-pro-preview-05-06": (
        *("google", "gemini-2.5-pro", "preview-05-06"),
        "Gemini 2.5 Pro (preview-05-06)",
    ),
    "openai/gpt-oss-120b": ("openai", "gpt-oss-120b", "", "GPT OSS 120B"),
    "x-ai/grok-code-fast-1": ("x-ai", "grok-code-fast-1", "", "Grok Code Fast 1"),
    "xai/grok-4-0709": ("xai", "grok-4", "0709", "Grok 4 (0709)"),
    "zai/glm-4.6": ("zai", "glm-4.6", "", "GLM-4.6"),
    "qwen/qwen3-235b-a22b-2507": ("qwen", "qwen3-235b-a22b", "2507", "Qwen3 235B A22B (2507)"),
    "mistral/magistral-medium-2506": ("mistral", "magistral-medium", "2506", "Magistral Medium (2506)"),
    "minimax/minimax-m2": ("minimax", "minimax-m2", "", "MiniMax M2"),
    "azure/my-deployment": ("azure", "my-deployment", "", "My Deployment"),
    # :free and other variants
    "deepseek/deepseek-r1:free": ("deepseek", "deepseek-r1", "", "DeepSeek R1 (free)"),
    "deepseek/deepseek-chat-v3-0324:free": (
        *("deepseek", "deepseek-chat-v3", "0324"),
        "DeepSeek Chat V3 (0324, free)",
    ),
    "anthropic/claude-3.5-sonnet-20240620:beta": (
        *("anthropic", "claude-3.5-sonnet", "20240620"),
        "Claude 3.5 Sonnet (20240620, beta)",
    ),
    "openrouter/anthropic/claude-3-haiku": ("anthropic", "claude-3-haiku", "", "Claude 3 Haiku"),
    "moonshotai/Kimi-K2-Instruct-0905:novita": (
        *("moonshotai", "Kimi-K2-Instruct", "0905"),
        "Kimi K2 Instruct (0905, novita)",
    ),
    # a provider before a colon
    "openai:gpt-4o": ("openai", "gpt-4o", "", "GPT-4o"),
    "anthropic:claude-opus-4-1": ("anthropic", "claude-opus-4-1", "", "Claude Opus 4.1"),
    "groq:llama-3.3-70b-versatile": ("groq", "llama-3.3-70b-versatile", "", "Llama 3.3 70B Versatile"),
    "mistral:mistral-large-latest": ("mistral", "mistral-large", "latest", "Mistral Large (latest)"),
    # Mistral, Cohere, DeepSeek
    "mistral-large-2411": (None, "mistral-large", "2411", "Mistral Large (2411)"),
    "command-r-08-2024": (None, "command-r", "08-2024", "Command R (08-2024)"),
    "deepseek-chat": (None, "deepseek-chat", "", "DeepSeek Chat"),
    "DeepSeek-V3.1-Terminus": (None, "DeepSeek-V3.1-Terminus", "", "DeepSeek V3.1 Terminus"),
    # Bedrock: regions, revisions, ARNs
    "anthropic.claude-v2:1": ("anthropic", "claude", "v2:1", "Claude (v2:1)"),
    "us.anthropic.claude-3-5-sonnet-20241022-v2:0": (
        *("anthropic", "claude-3-5-sonnet", "20241022-v2:0"),
        "Claude 3.5 Sonnet (20241022-v2:0)",
    ),
    "global.anthropic.claude-sonnet-4-5-20250929-v1:0": (
        *("anthropic", "claude-sonnet-4-5", "20250929-v1:0"),
        "Claude Sonnet 4.5 (20250929-v1:0)",
    ),
    "amazon.nova-pro-v1:0:300k": ("amazon", "nova-pro", "v1:0", "Nova Pro (v1:0, 300k)"),
    "meta.llama3-1-70b-instruct-v1:0": ("meta", "llama3-1-70b-instruct", "v1:0", "Llama3.1 70B Instruct (v1:0)"),
    "arn:aws:bedrock:us-east-1::foundation-model/anthropic.claude-3-sonnet-20240229-v1:0": (
        *("anthropic", "claude-3-sonnet", "20240229-v1:0"),
        "Claude 3 Sonnet (20240229-v1:0)",
    ),
    "arn:aws:bedrock:us-west-2:123456789012:inference-profile/us.meta.llama3-3-70b-instruct-v1:0": (
        *("meta", "llama3-3-70b-instruct", "v1:0"),
        "Llama3.3 70B Instruct (v1:0)",
    ),
    "arn:aws:bedrock:us-west-2:123456789012:provisioned-model/abcdef123456": (
        *(None, "abcdef123456", ""),
        "Abcdef123456",
    ),
    # Vertex, Fireworks, Cloudflare
    "claude-3-5-sonnet@20240620": (None, "claude-3-5-sonnet", "20240620", "Claude 3.5 Sonnet (20240620)"),
    "claude-3-5-sonnet-v2@20241022": (None, "claude-3-5-sonnet-v2", "20241022", "Claude 3.5 Sonnet V2 (20241022)"),
    "projects/p1/locations/us-east5/publishers/anthropic/models/claude-opus-4@20250514": (
        *("anthropic", "claude-opus-4", "20250514"),
        "Claude Opus 4 (20250514)",
    ),
    "accounts/fireworks/models/llama-v3p1-405b-instruct": (
        *("fireworks", "llama-v3p1-405b-instruct", ""),
        "Llama V3p1 405B Instruct",
    ),
    "@cf/meta/llama-3.1-8b-instruct": ("meta", "llama-3.1-8b-instruct", "", "Llama 3.1 8B Instruct"),
    # Azure deployments are named by their owners
    "gpt-35-turbo": (None, "gpt-35-turbo", "", "GPT-35 Turbo"),
    "prod-gpt4o-eastus": (None, "prod-gpt4o-eastus", "", "Prod Gpt4o Eastus"),
    # Ollama: name:tag
    "llama3.2:latest": (None, "llama3.2", "", "Llama3.2 (latest)"),
    "llama3.2:3b-instruct-q4_K_M": (None, "llama3.2", "", "Llama3.2 (3b-instruct-q4_K_M)"),
    "mistral:7b": (None, "mistral", "", "Mistral (7b)"),
    "gemma3n:e2b": (None, "gemma3n", "", "Gemma3n (e2b)"),
    "qwen2.5-coder:32b": (None, "qwen2.5-coder", "", "Qwen2.5 Coder (32b)"),
    "hf.co/bartowski/Llama-3.2-3B-Instruct-GGUF:Q4_K_M": (
        *("bartowski", "Llama-3.2-3B-Instruct", ""),
        "Llama 3.2 3B Instruct (GGUF, Q4_K_M)",
    ),
    # Hugging Face: org/name, quantised weights
    "meta-llama/Llama-3.3-70B-Instruct": ("meta-llama", "Llama-3.3-70B-Instruct", "", "Llama 3.3 70B Instruct"),
    "Qwen/Qwen2.5-Coder-32B-Instruct-AWQ": (
        *("qwen", "Qwen2.5-Coder-32B-Instruct", ""),
        "Qwen2.5 Coder 32B Instruct (AWQ)",
    ),
    "neuralmagic/Meta-Llama-3.1-8B-Instruct-FP8": (
        *("neuralmagic", "Meta-Llama-3.1-8B-Instruct", ""),
        "Meta Llama 3.1 8B Instruct (FP8)",
    ),
    "unsloth/llama-3-8b-Instruct-bnb-4bit": (
        *("unsloth", "llama-3-8b-Instruct", ""),
        "Llama 3 8B Instruct (bnb-4bit)",
    ),
    "mlx-community/Qwen3-30B-A3B-4bit": ("mlx-community", "Qwen3-30B-A3B", "", "Qwen3 30B A3B (4bit)"),
    "mistralai/Mixtral-8x7B-Instruct-v0.1": (
        *("mistralai", "Mixtral-8x7B-Instruct-v0.1", ""),
        "Mixtral 8x7B Instruct V0.1",
    ),
    # files
    "TheBloke/Mistral-7B-Instruct-v0.2-GGUF/mistral-7b-instruct-v0.2.Q4_K_M.gguf": (
        *("thebloke", "mistral-7b-instruct-v0.2", ""),
        "Mistral 7B Instruct V0.2 (Q4_K_M)",
    ),
    "/home/me/models/Qwen2.5-7B-Instruct-Q5_K_S.gguf": (
        *(None, "Qwen2.5-7B-Instruct", ""),
        "Qwen2.5 7B Instruct (Q5_K_S)",
    ),
    "C:\\models\\llama-3-8b.Q8_0.gguf": (None, "llama-3-8b", "", "Llama 3 8B (Q8_0)"),
    "./phi-4.gguf": (None, "phi-4", "", "Phi 4"),
    "../models/gpt-oss-20b-mxfp4.gguf": (None, "gpt-oss-20b", "", "GPT OSS 20B (mxfp4)"),
    "qwen2.5-coder-7b-instruct@q4_k_m": (None, "qwen2.5-coder-7b-instruct", "", "Qwen2.5 Coder 7B Instruct (q4_k_m)"),
}


def id_of(identity: ModelIdentity) -> str:
    return f"{identity.prefix}{identity.family}{identity.joint}{identity.version}{identity.suffix}"


def test_the_table_is_long_enough_to_mean_something():
    assert len(IDS) >= 60


@one_test_for(("model_id", "expected"), IDS.items(), ids=IDS)
def test_an_id_says_who_made_the_model_its_family_its_version_and_a_name(model_id: str, expected: tuple):
    identity = parse_identity(model_id)
    assert (identity.provider, identity.family, identity.version, identity.display_name) == expected
    assert id_of(identity) == model_id


# How Copilot finds its prompt for a model.
PROMPTS = {
    "us.anthropic.claude-3-5-sonnet-20241022-v2:0": "claude",
    "Claude-Sonnet-4.5": "claude",
    "openai/gpt-5.2": "gpt",
    "openrouter/google/gemini-2.5-pro": "gemini",
    "x-ai/grok-code-fast-1": "grok-code",
    "o3-mini-2025-01-31": "o3-mini",
    "openai:o4-mini": "o4-mini",
}


@one_test_for(("model_id", "beginning"), PROMPTS.items(), ids=PROMPTS)
def test_a_family_begins_as_copilot_expects_it(model_id: str, beginning: str):
    assert parse_identity(model_id).family.lower().startswith(beginning)


def test_generations_are_families_of_their_own():
    families = {parse_identity(model_id).family for model_id in ("gpt-4.1", "gpt-5.2", "gpt-5.4", "gpt-4.1-2025-04-14")}
    assert families == {"gpt-4.1", "gpt-5.2", "gpt-5.4"}


@given(st.text(max_size=80))
@example("")
@example("/")
@example("openai:")
@example("ft:")
@example("gpt-4-0613\n")
@example("-2024-08-06")
@example("a.gguf.gguf")
@example("us.anthropic.")
def test_every_text_is_put_together_again_from_its_pieces(model_id: str):
    identity = parse_identity(model_id)
    assert id_of(identity) == model_id
    assert bool(identity.joint) == bool(identity.version)
    assert identity.display_name or not model_id


FAMILIES = st.sampled_from(["gpt-4o", "claude-sonnet-4.5", "gemini-2.5-pro", "o3-mini", "Llama-3.3-70B-Instruct"])
VERSIONS = st.sampled_from(["-2024-08-06", "-20250929", "@20240620", "-0613", "-2507", "-latest", "-preview-05-06", ""])
PREFIXES = st.sampled_from(["", "creator/", "openrouter/creator/", "us.anthropic.", "openai:", "/home/me/models/"])
SUFFIXES = st.sampled_from(["", ":free", "@q4_k_m", "-GGUF:Q4_K_M", ".Q8_0.gguf", "-AWQ"])


@given(PREFIXES, FAMILIES, VERSIONS, SUFFIXES)
def test_the_pieces_are_found_wherever_they_are_put_together(prefix: str, family: str, version: str, suffix: str):
    identity = parse_identity(prefix + family + version + suffix)
    assert (identity.prefix, identity.family, identity.joint + identity.version, identity.suffix) == (
        prefix,
        family,
        version,
        suffix,
    )


@given(st.text("-_.:/@0123456789abgquf", max_size=300))
def test_ids_of_nothing_but_marks_are_read_too(model_id: str):
    assert id_of(parse_identity(model_id)) == model_id
