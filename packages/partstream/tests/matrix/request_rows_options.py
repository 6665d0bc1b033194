"""Options of a request in the words of any wire: each is sent where the wire has a place for it, and named where it has
none. A program's own words go out as they are; a client's words mean what they mean on its wire."""

from typing import Any

from matrix.requests import ABSENT, RequestRow

KIND = "An option is said in the words of another wire."

CHAT, RESPONSES, MESSAGES = "chat-completions", "openresponses", "anthropic-messages"
GEMINI, OLLAMA, GATEWAY, INTERACTIONS = "gemini", "ollama", "ai-gateway", "gemini-interactions"
OPENROUTER, VLLM = "https://openrouter.ai/api/v1", "http://127.0.0.1:8000/v1"
SCHEMA = {
    "type": "object",
    "properties": {"name": {"type": "string"}},
    "required": ["name"],
    "additionalProperties": False,
}

PLACES: dict[str, tuple[str, Any, dict[str, str]]] = {
    "temperature": (
        "temperature",
        0.5,
        {
            **dict.fromkeys((CHAT, RESPONSES, MESSAGES, GATEWAY), "temperature"),
            GEMINI: "generationConfig.temperature",
            INTERACTIONS: "generation_config.temperature",
            OLLAMA: "options.temperature",
        },
    ),
    "top p": (
        "topP",
        0.9,
        {
            **dict.fromkeys((CHAT, RESPONSES, MESSAGES), "top_p"),
            GEMINI: "generationConfig.topP",
            INTERACTIONS: "generation_config.top_p",
            OLLAMA: "options.top_p",
            GATEWAY: "topP",
        },
    ),
    "top k": (
        "topK",
        40,
        {
            MESSAGES: "top_k",
            GEMINI: "generationConfig.topK",
            INTERACTIONS: "generation_config.top_k",
            OLLAMA: "options.top_k",
            GATEWAY: "topK",
        },
    ),
    "the most tokens": (
        "max_completion_tokens",
        99,
        {
            CHAT: "max_tokens",
            RESPONSES: "max_output_tokens",
            MESSAGES: "max_tokens",
            GEMINI: "generationConfig.maxOutputTokens",
            INTERACTIONS: "generation_config.max_output_tokens",
            OLLAMA: "options.num_predict",
            GATEWAY: "maxOutputTokens",
        },
    ),
    "stop sequences": (
        "stop_sequences",
        ["END"],
        {
            CHAT: "stop",
            MESSAGES: "stop_sequences",
            GEMINI: "generationConfig.stopSequences",
            INTERACTIONS: "generation_config.stop_sequences",
            OLLAMA: "options.stop",
            GATEWAY: "stopSequences",
        },
    ),
    "a seed": (
        "seed",
        7,
        {
            CHAT: "seed",
            GEMINI: "generationConfig.seed",
            INTERACTIONS: "generation_config.seed",
            OLLAMA: "options.seed",
            GATEWAY: "seed",
        },
    ),
    "a penalty": (
        "presencePenalty",
        0.2,
        {
            CHAT: "presence_penalty",
            GEMINI: "generationConfig.presencePenalty",
            OLLAMA: "options.presence_penalty",
            GATEWAY: "presencePenalty",
        },
    ),
    "calls one after the other": (
        "parallelToolCalls",
        False,
        {CHAT: "parallel_tool_calls", RESPONSES: "parallel_tool_calls"},
    ),
    "a user": ("user", "u1", {CHAT: "user", RESPONSES: "user", MESSAGES: "metadata.user_id"}),
    "a verbosity": ("verbosity", "low", {CHAT: "verbosity", RESPONSES: "text.verbosity"}),
    "a service tier": (
        "service_tier",
        "flex",
        {**dict.fromkeys((CHAT, RESPONSES, INTERACTIONS), "service_tier"), GEMINI: "serviceTier"},
    ),
    "a reasoning effort": ("reasoning_effort", "low", {CHAT: "reasoning_effort", RESPONSES: "reasoning.effort"}),
}
"""By the option, a word and a value of it, and where each wire has its place."""
ELSEWHERE = {("calls one after the other", MESSAGES), *(("a reasoning effort", wire) for wire in (MESSAGES, GEMINI))}
ELSEWHERE |= {("a reasoning effort", wire) for wire in (OLLAMA, GATEWAY, INTERACTIONS)}
"""What is no field as it is; see the tests of these wires."""

FORMATS: dict[str, Any] = {
    CHAT: {"response_format": {"type": "json_schema", "json_schema": {"name": "person", "schema": SCHEMA}}},
    RESPONSES: {"text": {"format": {"type": "json_schema", "name": "person", "schema": SCHEMA}}},
    MESSAGES: {"output_config": {"format": {"type": "json_schema", "schema": SCHEMA}}},
    GEMINI: {"responseMimeType": "application/json", "responseJsonSchema": SCHEMA},
    INTERACTIONS: {"response_format": {"type": "text", "mime_type": "application/json", "schema": SCHEMA}},
    OLLAMA: {"format": SCHEMA},
    GATEWAY: {"responseFormat": {"type": "json", "schema": SCHEMA, "name": "person"}},
}
"""The form of an answer in the words of each wire."""


def _format_at(wire: str, name: str) -> dict[str, Any]:
    named = {} if name == "answer" else {"name": name}
    return {
        CHAT: {"response_format": {"type": "json_schema", "json_schema": {"name": name, "schema": SCHEMA}}},
        RESPONSES: {"text": {"format": {"type": "json_schema", "name": name, "schema": SCHEMA}}},
        MESSAGES: {"output_config.format": {"type": "json_schema", "schema": SCHEMA}},
        GEMINI: {
            "generationConfig.responseMimeType": "application/json",
            "generationConfig.responseJsonSchema": SCHEMA,
        },
        INTERACTIONS: FORMATS[INTERACTIONS],
        OLLAMA: {"format": SCHEMA},
        GATEWAY: {"responseFormat": {"type": "json", "schema": SCHEMA, **named}},
    }[wire]


def _of_another_wire(shape: str, wire: str) -> RequestRow:
    word, value, places = PLACES[shape]
    expected = {places[wire]: value} if wire in places else {word: ABSENT}
    notes = () if wire in places else (f"options without a place in this protocol: {word}",)
    asked_in = RESPONSES if wire != RESPONSES else CHAT
    return RequestRow(shape, wire, expected, options={word: value}, asked_in=asked_in, notes=notes)


JSON = {"response_format": {"type": "json_object"}}

ROWS = (
    *(
        _of_another_wire(shape, wire)
        for shape in PLACES
        for wire in (CHAT, RESPONSES, MESSAGES, GEMINI, INTERACTIONS, OLLAMA, GATEWAY)
        if (shape, wire) not in ELSEWHERE
    ),
    # In the words of a program.
    *(
        RequestRow(
            f"the form of an answer, as {said_in} says it",
            wire,
            _format_at(wire, "person" if said_in in {CHAT, RESPONSES, GATEWAY} else "answer"),
            options=FORMATS[said_in],
            asked_in=asked_in,
        )
        for wire in FORMATS
        for said_in in FORMATS
        for asked_in in (("", said_in) if wire != said_in else ("",))
        if (wire, said_in, asked_in) != (CHAT, INTERACTIONS, "")  # a field of the same name is sent as it is
    ),
    *(
        RequestRow("any JSON", wire, expected, options=JSON, asked_in=asked_in)
        for asked_in in ("", RESPONSES)
        for wire, expected in (
            (CHAT, JSON),
            (GEMINI, {"generationConfig.responseMimeType": "application/json"}),
            (INTERACTIONS, {"response_format": {"type": "text", "mime_type": "application/json"}}),
            (OLLAMA, {"format": "json"}),
            (GATEWAY, {"responseFormat": {"type": "json"}}),
        )
    ),
    RequestRow("any JSON", RESPONSES, {"text.format": {"type": "json_object"}}, options=JSON),
    RequestRow(
        "any JSON",
        MESSAGES,
        {"response_format": ABSENT, "output_config": ABSENT},
        options=JSON,
        notes=("response_format",),
    ),
    *(
        RequestRow(
            "plain text",
            wire,
            {"response_format": ABSENT},
            options={"response_format": {"type": "text"}},
            asked_in=CHAT,
        )
        for wire in (RESPONSES, MESSAGES, GEMINI, INTERACTIONS, OLLAMA, GATEWAY)
    ),
    *(
        RequestRow(
            "a format that only one wire has",
            wire,
            {"response_format": ABSENT},
            options={"response_format": {"type": "grammar", "grammar": "x"}},
            asked_in=CHAT,
            notes=("response_format",),
        )
        for wire in (RESPONSES, MESSAGES, GEMINI, INTERACTIONS, OLLAMA, GATEWAY)
    ),
    RequestRow(
        "a format beside a verbosity",
        RESPONSES,
        {"text": {"format": {"type": "json_object"}, "verbosity": "low"}},
        options={"verbosity": "low", **JSON},
        asked_in=CHAT,
    ),
    RequestRow(
        "a format beside an effort of one's own",
        MESSAGES,
        {"output_config": {"format": {"type": "json_schema", "schema": SCHEMA}, "effort": "low"}},
        options={"output_config": {"effort": "low"}, **FORMATS[CHAT]},
    ),
    # Top k on Chat Completions: OpenAI has none, and servers that refuse unknown fields refuse it.
    *(
        RequestRow("top k", CHAT, {"top_k": 40, "topK": ABSENT}, options={word: 40}, url=url, asked_in=asked_in)
        for url, word, asked_in in (
            ("https://models.example/v1", "topK", ""),
            ("https://models.example/v2", "top_k", ""),
            (OPENROUTER, "top_k", MESSAGES),
            (OPENROUTER, "topK", GEMINI),
            (VLLM, "top_k", MESSAGES),
        )
    ),
    *(
        RequestRow(
            "top k",
            CHAT,
            {"top_k": ABSENT},
            options={word: 40},
            url="https://api.openai.com/v1",
            asked_in=asked_in,
            notes=(word,),
        )
        for word, asked_in in (("top_k", MESSAGES), ("topK", GEMINI))
    ),
    RequestRow(
        "calls one after the other",
        MESSAGES,
        {"tool_choice": {"type": "auto", "disable_parallel_tool_use": True}},
        schema={},
        options={"parallel_tool_calls": False},
        asked_in=CHAT,
    ),
    RequestRow(
        "calls one after the other, in a program's words",
        OLLAMA,
        {"parallel_tool_calls": ABSENT},
        options={"parallel_tool_calls": False},
        notes=("parallel_tool_calls",),
    ),
    RequestRow(
        "what a wire refuses whole",
        GEMINI,
        {"brand_new": ABSENT, "generationConfig": ABSENT},
        options={"brand_new": 1},
        notes=("brand_new",),
    ),
    RequestRow(
        "an effort in a program's words",
        INTERACTIONS,
        {"generation_config.thinking_level": "low"},
        model="gemini-3.8-flash",
        options={"reasoning_effort": "low"},
    ),
    RequestRow(
        "an effort in a program's words",
        RESPONSES,
        {"reasoning": {"effort": "low", "summary": "auto"}, "reasoning_effort": ABSENT},
        options={"reasoning_effort": "low"},
    ),
    RequestRow(
        "an effort in an object",
        CHAT,
        {"reasoning_effort": "low", "reasoning": ABSENT},
        options={"reasoning": {"effort": "low", "summary": "auto"}},
        asked_in=RESPONSES,
    ),
    RequestRow(
        "an effort in an object that holds more",
        CHAT,
        {"reasoning": {"effort": "low", "exclude": True}},
        options={"reasoning": {"effort": "low", "exclude": True}},
    ),
    RequestRow(
        "an effort in an object",
        GATEWAY,
        {"reasoning": "low"},
        options={"reasoning": {"effort": "low"}},
        asked_in=RESPONSES,
    ),
    *(
        RequestRow("an option of a program", wire, {"brand_new": 1}, options={"brand_new": 1})
        for wire in (CHAT, RESPONSES, MESSAGES, OLLAMA, GATEWAY)
    ),
    *(
        RequestRow(
            "what only one wire has",
            wire,
            {"truncation": ABSENT},
            options={"truncation": "auto"},
            asked_in=RESPONSES,
            notes=("truncation",),
        )
        for wire in (CHAT, MESSAGES, GEMINI, INTERACTIONS, OLLAMA, GATEWAY)
    ),
)
