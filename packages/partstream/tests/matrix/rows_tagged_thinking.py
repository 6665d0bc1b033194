"""A server without a parser for thinking leaves it in the text, between the marks of the model's template."""

from matrix.rows import Expected, Row
from matrix.texts import DOCUMENTS, STREAMS

KIND = "Thinking is in tags at the beginning of the text."

_HM, _HI = "Let me think.", "Hello!"
_BOTH = Expected(text=_HI, thinking=_HM)

# By shape: the pieces of the text, the right answer, and where it was seen.
_SHAPES: dict[str, tuple[tuple[str, ...], Expected, str]] = {
    "<think>": (("<think>\n", _HM, "</think>\n\n", _HI), _BOTH, ""),
    "<thinking>": (("<thinking>", _HM, "</thinking>\n", _HI), _BOTH, "LibreChat-AI/agents#40, earendil-works/pi#303"),
    "<thought>": (("<thought>", _HM, "</thought>", _HI), _BOTH, ""),
    "<reasoning>, a block in each chunk": (
        ("<reasoning>Let me", " think.</reasoning>", "<reasoning> Go.</reasoning>", _HI),
        Expected(text=_HI, thinking="Let me think. Go."),
        "browseros-ai/BrowserOS#167, vercel/ai#14720",
    ),
    "blocks of several tags, with blanks between them": (
        ("<think>a</think>\n \n<reasoning>", "b</reasoning> <think>", "c</think>\n", _HI),
        Expected(text=_HI, thinking="abc"),
        "",
    ),
    "<reason>": (("<reason>", _HM, "</reason>", _HI), _BOTH, ""),
    "<seed:think>": (("<seed:think>", _HM, "</seed:think>", _HI), _BOTH, ""),
    "[THINK]": (("[THINK]", _HM, "[/THINK]", _HI), _BOTH, ""),
    "triangles": (("\u25c1think\u25b7", _HM, "\u25c1/think\u25b7", _HI), _BOTH, ""),
    "Gemma's channel": (
        ("<|channel>thought", "\nLet me think.<channel|>", _HI),
        _BOTH,
        "NousResearch/hermes-agent#67632",
    ),
    "Cohere's marks": (
        ("<|START_THINKING|>", _HM, "<|END_THINKING|>", "<|START_RESPONSE|>", _HI, "<|END_RESPONSE|>"),
        _BOTH,
        "",
    ),
    "harmony": (
        ("<|channel|>analysis<|message|>", _HM, "<|end|>", "<|start|>assistant<|channel|>final<|message|>", _HI),
        _BOTH,
        "",
    ),
    "harmony, with every mark": (
        (
            "<|start|>assistant<|channel|>analysis<|message|>Let me",
            " think.<|end|><|start|>assistant<|channel|>final<|mess",
            "age|>Hello!<|return|>",
        ),
        _BOTH,
        "",
    ),
    "harmony, without the end of the analysis": (
        ("<|channel|>analysis<|message|>", _HM, "<|channel|>final<|message|>", _HI),
        _BOTH,
        "",
    ),
    "tags cut by the deltas": (("<th", "ink>Let me", " think.</thi", "nk>", _HI), _BOTH, "danny-avila/LibreChat#8182"),
    "a tag in a sentence": (
        ("The tag ", "<think>", " opens it, </think> ends it."),
        Expected(text="The tag <think> opens it, </think> ends it."),
        "ggml-org/llama.cpp#27661",
    ),
    "a tag in the answer after the thinking": (
        ("<think>", _HM, "</think>", "Use <think>x</think>."),
        Expected(text="Use <think>x</think>.", thinking=_HM),
        "",
    ),
    "a tag in code": (("`<reasoning>`", " is a tag."), Expected(text="`<reasoning>` is a tag."), ""),
    "the beginning of a tag, and no more": (("<thi", "s>"), Expected(text="<this>"), ""),
}


def _rows() -> list[Row]:
    rows: list[Row] = []
    for shape, (pieces, expected, source) in _SHAPES.items():
        for wire, stream in STREAMS.items():
            seen = source if wire == "chat-completions" else ""
            rows.append(Row(shape, wire, stream(pieces), expected, seen))
            if wire in DOCUMENTS:
                rows.append(Row(shape, wire, DOCUMENTS[wire]("".join(pieces)), expected, seen))
    return rows


ROWS = tuple(_rows())
