"""Writes a request as the body of `POST /interactions`, in its order; the conversation is one list of steps.

The steps go through the same rules as the contents of Gemini
(:class:`partstream.protocols.gemini.write_request.ContentsWriter`), whose settings, models, tools and files they share.
What differs (docs/wires/gemini.md#interactions):

- Each result is a step of its own, and names its call. A thought goes back as the step that it came as, and so does
  what the server ran; all of it in the order of the answer.
- A request that continues a stored interaction holds only the steps after it; the server is asked to store nothing
  unless a setting says so.
- How much to think is a word for every model.

Types: `google-genai` 3.6.1, `CreateModelInteractionParam` and `StepParam`.
"""

from __future__ import annotations
from base64 import b64encode
from collections.abc import Mapping, Sequence
from typing import Any, Final

from partstream.codec.checks import dataclass
from partstream.conversation import turns as conversation
from partstream.conversation.preparation import ChatRequest, ConversationRules, RequestSettings
from partstream.conversation.tool_forms import CODE, FETCH, WEB_SEARCH, HostedForm
from partstream.lm.messages import ToolMode
from partstream.protocols.gemini import models
from partstream.protocols.gemini import write_request as gemini
from partstream.protocols.gemini.provider_state import DUMMY, StateOfCall, states_of_calls, usable_signature
from partstream.protocols.gemini.write_request import ContentsWriter, GeminiRequestWriter
from partstream.protocols.gemini_interactions.errors import ERRORS, SIGNATURE, without_refused
from partstream.protocols.gemini_interactions.read_response import ITEM_TYPE, STEP, TOOL_CALL_ID
from partstream.protocols.options import NO_FIELD, AnswerFormat, Option, OptionRules, tiers
from partstream.protocols.protocol import OwnSettings
from partstream.protocols.schemas import GOOGLE_JSON
from partstream.protocols.serve import WireRequest

# ---- Settings ----


@dataclass(frozen=True, slots=True)
class InteractionsSettings(models.GoogleSettings):
    """The request settings of Interactions: all of them are those of Gemini."""


OWN_SETTINGS: Final = OwnSettings(
    InteractionsSettings, models.GOOGLE_ROWS, frozenset({"model", "input", "stream", "previous_interaction_id"})
)

# ---- Steps ----


def read_item(item: Mapping[str, Any]) -> StateOfCall | Mapping[str, Any] | None:
    """What an item carries: the signature of a call, or a whole step; None for an item of another protocol."""
    call_id, step = item.get(TOOL_CALL_ID), item.get(STEP)
    if item.get("type") != ITEM_TYPE:
        return None
    if isinstance(call_id, str):
        return StateOfCall(call_id, is_given=True, signature=usable_signature(item.get(SIGNATURE)))
    return step if isinstance(step, dict) and step else None


def kind_of_file(media_type: str) -> str:
    """The type of the content for a file."""
    kind = media_type.partition("/")[0]
    return kind if kind in {"image", "audio", "video"} else "document"


class StepsWriter(ContentsWriter):
    """The steps of one request so far.

    Args:
        files_inside: Whether results hold their files.
        continues: Whether the steps follow a stored interaction, which has the calls of the first results.
    """

    def __init__(self, *, files_inside: bool, continues: bool) -> None:
        super().__init__(files_inside=files_inside)
        self._continues = continues

    def whole(self) -> list[models.JSONObject]:
        """All steps, between the user's first and last one."""
        filler = {"type": "user_input", "content": [self._text(gemini.FILLER)]}
        before = [] if self._continues or self._is_at(0, "user_input") else [filler]
        after = [] if self._is_at(-1, "user_input", "function_result") else [filler]
        return [*before, *self.written, *after]

    def _is_at(self, place: int, *kinds: str) -> bool:
        return bool(self.written) and self.written[place]["type"] in kinds

    def _add(self, kind: str, content: list[models.JSONObject]) -> None:
        """Adds content, to the last step if that is of the same kind."""
        if content and self._is_at(-1, kind):
            self.written[-1]["content"] += content
        elif content:
            self.written.append({"type": kind, "content": content})

    def _text(self, value: str) -> models.JSONObject:
        return {"type": "text", "text": value}

    @staticmethod
    def _file(piece: conversation.Attachment) -> models.JSONObject:
        models.check_file(piece)
        where = {"uri": piece.url} if piece.url else {"data": b64encode(piece.data).decode()}
        return {"type": kind_of_file(piece.media_type), **where, "mime_type": piece.media_type}

    def _user(self, parts: list[models.JSONObject]) -> None:
        self._add("user_input", parts)

    def _model(self, turn: conversation.MergedTurn) -> None:
        for one in turn.turns:
            state = states_of_calls(one.content, read_item)
            follows_text = False
            for piece in one.content:
                if isinstance(piece, conversation.Text) and follows_text:
                    self.written[-1]["content"][-1]["text"] += piece.value
                elif isinstance(piece, conversation.Text):
                    self._add("model_output", [self._text(piece.value)])
                elif isinstance(piece, conversation.Attachment):
                    self._add("model_output", [self._file(piece)])
                elif isinstance(piece, conversation.Call) and not piece.is_added:
                    own = state.get(piece.call_id)
                    signed = {} if own is None or own.signature is None else {SIGNATURE: own.signature}
                    called = {"id": piece.call_id, "name": piece.name, "arguments": gemini.checked_input(piece)}
                    self.written.append({"type": "function_call", **called, **signed})
                elif isinstance(piece, conversation.Reasoning) and isinstance(said := read_item(piece.item), Mapping):
                    # An empty signature signs nothing, and is refused (googleapis/js-genai#1735).
                    kept = {name: value for name, value in said.items() if name != SIGNATURE or value}
                    self.written.append(kept)
                follows_text = isinstance(piece, conversation.Text)

    def _answer(self, results: Sequence[conversation.Result], files: list[models.JSONObject]) -> None:
        self.written += map(self._response, results)
        self._user(files)

    def _response(self, result: conversation.Result) -> models.JSONObject:
        text, inside = gemini.text_of_result(result), self._inside(result)
        failed = {"is_error": True} if result.is_error or result.is_added else {}
        if failed and not text:
            text = conversation.FAILED_SILENTLY
        said = [*([self._text(text)] if text else []), *inside] if inside else text
        return {"type": "function_result", "call_id": result.call_id, "name": result.name, "result": said, **failed}

    def _lost(self, result: conversation.Result) -> None:
        if self._continues:
            self._answer([result], [])
        else:
            super()._lost(result)


_ENDS: Final = frozenset({"function_result", "user_input"})
"""The steps after which the model begins anew."""


def with_dummies(steps: Sequence[models.JSONObject]) -> list[models.JSONObject]:
    """The steps with a thought before the first call of each round of the current turn that has no signature.

    The thought has the dummy of `generateContent` (docs/wires/gemini.md#unsigned-calls); a server that refuses it gets
    the calls as texts (:mod:`partstream.protocols.gemini_interactions.errors`).
    """
    signed: list[models.JSONObject] = []
    begins = max((place for place, step in enumerate(steps) if step["type"] == "user_input"), default=0)
    is_signed = False
    for place, step in enumerate(steps):
        is_signed = step["type"] not in _ENDS and (is_signed or bool(step.get(SIGNATURE)))
        if place > begins and step["type"] == "function_call" and not is_signed:
            signed.append({"type": "thought", SIGNATURE: DUMMY})
            is_signed = True
        signed.append(step)
    return signed


# ---- Tools ----


def _tools(request: ChatRequest, settings: models.GoogleSettings, model: models.KnownModel) -> list[models.JSONObject]:
    functions = [{"type": "function", **gemini.declared_with(tool, "parameters")} for tool in request.tools]
    own = (_SERVER_TOOLS[name] for name in models.server_tools_of(settings, model, functions))
    return [*functions, *map(dict, request.hosted_tools), *(tool for tool in own if tool not in request.hosted_tools)]


_SERVER_TOOLS: Final[Mapping[str, models.JSONObject]] = {
    "googleSearch": {"type": "google_search"},
    "urlContext": {"type": "url_context"},
    "codeExecution": {"type": "code_execution"},
    "googleMaps": {"type": "google_maps"},
    "enterpriseWebSearch": {"type": "google_search", "search_types": ["enterprise_web_search"]},
}
"""The tools that the server runs, by the names of the setting."""


def _tool_choice(request: ChatRequest, settings: models.GoogleSettings) -> models.JSONObject:
    if not request.tools or (request.tool_mode is not ToolMode.REQUIRED and not settings.validates_calls):
        return {}
    if request.tool_mode is not ToolMode.REQUIRED:
        return {"tool_choice": "validated"}
    only = {"allowed_tools": {"mode": "any", "tools": [request.tools[0].name]}}
    return {"tool_choice": only if len(request.tools) == 1 else "any"}


# ---- Options ----

_GENERATION: Final = "generation_config"
_EFFORTS: Final = models.Levels(("minimal", "low", "medium", "high"))
_TOP: Final = models.spellings("response_format", "response_modalities", "safety_settings", "cached_content", "labels")
_INSIDE: Final = models.spellings(
    *("image_config", "speech_config", "video_config", "transcription_config", "thinking_level", "thinking_summaries")
)
_AT_TOP: Final = frozenset({*_TOP.values(), "service_tier"})
"""Options beside `input`; all others are in `generation_config`."""


def _format_option(asked: AnswerFormat) -> models.JSONObject:
    schema = {} if asked.schema is None else {"schema": asked.described}
    return {"response_format": {"type": "text", "mime_type": "application/json", **schema}}


HOSTED_TOOLS: Final = {
    WEB_SEARCH: HostedForm({"type": "google_search"}, is_offered=True),
    CODE: HostedForm({"type": "code_execution"}, is_offered=True),
    FETCH: HostedForm({"type": "url_context"}, is_offered=True),
}

OPTIONS: Final = OptionRules(
    "gemini-interactions",
    {
        Option.LIMIT: "max_output_tokens",
        Option.EFFORT: NO_FIELD,
        Option.TEMPERATURE: "temperature",
        Option.TOP_P: "top_p",
        Option.TOP_K: "top_k",  # in no type, and taken (vercel/ai#17937)
        Option.STOP: "stop_sequences",
        Option.SEED: "seed",
        Option.SERVICE_TIER: "service_tier",
    },
    OWN_SETTINGS.request_fields
    | {"messages", "contents", "instructions", "system_instruction", "tools", "tool_choice", "store"}
    | {"stream_options", "prompt", "previous_response_id"},
    _format_option,
    renamed={**_TOP, **_INSIDE},
    tiers=tiers("standard", "flex", "priority"),
    takes_others=False,  # one field that it does not know fails the whole request
)

# ---- The request ----

REVISION: Final = "2026-05-20"
"""The version of the form; without it, older events come."""


class InteractionsRequestWriter(GeminiRequestWriter):
    """Writes requests to Google Interactions."""

    path = "/interactions"
    errors = ERRORS
    notes = staticmethod(OPTIONS.notes)
    leave_out = staticmethod(without_refused)
    continues = True
    count = None
    empty_request = None  # where this wire is spoken, Gemini is too, and no other server is known to have it

    def write(self, request: ChatRequest) -> WireRequest:  # noqa: D102
        return WireRequest(self.path, self._body(request), {"api-revision": REVISION})

    def _body(self, request: ChatRequest) -> models.JSONObject:
        settings = request.settings
        own, model = settings.own_settings(InteractionsSettings), models.known_model(request.model_id)
        continued = request.previous_response_id
        system, steps = gemini.write_conversation(
            request, own, model, lambda **how: StepsWriter(**how, continues=continued is not None)
        )
        options = OPTIONS.of(request)
        effort, most = options.effort or request.reasoning_effort, settings.max_output_tokens
        control = _EFFORTS if isinstance(model.thinking, models.Budgets) else model.thinking
        shows = own.include_thoughts and request.asks_to_think is not False
        thinking = models.thinking_config(control, settings.capabilities, effort, shows=shows)
        level = thinking.get("thinkingLevel")
        # Options of the request win over the configuration of the model.
        generation = {
            **({"max_output_tokens": most} if most is not None else {}),
            **({"thinking_level": level.lower()} if level is not None else {}),
            **({"thinking_summaries": "auto"} if thinking.get("includeThoughts") else {}),
            **_tool_choice(request, own),
            **{name: value for name, value in options.fields.items() if name not in _AT_TOP},
        }
        generation = {name: value for name, value in generation.items() if value is not None}
        whole, tools = steps.whole(), _tools(request, own, model)
        body: models.JSONObject = {
            "model": request.model_id.removeprefix("models/"),
            "input": with_dummies(whole) if model.signs_calls else whole,
            **({"system_instruction": "\n\n".join(system)} if system else {}),
            **({"tools": tools} if tools else {}),
            **({_GENERATION: generation} if generation else {}),
            **{name: value for name, value in options.fields.items() if name in _AT_TOP},
            "store": settings.stores,
            "stream": True,
            **({"previous_interaction_id": continued} if continued is not None else {}),
        }
        return gemini.with_extra_fields(body, settings.extra_body)

    def conversation_rules(self, _settings: RequestSettings, model_id: str) -> ConversationRules:  # noqa: D102
        return ConversationRules(
            tool_names=conversation.NameForm(letter_first=True),
            tool_schema=GOOGLE_JSON.of,
            hosted_tools=HOSTED_TOOLS,
            mixes_tools=models.known_model(model_id).signs_calls,
        )


WRITE_REQUEST: Final = InteractionsRequestWriter()
