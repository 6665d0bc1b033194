"""Schemas of tools that servers refuse, and the schemas that go out in their place. One refused schema fails the whole
request, so each goes out in the form of the server, and what the form cannot say is named."""

from typing import Any

from matrix.requests import ABSENT, SCHEMA_PLACES, RequestRow

KIND = "The schema of a tool is none that the server takes."

OPENAI = "https://api.openai.com/v1"
COPILOT = "https://api.githubcopilot.com"
AZURE = "https://mine.openai.azure.com/openai/v1"
LM_STUDIO = "http://127.0.0.1:1234/v1"
LLAMA_CPP = "http://127.0.0.1:8080/v1"
ANTHROPIC = "https://api.anthropic.com/v1"
GOOGLE = "https://generativelanguage.googleapis.com/v1beta"
GOOGLE_CHAT = f"{GOOGLE}/openai"
MOONSHOT = "https://api.moonshot.ai/v1"
KIMI = "https://api.kimi.com/coding/v1"
XAI = "https://api.x.ai/v1"
QWEN = "https://coding-intl.dashscope.aliyuncs.com/v1"
OLLAMA = "http://localhost:11434"
GATEWAY = "https://ai-gateway.vercel.sh/v4/ai"

PLAIN = (
    ("chat-completions", OPENAI),
    ("chat-completions", COPILOT),
    ("chat-completions", AZURE),
    ("chat-completions", LM_STUDIO),
    ("chat-completions", "https://models.example/v1"),
    ("openresponses", OPENAI),
    ("openresponses", LM_STUDIO),
    ("anthropic-messages", ANTHROPIC),
    ("ai-gateway", GATEWAY),
    ("ag-ui", "http://127.0.0.1:9000"),
)
"""Servers that take the normal form."""
OTHERS = (
    ("chat-completions", GOOGLE_CHAT),
    ("chat-completions", MOONSHOT),
    ("chat-completions", KIMI),
    ("chat-completions", XAI),
    ("chat-completions", QWEN),
    ("chat-completions", LLAMA_CPP),
    ("chat-completions", f"{OLLAMA}/v1"),
    ("ollama", f"{OLLAMA}/api"),
    ("gemini", GOOGLE),
    ("gemini-interactions", GOOGLE),
)
TEXT, NUMBER = {"type": "string"}, {"type": "number"}


def of(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def _rows(
    shape: str,
    given: Any,
    sent: Any,
    source: str = "",
    *,
    at: Any = PLAIN,
    notes: tuple[str, ...] = (),
    but: dict[str, Any] | None = None,
    **more: Any,
) -> list[RequestRow]:
    """A row for each server; `but` has what goes out to some of them, by their addresses, and `None` for no row."""
    changed = but or {}
    rows = []
    for wire, url in at:
        expected, said = changed.get(url, (sent, notes))
        place = SCHEMA_PLACES[wire]
        rows.append(RequestRow(shape, wire, {place: expected}, url, schema=given, notes=said, source=source, **more))
    return rows


NO_SCHEMA = {GOOGLE: (ABSENT, ())}
UNION = {**of(id=TEXT, name=TEXT), "oneOf": [{"required": ["id"]}, {"required": ["name"]}]}
LOST_UNION = ("lose anyOf",)
REFERENCE = {**of(x={"$ref": "#/$defs/V", "description": "b"}), "$defs": {"V": {**of(), "description": "a"}}}
TREE = {
    **of(root={"$ref": "#/$defs/Node"}),
    "$defs": {"Node": of(next={"$ref": "#/$defs/Node"}, label=TEXT)},
}
CUT_TREE = of(root=of(next={"type": "object"}, label=TEXT))

ROWS = (
    *_rows(
        "an object without properties",
        {"type": "object"},
        of(),
        "langchain-mcp-adapters#137",
        at=PLAIN + OTHERS,
        but=NO_SCHEMA,
    ),
    *_rows("nothing", {}, of(), "microsoft/vscode#320926", at=PLAIN + OTHERS, but=NO_SCHEMA),
    *_rows("no schema", None, of(), "microsoft/vscode#330610", at=PLAIN + OTHERS, but=NO_SCHEMA),
    *_rows(
        "properties that are null",
        {"type": "object", "properties": None, "required": None},
        of(),
        at=PLAIN + OTHERS,
        but=NO_SCHEMA,
    ),
    *_rows("no type at the top", {"properties": {"a": TEXT}}, of(a=TEXT), "codex#525", at=PLAIN + OTHERS),
    *_rows("two types at the top", {"type": ["object", "null"], "properties": {}}, of(), but=NO_SCHEMA),
    *_rows(
        "an array without items",
        of(l={"type": "array"}),
        of(l={"type": "array", "items": {}}),
        "bnb-chain/bnbchain-mcp#68",
        at=PLAIN + OTHERS,
        but={GOOGLE_CHAT: (of(l={"type": "array", "items": TEXT}), ())},
    ),
    *_rows(
        "an array of arrays without items",
        of(l={"type": "array", "items": {"type": "array"}}),
        of(l={"type": "array", "items": {"type": "array", "items": {}}}),
    ),
    *_rows(
        "a tuple of an older draft",
        of(l={"type": "array", "items": [TEXT, NUMBER]}),
        of(l={"type": "array", "prefixItems": [TEXT, NUMBER], "items": {}}),
        at=(*PLAIN, ("chat-completions", MOONSHOT)),
        but={MOONSHOT: (of(l={"type": "array", "prefixItems": [TEXT, NUMBER]}), ())},
    ),
    *_rows(
        "a union beside properties at the top",
        UNION,
        of(id=TEXT, name=TEXT),
        "yoy123/lmstudio-copilot-provider#2",
        notes=LOST_UNION,
        at=(*PLAIN, *(one for one in OTHERS if one[1] not in {LLAMA_CPP, GOOGLE})),
    ),
    *_rows(
        "a union at the top that a server takes",
        UNION,
        UNION,
        at=(("chat-completions", LLAMA_CPP), ("gemini", GOOGLE), ("gemini-interactions", GOOGLE)),
    ),
    *_rows(
        "alternatives alone at the top",
        {"anyOf": [{**of(a=TEXT, b=TEXT), "required": ["a", "b"]}, {**of(a=TEXT), "required": ["a"]}]},
        {**of(a=TEXT, b=TEXT), "required": ["a"]},
        "codex#525",
        notes=LOST_UNION,
    ),
    *_rows(
        "one alternative at the top",
        {"anyOf": [of(a=TEXT)]},
        of(a=TEXT),
        at=(*PLAIN, ("ollama", f"{OLLAMA}/api"), ("chat-completions", GOOGLE_CHAT)),
    ),
    *_rows(
        "null beside an object at the top",
        {"anyOf": [{**of(a=TEXT), "required": ["a"]}, {"type": "null"}]},
        {**of(a=TEXT), "required": ["a"]},
    ),
    *_rows(
        "a reference at the top",
        {"$ref": "#/$defs/A", "$defs": {"A": of(a={"$ref": "#/$defs/B"}), "B": TEXT}},
        {**of(a={"$ref": "#/$defs/B"}), "$defs": {"A": of(a={"$ref": "#/$defs/B"}), "B": TEXT}},
    ),
    *_rows("a reference at the top to itself", {"$ref": "#"}, of(), at=PLAIN),
    *_rows(
        "numbers in a list of words",
        of(a={"enum": [1, 2]}, b={"const": 3}),
        of(a={}, b={}),
        at=(("chat-completions", GOOGLE_CHAT),),
        notes=("lose enum",),
    ),
    *_rows("words at the top", {**of(a=TEXT), "not": {"required": ["a"]}}, of(a=TEXT), notes=("lose not",)),
    *_rows(
        "a union beside properties within",
        of(a={**of(id=TEXT, name=TEXT), "oneOf": [{"required": ["id"]}, {"required": ["name"]}]}),
        of(a=of(id=TEXT, name=TEXT)),
        "servers.md, 67",
        at=(("chat-completions", GOOGLE_CHAT),),
        notes=LOST_UNION,
    ),
    *_rows(
        "keywords of another type",
        of(data={"type": "string", "properties": {"x": TEXT}, "required": ["x"]}),
        of(data=TEXT),
        "anomalyco/opencode#11889",
        at=(("chat-completions", GOOGLE_CHAT), ("gemini", GOOGLE), ("gemini-interactions", GOOGLE)),
    ),
    *_rows(
        "a type that is none",
        of(a={"type": "any"}, b={"type": "STRING"}, c={"type": "int"}),
        of(a={}, b=TEXT, c={"type": "integer"}),
    ),
    *_rows(
        "bounds of draft 4",
        of(a={"type": "number", "minimum": 0, "exclusiveMinimum": True}),
        of(a={"type": "number", "exclusiveMinimum": 0}),
        notes=("lose minimum",),
    ),
    *_rows("words for a property", of(a=True, b=None), of(a={}, b={})),
    *_rows(
        "words beside a reference",
        REFERENCE,
        of(x={**of(), "description": "b"}),
        "MoonshotAI/kimi-cli#2061",
        at=tuple(one for one in OTHERS if one[1] not in {XAI, LLAMA_CPP}),
    ),
    *_rows("words beside a reference that a server takes", REFERENCE, REFERENCE),
    *_rows(
        "a type beside a reference",
        {**of(x={"$ref": "#/definitions/V", "type": "string"}), "definitions": {"V": {"minLength": 1}}},
        of(x={"type": "string", "minLength": 1}),
        "router-for-me/CLIProxyAPI#5316",
        at=(("chat-completions", MOONSHOT), ("chat-completions", KIMI)),
    ),
    *_rows(
        "a definition of itself",
        TREE,
        CUT_TREE,
        at=(
            ("chat-completions", QWEN),
            ("chat-completions", GOOGLE_CHAT),
            ("gemini", GOOGLE),
            ("gemini-interactions", GOOGLE),
            ("ollama", f"{OLLAMA}/api"),
        ),
        notes=("lose $ref #/$defs/Node",),
    ),
    *_rows("a definition of itself that a server takes", TREE, TREE, at=(*PLAIN, ("chat-completions", MOONSHOT))),
    *_rows(
        "a reference to nothing",
        of(a={"$ref": "#/$defs/gone"}),
        of(a={"type": "object"}),
        at=PLAIN + OTHERS,
        notes=("lose $ref #/$defs/gone",),
    ),
    *_rows(
        "a property without a type",
        of(a={"description": "any"}, b={"enum": ["x", 1]}, c={"enum": ["x"]}, d={"minimum": 1}),
        of(
            a={
                "description": "any",
                "anyOf": [TEXT, NUMBER, {"type": "boolean"}, {"type": "object"}, {"type": "array", "items": {}}],
            },
            b={"anyOf": [{"type": "string", "enum": ["x"]}, {"type": "integer", "enum": [1]}]},
            c={"type": "string", "enum": ["x"]},
            d={"type": "number", "minimum": 1},
        ),
        "MoonshotAI/kimi-cli#2030",
        at=(("chat-completions", MOONSHOT), ("chat-completions", KIMI)),
    ),
    *_rows(
        "a type beside alternatives",
        of(t={"type": "string", "anyOf": [{"enum": ["a"]}, {"pattern": "b"}]}),
        of(t={"anyOf": [{"type": "string", "enum": ["a"]}, {"type": "string", "pattern": "b"}]}),
        "opencode#37496",
        at=(("chat-completions", MOONSHOT), ("chat-completions", KIMI)),
    ),
    *_rows(
        "names that Anthropic refuses",
        {**of(**{"filter[id]": TEXT, "$top": NUMBER, "filter_id": TEXT, "x" * 70: TEXT}), "required": ["$top"]},
        {**of(filter_id_2=TEXT, top=NUMBER, filter_id=TEXT, **{"x" * 64: TEXT}), "required": ["top"]},
        "claude-code#79418",
        at=(("anthropic-messages", ANTHROPIC), ("anthropic-messages", "https://models.example/v1")),
    ),
    *_rows(
        "names that Anthropic refuses, for its models elsewhere",
        of(**{"filter[id]": TEXT}),
        of(filter_id=TEXT),
        at=(("chat-completions", "https://openrouter.ai/api/v1"), ("openresponses", COPILOT), ("ai-gateway", GATEWAY)),
        model="anthropic/claude-sonnet-4.6",
    ),
    *_rows(
        "names that others take",
        of(**{"filter[id]": TEXT}),
        of(**{"filter[id]": TEXT}),
        at=(("chat-completions", OPENAI), ("openresponses", OPENAI), ("ollama", f"{OLLAMA}/api")),
    ),
    *_rows(
        "patterns without a grammar",
        of(
            a={**TEXT, "pattern": "\\S"},
            b={**TEXT, "pattern": "^\\d+$", "description": "Digits."},
            c={**TEXT, "pattern": "^[a-z]+$"},
        ),
        of(
            a={**TEXT, "description": "(matches \\S)"},
            b={**TEXT, "description": "Digits. (matches ^\\d+$)"},
            c={**TEXT, "pattern": "^[a-z]+$"},
        ),
        "openclaw#110202",
        at=(("chat-completions", LLAMA_CPP),),
    ),
    *_rows(
        "further properties",
        {**of(a=of()), "additionalProperties": False},
        of(a=of()),
        "vercel/ai 85735d8",
        at=(("chat-completions", XAI),),
        notes=("lose additionalProperties",),
    ),
)
