"""Writes a request as the body of `streamGenerateContent`; :mod:`partstream.conversation.turns` has prepared it.

:func:`build_request` writes the system texts, the tools, the contents and `generationConfig`. What differs between
models is a row in :mod:`partstream.protocols.gemini.models`.

- Contents (docs/wires/gemini.md#contents): one content of the user with all results follows each content with calls; no
  content is empty; the first and the last content are the user's.
- Signatures (docs/wires/gemini.md#signatures): a signature goes back on exactly the part that had it. A text that was
  signed is a part of its own, and no text takes over the signature of another one.
- Tools (docs/wires/gemini.md#tools-and-schemas), and whether one must be called.
- Options (docs/wires/gemini.md#thinking-config) have many names in other protocols and SDKs. Nearly all of them belong
  into `generationConfig`; a field that Google does not know fails the whole request.
"""

from __future__ import annotations
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple
from urllib.parse import unquote

from partstream.codec.json_codec import is_json
from partstream.conversation import turns as conversation
from partstream.conversation.preparation import ChatRequest, ConversationRules, RequestSettings, ToolImages
from partstream.errors import RequestNotExpressibleError
from partstream.lm.messages import Tool, ToolMode
from partstream.protocols.gemini import models, provider_state
from partstream.protocols.gemini.errors import ERRORS, JSON_SCHEMA, SUBSET, without_refused
from partstream.protocols.options import (
    NO_FIELD,
    AnswerFormat,
    ChosenOptions,
    Option,
    OptionRules,
    notes_on_options,
    options_of,
)
from partstream.protocols.protocol import NO_FIELDS, CountEndpoint, KeyKind, RequestWriterSpec
from partstream.protocols.read_response import checksum
from partstream.protocols.schemas import GOOGLE_JSON, GOOGLE_SUBSET
from partstream.protocols.serve import WireRequest, path_for_model

# ---- Contents ----

_NOTHING: Final = ""


class ModelParts:
    """The parts of one content of the model.

    Attributes:
        parts: The parts so far.
        given_ids: The ids under which the server knows calls, by the ids of the conversation.
    """

    __slots__ = ("_may_join", "given_ids", "parts")

    def __init__(self) -> None:
        self.parts: list[models.Wire] = []
        self.given_ids: dict[str, str] = {}
        self._may_join = False

    def add(self, turns: Iterable[conversation.Turn]) -> None:
        """Adds turns of the model; the texts of two turns are never one part.

        Raises:
            RequestNotExpressibleError: A call holds what JSON has no form for, or no model takes the type of a file.
        """
        for turn in turns:
            self._may_join = False
            state = _state_of_calls(turn.content)
            items = [
                provider_state.read_item(piece.item)
                for piece in turn.content
                if isinstance(piece, conversation.Reasoning)
            ]
            signed_files = {
                one.number: {provider_state.SIGNATURE: one.signature}
                for one in items
                if isinstance(one, provider_state.SignedFile)
            }
            files = 0
            for piece in turn.content:
                if isinstance(piece, conversation.Text):
                    self._text(piece.value)
                elif isinstance(piece, conversation.Reasoning):
                    self._item(piece.item)
                elif isinstance(piece, conversation.Attachment):
                    self._append(models.file_part(piece) | signed_files.get(files, {}))
                    files += 1
                elif isinstance(piece, conversation.Call) and not piece.is_added:
                    self._call(piece, state.get(piece.call_id))

    def _append(self, part: models.Wire) -> None:
        self.parts.append(part)
        self._may_join = False

    def _text(self, value: str) -> None:
        if self._may_join:
            self.parts[-1] = {"text": self.parts[-1]["text"] + value}
        else:
            self.parts.append({"text": value})
        self._may_join = True

    def _item(self, item: Mapping[str, Any]) -> None:
        said = provider_state.read_item(item)
        if isinstance(said, provider_state.SignedText):
            taken = self._taken_back(said.length, said.checksum)
            self._append({"text": taken or _NOTHING, provider_state.SIGNATURE: said.signature})
        elif isinstance(said, provider_state.CarriedPart):
            self._taken_back(said.length, said.checksum)
            self._append(dict(said.part))

    def _taken_back(self, length: int, wanted: int | None) -> str | None:
        """The text right before, if it is still the one that is meant; it is no part any more then."""
        last = self.parts[-1].get("text", _NOTHING) if self._may_join else _NOTHING
        end = last[len(last) - length :] if 0 < length <= len(last) else None
        if end is None or (wanted is not None and checksum(end) != wanted):
            return None
        rest = last[: len(last) - length]
        self.parts[-1:] = [{"text": rest}] if rest else []
        return end

    def _call(self, call: conversation.Call, state: provider_state.StateOfCall | None) -> None:
        if not is_json(dict(call.input)):
            raise RequestNotExpressibleError("arguments", f"{call.where}.input", "JSON values")
        called: models.Wire = {"name": call.name, "args": dict(call.input)}
        if state is not None and state.is_given:
            called["id"] = self.given_ids[call.call_id] = state.call_id
        signed = {} if state is None or state.signature is None else {provider_state.SIGNATURE: state.signature}
        self._append({"functionCall": called} | signed)


def _state_of_calls(pieces: Sequence[conversation.Piece]) -> dict[str, provider_state.StateOfCall]:
    """What each call takes back, by the id of the conversation.

    An item knows the id under which the call came out. If that had to be changed on the way, the item means the call
    whose id was made of it, else the next call after the item, which is its place in the answer.
    """
    ids = [piece.call_id for piece in pieces if isinstance(piece, conversation.Call) and not piece.is_added]
    found: dict[str, provider_state.StateOfCall] = {}
    for index, piece in enumerate(pieces):
        state = provider_state.read_item(piece.item) if isinstance(piece, conversation.Reasoning) else None
        if not isinstance(state, provider_state.StateOfCall):
            continue
        made_of_it = (one for one in ids if one.startswith(f"{state.call_id}_"))
        following = (later.call_id for later in pieces[index:] if isinstance(later, conversation.Call))
        meant = state.call_id if state.call_id in ids else next(made_of_it, None) or next(following, None)
        if meant is not None:
            found.setdefault(meant, state)
    return found


FILLER: Final = "."
"""The user's text where a conversation does not begin or end with the user."""
_RESPONSE: Final = "functionResponse"


def contents_of(request: ChatRequest, model: models.KnownModel, most_file_bytes: int) -> list[models.Wire]:
    """The contents of a conversation, in order.

    Args:
        request: The request.
        model: What the model takes.
        most_file_bytes: The most bytes of all files together, in base64.

    Raises:
        RequestNotExpressibleError: The user gives a file that the models do not take, or too large ones; or a call
            holds what JSON has no form for.
    """
    images = request.settings.tool_images
    turns = models.within_limit(request.turns[len(_leading_system(request.turns)) :], most_file_bytes)
    inside = images is ToolImages.NATIVE or (images is ToolImages.AUTO and model.signs_calls)
    shown = conversation.shown_by_user(
        turns, of_results=images is ToolImages.USER_MESSAGE, of_assistant=not model.makes_images
    )
    writer = _Writer(files_inside=inside)
    for turn in conversation.merged_turns(shown):
        writer.write(turn)
    contents = writer.whole()
    return provider_state.with_dummies(contents) if model.signs_calls else contents


def system_texts(request: ChatRequest) -> list[str]:
    """The texts of the system before everything else: they have a place of their own.

    A system message later in the conversation has none, and becomes a text of the user.
    """
    leading = _leading_system(request.turns)
    return [*filter(None, [request.instructions]), *(_text_of(turn.content) for turn in leading)]


def _leading_system(turns: Sequence[conversation.Turn]) -> Sequence[conversation.Turn]:
    end = next((index for index, turn in enumerate(turns) if turn.role is not conversation.TurnRole.SYSTEM), len(turns))
    return turns[:end]


class _Writer:
    """The contents of one request so far.

    Args:
        files_inside: Whether results hold their files; else the files follow all results in one content.
    """

    def __init__(self, *, files_inside: bool) -> None:
        self._contents: list[models.Wire] = []
        self._files_inside = files_inside

    def write(self, turn: conversation.MergedTurn) -> None:
        """Adds what a speaker says, and the results of the calls in it."""
        if turn.role is conversation.TurnRole.SYSTEM:
            self._user([{"text": text}] if (text := _text_of(turn.content)) else [])
            return
        if turn.role is conversation.TurnRole.USER:
            parts = [
                {"text": piece.value} if isinstance(piece, conversation.Text) else models.file_part(piece)
                for piece in turn.content
                if isinstance(piece, conversation.Text | conversation.Attachment)
            ]
            self._user(parts)
            return
        said = ModelParts()
        said.add(turn.turns)
        if self._contents and self._contents[-1]["role"] == "model":
            self._contents[-1]["parts"] += said.parts
        elif said.parts:
            self._contents.append({"role": "model", "parts": said.parts})
        calls = [piece for piece in turn.content if isinstance(piece, conversation.Call)]
        self._results(turn.results, calls, said.given_ids)

    def whole(self) -> list[models.Wire]:
        """All contents, between the user's first and last one."""
        contents = self._contents
        filler = {"role": "user", "parts": [{"text": FILLER}]}
        before = [] if contents and contents[0]["role"] == "user" else [filler]
        after = [filler] if contents and contents[-1]["role"] == "model" else []
        return [*before, *contents, *after]

    def _user(self, parts: list[models.Wire]) -> None:
        """Adds parts of the user; after results they are a content of their own."""
        last = self._contents[-1] if self._contents else None
        if not parts:
            return
        if last is None or last["role"] != "user" or any(_RESPONSE in part for part in last["parts"]):
            self._contents.append({"role": "user", "parts": parts})
        else:
            last["parts"] += parts

    def _results(
        self, results: Sequence[conversation.Result], calls: Sequence[conversation.Call], given_ids: dict[str, str]
    ) -> None:
        """Adds the results of the calls that were just written, in the order of the calls; lost calls' as texts."""
        order = {call.call_id: place for place, call in enumerate(calls) if not call.is_added}
        answers = sorted((one for one in results if one.call_id in order), key=lambda one: order[one.call_id])
        if answers:
            responses = [self._response(one, given_ids) for one in answers]
            outside = [file for one in answers for file in _files_of(one) if not self._goes_inside(file)]
            files = [models.file_part(file) for file in outside]
            self._contents.append({"role": "user", "parts": [*responses, *files]})
        for lost in (one for one in results if one.call_id not in order):  # servers refuse a result alone
            tool = "a tool" if lost.name == conversation.UNKNOWN_TOOL else f"the tool {lost.name}"
            text = f"[The result of an earlier call of {tool}]\n{_text_of_result(lost)}"
            self._user([{"text": text}, *map(models.file_part, _files_of(lost))])

    def _response(self, result: conversation.Result, given_ids: dict[str, str]) -> models.Wire:
        """The part of a result. Its text is never read as JSON: Gemini 3 resolves `$ref` in it, and fails."""
        text = _text_of_result(result)
        failed = result.is_error or result.is_added
        said = {"error": text or conversation.FAILED_SILENTLY} if failed else {"output": text}
        given = {"id": given_ids[result.call_id]} if result.call_id in given_ids else {}
        inside = [models.file_part(one) for one in _files_of(result) if self._goes_inside(one)]
        held = {"parts": inside} if inside else {}
        return {_RESPONSE: {**given, "name": result.name, "response": said, **held}}

    def _goes_inside(self, file: conversation.Attachment) -> bool:
        return self._files_inside and models.fits_into_response(file)


def _text_of_result(result: conversation.Result) -> str:
    return conversation.joined_texts(piece.value for piece in result.content if isinstance(piece, conversation.Text))


def _files_of(result: conversation.Result) -> list[conversation.Attachment]:
    return [piece for piece in result.content if isinstance(piece, conversation.Attachment)]


def _text_of(pieces: Iterable[conversation.Piece]) -> str:
    return "".join(piece.value for piece in pieces if isinstance(piece, conversation.Text))


# ---- Options ----

WIRE: Final = "gemini"
_JSON: Final = {"responseMimeType": "application/json"}


def _format_option(asked: AnswerFormat) -> models.Wire:
    return _JSON | ({} if asked.schema is None else {"responseJsonSchema": asked.schema})


_FORMATS: Final = {
    **dict.fromkeys(("responseMimeType", "response_mime_type"), "responseMimeType"),
    **dict.fromkeys(("responseJsonSchema", "response_json_schema"), "responseJsonSchema"),
    **dict.fromkeys(("responseSchema", "response_schema"), "responseSchema"),
}
_TOP: Final = {
    **dict.fromkeys(("safetySettings", "safety_settings"), "safetySettings"),
    **dict.fromkeys(("cachedContent", "cached_content"), "cachedContent"),
    "labels": "labels",
}
"""Options beside `contents`; all others are in `generationConfig`."""
_SERVICE_TIER: Final = "serviceTier"

OPTIONS: Final = OptionRules(
    {
        Option.LIMIT: "maxOutputTokens",
        Option.EFFORT: NO_FIELD,
        Option.TEMPERATURE: "temperature",
        Option.TOP_P: "topP",
        Option.TOP_K: "topK",
        Option.STOP: "stopSequences",
        Option.SEED: "seed",
        Option.PRESENCE_PENALTY: "presencePenalty",
        Option.FREQUENCY_PENALTY: "frequencyPenalty",
        Option.SERVICE_TIER: _SERVICE_TIER,
    },
    frozenset(
        {"model", "messages", "contents", "systemInstruction", "stream", "stream_options", "tools", "tool_choice"}
        | {"toolConfig", "store", "prompt", "input", "instructions", "previous_response_id"}
    ),
    _format_option,
    formats=frozenset(_FORMATS),
    renamed={
        **_FORMATS,
        **_TOP,
        **dict.fromkeys(("responseModalities", "response_modalities"), "responseModalities"),
        **dict.fromkeys(("mediaResolution", "media_resolution"), "mediaResolution"),
        **dict.fromkeys(("thinkingConfig", "thinking_config"), "thinkingConfig"),
        **dict.fromkeys(("imageConfig", "image_config"), "imageConfig"),
        **dict.fromkeys(("speechConfig", "speech_config"), "speechConfig"),
        **{name: name for name in ("responseLogprobs", "logprobs")},
    },
    takes_others=False,  # one field that it does not know fails the whole request
)


class BodyOptions(NamedTuple):
    """The chosen fields of `generationConfig` and of the body, and the effort of thinking."""

    generation: models.Wire
    fields: models.Wire
    effort: str | None


def body_options(chosen: ChosenOptions) -> BodyOptions:
    """Options by their place in the body."""
    at_top = {*_TOP.values(), _SERVICE_TIER}
    return BodyOptions(
        {name: value for name, value in chosen.fields.items() if name not in at_top},
        {name: value for name, value in chosen.fields.items() if name in at_top},
        chosen.effort,
    )


# ---- Tools ----


def tool_fields(request: ChatRequest, settings: models.GeminiSettings, model: models.KnownModel) -> models.Wire:
    """The fields of a body that say which tools there are; none where there are none.

    Tools of the server go beside those of the client only from Gemini 3 on: older models refuse both together, and get
    those of the client alone.
    """
    functions = [_declaration(tool, settings) for tool in request.tools]
    own: list[models.Wire] = (
        [{name: {}} for name in settings.server_tools] if model.signs_calls or not functions else []
    )
    tools = [*([{"functionDeclarations": functions}] if functions else []), *own]
    if not tools:
        return {}
    config: models.Wire = {}
    if functions and request.tool_mode is ToolMode.REQUIRED:
        only = {"allowedFunctionNames": [request.tools[0].name]} if len(request.tools) == 1 else {}
        config["functionCallingConfig"] = {"mode": "ANY", **only}
    elif functions and settings.validates_calls:
        config["functionCallingConfig"] = {"mode": "VALIDATED"}
    if functions and own:
        config["includeServerSideToolInvocations"] = True
    return {"tools": tools} | ({"toolConfig": config} if config else {})


def _declaration(tool: Tool, settings: models.GeminiSettings) -> models.Wire:
    declared: models.Wire = {"name": tool.name}
    if tool.description:
        declared["description"] = tool.description
    schema = tool.input_schema or {}
    if schema.get("properties") or schema.keys() - {"type", "properties", "required"}:
        declared[SUBSET if settings.tool_schemas is models.ToolSchemas.OPENAPI else JSON_SCHEMA] = schema
    return declared  # a tool without parameters has no schema: older models refuse an object without properties


# ---- Count ----

COUNT_METHOD: Final = ":countTokens"
_COUNTED: Final = frozenset({"contents", "systemInstruction", "tools", "toolConfig", "generationConfig"})
_MODELS: Final = "/models/"


def _question(request: WireRequest) -> WireRequest:
    """The same request within `generateContentRequest`: so the tokens of tools and system count too."""
    path = request.path.rpartition(":")[0]
    counted = {name: value for name, value in request.body.items() if name in _COUNTED}
    model = f"models/{unquote(path.removeprefix(_MODELS))}"
    body = {"generateContentRequest": {"model": model, **counted}}
    return replace(request, path=path + COUNT_METHOD, body=body, query="")


COUNT: Final = CountEndpoint(_question, "totalTokens")


# ---- The body ----

PATH: Final = "/models/{model}:streamGenerateContent"
_AS_EVENTS: Final = "alt=sse"
_MEGABYTE: Final = 1_000_000
_GENERATION: Final = "generationConfig"
_THINKING: Final = "thinkingConfig"
_CACHE: Final = "cachedContent"
_CACHED: Final = frozenset({"systemInstruction", "tools", "toolConfig"})
_EITHER: Final = frozenset({"thinkingLevel", "thinkingBudget"})


def build_request(request: ChatRequest) -> dict[str, Any]:
    """The JSON body that asks for the answer.

    Raises:
        RequestNotExpressibleError: The models do not take a file, or something holds what JSON has no form for.
    """
    settings = request.settings
    own, model = settings.own_settings(models.GeminiSettings), models.known_model(request.model_id)
    options = body_options(options_of(request, WIRE, OPTIONS))
    effort, most = options.effort or request.reasoning_effort, settings.max_output_tokens
    thinking = models.thinking_config(model.thinking, settings.capabilities, effort, shows=own.include_thoughts)
    # Options of the request win over the configuration of the model.
    config: models.Wire = {
        **({"responseModalities": ["TEXT", "IMAGE"]} if model.makes_images else {}),
        **({"maxOutputTokens": most} if most is not None else {}),
        **({_THINKING: thinking} if thinking else {}),
    }
    generation = _merged(config, options.generation)
    contents = contents_of(request, model, own.most_file_megabytes * _MEGABYTE)
    system = system_texts(request)
    body: dict[str, Any] = {
        **({"systemInstruction": {"parts": [{"text": text} for text in system]}} if system else {}),
        **tool_fields(request, own, model),
        "contents": contents,
        **({_GENERATION: generation} if generation else {}),
        **options.fields,
    }
    body = _with_extra_fields(body, settings.extra_body)
    # Servers refuse the repetition of what the cache holds (docs/wires/gemini.md#caching).
    return {name: value for name, value in body.items() if name not in _CACHED} if body.get(_CACHE) else body


def _with_extra_fields(body: models.Wire, extras: Mapping[str, Any]) -> models.Wire:
    """The body with the fields of `extras`, which win; None takes a field out.

    What holds further fields is merged, and tools are added to those of the request: to replace them would take away
    what the request is about.
    """
    merged = dict(body)
    for name, value in extras.items():
        before = merged.get(name)
        if value is None:
            merged.pop(name, None)
        elif isinstance(value, Mapping) and isinstance(before, Mapping):
            merged[name] = _merged(before, value)
        elif name == "tools" and isinstance(value, list) and isinstance(before, list):
            merged[name] = [*before, *value]
        else:
            merged[name] = value
    return merged


def _merged(config: Mapping[str, Any], chosen: Mapping[str, Any]) -> models.Wire:
    """The fields of both, chosen ones first; never a level and a budget (docs/wires/gemini.md#thinking-config)."""
    result = {name: value for name, value in {**config, **chosen}.items() if value is not None}
    ours, theirs = config.get(_THINKING), chosen.get(_THINKING)
    if isinstance(ours, Mapping) and isinstance(theirs, Mapping):
        kept = {name: value for name, value in ours.items() if not (name in _EITHER and _EITHER & theirs.keys())}
        result[_THINKING] = kept | {name: value for name, value in theirs.items() if value is not None}
    return result


def _write(request: ChatRequest) -> WireRequest:
    path = path_for_model(PATH, request.model_id.removeprefix("models/"))
    return WireRequest(path, build_request(request), query=_AS_EVENTS)


def conversation_rules(settings: RequestSettings, _model_id: str) -> ConversationRules:
    """The names and schemas that the servers take. Ids need no rule: only those that a server gave go back."""
    is_subset = settings.own_settings(models.GeminiSettings).tool_schemas is models.ToolSchemas.OPENAPI
    form = GOOGLE_SUBSET if is_subset else GOOGLE_JSON
    return ConversationRules(tool_names=conversation.NameForm(letter_first=True), tool_schema=form.of)


_OAUTH: Final = "ya29."
"""How the tokens of Google's own sign-in begin, which Vertex takes in place of a key."""


def authorize(key: str, kind: KeyKind) -> Mapping[str, str]:
    """The header that carries a key, or a bearer token (docs/wires/gemini.md#framing)."""
    if kind is KeyKind.OIDC or key.startswith(_OAUTH):
        return {"authorization": f"Bearer {key}"}
    return {"x-goog-api-key": key}


WRITE_REQUEST: Final = RequestWriterSpec(
    write=_write,
    notes=lambda request: notes_on_options(options_of(request, WIRE, OPTIONS)),
    path=PATH,
    authorize=authorize,
    conversation_rules=conversation_rules,
    errors=ERRORS,
    leave_out=without_refused,
    count=COUNT,
    empty_request=NO_FIELDS,
    own_base_path="/v1beta",
)
