"""Writes a request as the body of `streamGenerateContent`; :mod:`partstream.conversation.turns` has prepared it.

:class:`GeminiRequestWriter` writes the system texts, the tools, the contents and `generationConfig`. What differs
between models is a row in :mod:`partstream.protocols.gemini.models`.

- Tools (docs/wires/gemini.md#tools-and-schemas), and whether one must be called.
- Contents (docs/wires/gemini.md#contents): one content of the user with all results follows each content with calls; no
  content is empty; the first and the last content are the user's. :class:`ContentsWriter` has the order, which the
  steps of Google Interactions share (:mod:`partstream.protocols.gemini_interactions.write_request`).
- Signatures (docs/wires/gemini.md#signatures): a signature goes back on exactly the part that had it. A text that was
  signed is a part of its own, and no text takes over the signature of another one.
- Options (docs/wires/gemini.md#thinking-config) have many names in other protocols and SDKs. Nearly all of them belong
  into `generationConfig`; a field that Google does not know fails the whole request.
"""

from __future__ import annotations
from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from itertools import takewhile
from typing import Any, Final
from urllib.parse import unquote

from partstream.codec.checks import replace
from partstream.codec.json_codec import is_json
from partstream.conversation import turns as conversation
from partstream.conversation.preparation import ChatRequest, ConversationRules, RequestSettings, ToolImages
from partstream.conversation.tool_forms import CODE, FETCH, WEB_SEARCH, HostedForm
from partstream.errors import RequestNotExpressibleError
from partstream.lm.messages import Tool, ToolMode
from partstream.protocols.gemini import models, provider_state
from partstream.protocols.gemini.errors import ERRORS, JSON_SCHEMA, SUBSET, without_refused
from partstream.protocols.options import NO_FIELD, AnswerFormat, Option, OptionRules, camel_case, declared, tiers
from partstream.protocols.protocol import NO_FIELDS, CountEndpoint, KeyKind, RequestWriter
from partstream.protocols.read_response import checksum
from partstream.protocols.schemas import GOOGLE_JSON, GOOGLE_SUBSET
from partstream.protocols.serve import WireRequest, path_for_model

# ---- Tools ----


def _tool_fields(request: ChatRequest, settings: models.GeminiSettings, model: models.KnownModel) -> models.JSONObject:
    schema = SUBSET if settings.tool_schemas is models.ToolSchemas.OPENAPI else JSON_SCHEMA
    functions = [declared_with(tool, schema) for tool in request.tools or request.idle_tools]
    hosted = [*request.hosted_tools, *({name: {}} for name in models.server_tools_of(settings, model, functions))]
    own = [tool for place, tool in enumerate(hosted) if tool not in hosted[:place]]
    tools = [*([{"functionDeclarations": functions}] if functions else []), *own]
    if not tools:
        return {}
    config: models.JSONObject = {}
    if request.idle_tools:
        config["functionCallingConfig"] = {"mode": "NONE"}
    elif functions and request.tool_mode is ToolMode.REQUIRED:
        only = {"allowedFunctionNames": [request.tools[0].name]} if len(request.tools) == 1 else {}
        config["functionCallingConfig"] = {"mode": "ANY", **only}
    elif functions and settings.validates_calls:
        config["functionCallingConfig"] = {"mode": "VALIDATED"}
    if functions and own:
        config["includeServerSideToolInvocations"] = True
    return {"tools": tools} | ({"toolConfig": config} if config else {})


def declared_with(tool: Tool, schema: str) -> models.JSONObject:
    """A tool with its schema in a field; one without parameters has none: older models refuse an empty object."""
    said, given = declared(tool, schema), tool.input_schema or {}
    if not given.get("properties") and not given.keys() - {"type", "properties", "required"}:
        del said[schema]
    return said


# ---- Contents ----


def _file_part(piece: conversation.Attachment) -> models.JSONObject:
    """The part for an image or another file: its bytes, or its address, which the server fetches."""
    models.check_file(piece)
    beside = {name: piece.about[name] for name in _OF_FILES if name in piece.about}
    if piece.url:
        return {"fileData": {"mimeType": piece.media_type, "fileUri": piece.url}, **beside}
    return {"inlineData": {"mimeType": piece.media_type, "data": b64encode(piece.data).decode()}, **beside}


_OF_FILES: Final = ("videoMetadata", "mediaResolution")
"""What a part may say about its file."""

FILLER: Final = "."
"""The user's text where a conversation does not begin or end with the user."""
_RESPONSE: Final = "functionResponse"


class ContentsWriter:
    """The contents of one request so far.

    Args:
        files_inside: Whether results hold their files; else the files follow all results in one content.
    """

    def __init__(self, *, files_inside: bool) -> None:
        self.written: list[models.JSONObject] = []
        self._files_inside = files_inside
        self.names_calls = False  # whether calls of one tool in one answer go with the ids of the conversation
        self._given_ids: dict[str, str] = {}  # the ids under which the server knows calls, by those of the conversation

    def write(self, turn: conversation.MergedTurn) -> None:
        """Adds what a speaker says, and the results of the calls in it."""
        if turn.role is conversation.TurnRole.SYSTEM:
            self._user([self._text(turn.text)] if turn.text else [])
        elif turn.role is conversation.TurnRole.USER:
            self._user(
                [
                    self._text(piece.value) if isinstance(piece, conversation.Text) else self._file(piece)
                    for piece in turn.content
                    if isinstance(piece, conversation.Text | conversation.Attachment)
                ]
            )
        else:
            self._model(turn)
            self._results(turn)

    def whole(self) -> list[models.JSONObject]:
        """All contents, between the user's first and last one."""
        filler = {"role": "user", "parts": [{"text": FILLER}]}
        before = [] if self.written and self.written[0]["role"] == "user" else [filler]
        after = [filler] if self.written and self.written[-1]["role"] == "model" else []
        return [*before, *self.written, *after]

    def _results(self, turn: conversation.MergedTurn) -> None:
        """Adds the results of the calls that were just written, in the order of the calls; lost calls' as texts."""
        calls = (piece for piece in turn.content if isinstance(piece, conversation.Call) and not piece.is_added)
        order = {call.call_id: place for place, call in enumerate(calls)}
        answers = sorted((one for one in turn.results if one.call_id in order), key=lambda one: order[one.call_id])
        if answers:
            outside = [file for one in answers for file in _files_of(one) if not self._goes_inside(file)]
            self._answer(answers, [self._file(file) for file in outside])
        for lost in (one for one in turn.results if one.call_id not in order):
            self._lost(lost)

    def _lost(self, result: conversation.Result) -> None:
        """Adds a result without its call, which servers refuse, as a text of the user."""
        tool = "a tool" if result.name == conversation.UNKNOWN_TOOL else f"the tool {result.name}"
        text = f"[The result of an earlier call of {tool}]\n{text_of_result(result)}"
        self._user([self._text(text), *map(self._file, _files_of(result))])

    def _goes_inside(self, file: conversation.Attachment) -> bool:
        return self._files_inside and models.fits_into_response(file)

    def _inside(self, result: conversation.Result) -> list[models.JSONObject]:
        return [self._file(one) for one in _files_of(result) if self._goes_inside(one)]

    # What the wire says

    def _text(self, value: str) -> models.JSONObject:
        return {"text": value}

    _file = staticmethod(_file_part)

    def _user(self, parts: list[models.JSONObject]) -> None:
        """Adds parts of the user; after results they are a content of their own."""
        last = self.written[-1] if self.written else None
        if not parts:
            return
        if last is None or last["role"] != "user" or any(_RESPONSE in part for part in last["parts"]):
            self.written.append({"role": "user", "parts": parts})
        else:
            last["parts"] += parts

    def _model(self, turn: conversation.MergedTurn) -> None:
        """Adds what the model said; the texts of two turns are never one part."""
        said = _ModelParts()
        for one in turn.turns:
            said.add(one, self._given_ids, names_calls=self.names_calls)
        if self.written and self.written[-1]["role"] == "model":
            self.written[-1]["parts"] += said.parts
        elif said.parts:
            self.written.append({"role": "model", "parts": said.parts})

    def _answer(self, results: Sequence[conversation.Result], files: list[models.JSONObject]) -> None:
        self.written.append({"role": "user", "parts": [*map(self._response, results), *files]})

    def _response(self, result: conversation.Result) -> models.JSONObject:
        text = text_of_result(result)  # never read as JSON: Gemini 3 resolves `$ref` in it, and fails
        failed = result.is_error or result.is_added
        said = {"error": text or conversation.FAILED_SILENTLY} if failed else {"output": text}
        given = {"id": self._given_ids[result.call_id]} if result.call_id in self._given_ids else {}
        inside = self._inside(result)
        held = {"parts": inside} if inside else {}
        return {_RESPONSE: {**given, "name": result.name, "response": said, **held}}


class _ModelParts:
    """The parts of one content of the model so far."""

    def __init__(self) -> None:
        self.parts: list[models.JSONObject] = []
        self._may_join = False

    def add(self, turn: conversation.Turn, given_ids: dict[str, str], *, names_calls: bool) -> None:
        """Adds a turn, and notes the ids of its calls that the server knows."""
        called_names = [piece.name for piece in turn.content if isinstance(piece, conversation.Call)]
        is_named = names_calls and len({*called_names}) < len(called_names)
        self._may_join = False
        state = provider_state.states_of_calls(turn.content, provider_state.read_item)
        items = [provider_state.read_item(one.item) for one in turn.content if isinstance(one, conversation.Reasoning)]
        signed_files = {one.number: one.signature for one in items if isinstance(one, provider_state.SignedFile)}
        files = 0
        for piece in turn.content:
            if isinstance(piece, conversation.Text):
                self._text(piece.value)
            elif isinstance(piece, conversation.Reasoning):
                self._item(provider_state.read_item(piece.item))
            elif isinstance(piece, conversation.Attachment):
                self._append(_file_part(piece), signed_files.get(files))
                files += 1
            elif isinstance(piece, conversation.Call) and not piece.is_added:
                own = state.get(piece.call_id)
                called: models.JSONObject = {"name": piece.name, "args": checked_input(piece)}
                if own is not None and own.is_given:
                    called["id"] = given_ids[piece.call_id] = own.call_id
                elif is_named:
                    called["id"] = given_ids[piece.call_id] = piece.call_id
                self._append({"functionCall": called}, None if own is None else own.signature)

    def _append(self, part: models.JSONObject, signature: str | None = None) -> None:
        self.parts.append(part if signature is None else part | {provider_state.SIGNATURE: signature})
        self._may_join = False

    def _text(self, value: str) -> None:
        if self._may_join:
            self.parts[-1] = {"text": self.parts[-1]["text"] + value}
        else:
            self.parts.append({"text": value})
        self._may_join = True

    def _item(self, said: provider_state.CarriedItem | None) -> None:
        if isinstance(said, provider_state.SignedText):
            self._append({"text": self._taken_back(said.length, said.checksum)}, said.signature)
        elif isinstance(said, provider_state.CarriedPart):
            self._taken_back(said.length, said.checksum)
            self._append(dict(said.part))

    def _taken_back(self, length: int, wanted: int | None) -> str:
        """The text right before, if it is still the one that is meant; it is no part any more then. Else none."""
        last = self.parts[-1].get("text", "") if self._may_join else ""
        end = last[len(last) - length :] if 0 < length <= len(last) else ""
        if not end or (wanted is not None and checksum(end) != wanted):
            return ""
        rest = last[: len(last) - length]
        self.parts[-1:] = [{"text": rest}] if rest else []
        return end


def checked_input(call: conversation.Call) -> dict[str, Any]:
    """The arguments of a call, as JSON has a form for them."""
    if not is_json(dict(call.input)):
        raise RequestNotExpressibleError("arguments", f"{call.where}.input", "JSON values")
    return dict(call.input)


def text_of_result(result: conversation.Result) -> str:
    """The texts of a result."""
    return conversation.joined_texts(piece.value for piece in result.content if isinstance(piece, conversation.Text))


def _files_of(result: conversation.Result) -> list[conversation.Attachment]:
    return [piece for piece in result.content if isinstance(piece, conversation.Attachment)]


def write_conversation(
    request: ChatRequest,
    settings: models.GoogleSettings,
    model: models.KnownModel,
    make: Callable[..., ContentsWriter] = ContentsWriter,
) -> tuple[list[str], ContentsWriter]:
    """The texts of the system before everything else, which have a place of their own, and the rest of a conversation,
    which `make` makes the writer of. A system message later in it has no such place, and becomes a text of the user.

    Raises:
        RequestNotExpressibleError: The user gives a file that the models do not take, or too large ones; or a call
            holds what JSON has no form for.
    """
    leading = [*takewhile(lambda turn: turn.role is conversation.TurnRole.SYSTEM, request.turns)]
    system = [
        *filter(None, [request.instructions]),
        *("".join(one.value for one in turn.content if isinstance(one, conversation.Text)) for turn in leading),
    ]
    images = request.settings.tool_images
    turns = models.within_limit(request.turns[len(leading) :], settings.most_file_megabytes * _MEGABYTE)
    shown = conversation.shown_by_user(
        turns, of_results=images is ToolImages.USER_MESSAGE, of_assistant=not model.makes_images
    )
    is_inside = images is ToolImages.NATIVE or (images is ToolImages.AUTO and model.signs_calls)
    writer = make(files_inside=is_inside)
    writer.names_calls = model.signs_calls
    for turn in conversation.merged_turns(shown):
        writer.write(turn)
    return system, writer


_MEGABYTE: Final = 1_000_000

# ---- Options ----

_GENERATION: Final = "generationConfig"
_THINKING: Final = "thinkingConfig"
_EITHER: Final = frozenset({"thinkingLevel", "thinkingBudget"})


def _format_option(asked: AnswerFormat) -> models.JSONObject:
    schema = asked.described
    return {"responseMimeType": "application/json", **({} if schema is None else {"responseJsonSchema": schema})}


_FORMATS: Final = models.spellings("responseMimeType", "responseJsonSchema", "responseSchema")
_TOP: Final = models.spellings("safetySettings", "cachedContent", "labels")
_AT_TOP: Final = frozenset({*_TOP.values(), "serviceTier"})
"""Options beside `contents`; all others are in `generationConfig`."""

HOSTED_TOOLS: Final = {
    WEB_SEARCH: HostedForm({"googleSearch": {}}, is_offered=True),
    CODE: HostedForm({"codeExecution": {}}, is_offered=True),
    FETCH: HostedForm({"urlContext": {}}, is_offered=True),
}

OPTIONS: Final = OptionRules(
    "gemini",
    {
        Option.LIMIT: "maxOutputTokens",
        Option.EFFORT: NO_FIELD,
        Option.THINKING_TOKENS: NO_FIELD,
        **camel_case(Option.TEMPERATURE, Option.TOP_P, Option.TOP_K, Option.STOP, Option.SEED, Option.SERVICE_TIER),
        **camel_case(Option.PRESENCE_PENALTY, Option.FREQUENCY_PENALTY, Option.LOGPROBS),
        Option.TOP_LOGPROBS: "logprobs",
    },
    frozenset(
        {"model", "messages", "contents", "systemInstruction", "stream", "stream_options", "tools", "tool_choice"}
        | {"toolConfig", "store", "prompt", "input", "instructions", "previous_response_id"}
    ),
    _format_option,
    formats=frozenset(_FORMATS),
    objects=frozenset({_THINKING}),
    renamed={
        **_FORMATS,
        **_TOP,
        **models.spellings("responseModalities", "mediaResolution", _THINKING, "imageConfig", "speechConfig"),
    },
    tiers=tiers("standard", "flex", "priority"),
    takes_others=False,  # one field that it does not know fails the whole request
)


def _merged(config: Mapping[str, Any], chosen: Mapping[str, Any]) -> models.JSONObject:
    """The fields of both, chosen ones first; never a level and a budget (docs/wires/gemini.md#thinking-config)."""
    result = {name: value for name, value in {**config, **chosen}.items() if value is not None}
    ours, theirs = config.get(_THINKING), chosen.get(_THINKING)
    if isinstance(ours, Mapping) and isinstance(theirs, Mapping):
        kept = {name: value for name, value in ours.items() if not (name in _EITHER and _EITHER & theirs.keys())}
        result[_THINKING] = kept | {name: value for name, value in theirs.items() if value is not None}
    return result


def with_extra_fields(body: models.JSONObject, extras: Mapping[str, Any]) -> models.JSONObject:
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


# ---- The request ----

_MODELS: Final = "/models/"
_CACHE: Final = "cachedContent"
_CACHED: Final = frozenset({"systemInstruction", "tools", "toolConfig"})
_COUNTED: Final = frozenset({"contents", "systemInstruction", "tools", "toolConfig", _GENERATION})
_OAUTH: Final = "ya29."
"""How the tokens of Google's own sign-in begin, which Vertex takes in place of a key."""


def _question(request: WireRequest) -> WireRequest:
    """The same request within `generateContentRequest`: so the tokens of tools and system count too."""
    path = request.path.rpartition(":")[0]
    counted = {name: value for name, value in request.body.items() if name in _COUNTED}
    model = f"models/{unquote(path.removeprefix(_MODELS))}"
    body = {"generateContentRequest": {"model": model, **counted}}
    return replace(request, path=f"{path}:countTokens", body=body, query="")


class GeminiRequestWriter(RequestWriter):
    """Writes requests to Gemini."""

    path = "/models/{model}:streamGenerateContent"
    errors = ERRORS
    notes = staticmethod(OPTIONS.notes)
    leave_out = staticmethod(without_refused)
    count: CountEndpoint | None = CountEndpoint(_question, "totalTokens")
    empty_request: Mapping[str, Any] | None = NO_FIELDS
    own_base_path = "/v1beta"

    def write(self, request: ChatRequest) -> WireRequest:
        """Writes a request as one that is answered with events."""
        path = path_for_model(self.path, request.model_id.removeprefix("models/"))
        return WireRequest(path, self._body(request), query="alt=sse")

    def _body(self, request: ChatRequest) -> models.JSONObject:
        settings = request.settings
        own, model = settings.own_settings(models.GeminiSettings), models.known_model(request.model_id)
        system, contents = write_conversation(request, own, model)
        options = OPTIONS.of(request)
        effort, most = options.effort or request.reasoning_effort, settings.max_output_tokens
        shows = own.include_thoughts and request.asks_to_think is not False
        thinking = models.thinking_config(
            model.thinking, settings.capabilities, effort, options.elsewhere.get(Option.THINKING_TOKENS), shows=shows
        )
        # Options of the request win over the configuration of the model.
        config: models.JSONObject = {
            **({"responseModalities": ["TEXT", "IMAGE"]} if model.makes_images else {}),
            **({"maxOutputTokens": most} if most is not None else {}),
            **({_THINKING: thinking} if thinking else {}),
        }
        chosen = {name: value for name, value in options.fields.items() if name not in _AT_TOP}
        generation = _merged(config, chosen)
        whole = contents.whole()
        body: models.JSONObject = {
            **({"systemInstruction": {"parts": [{"text": text} for text in system]}} if system else {}),
            **_tool_fields(request, own, model),
            "contents": provider_state.with_dummies(whole) if model.signs_calls else whole,
            **({_GENERATION: generation} if generation else {}),
            **{name: value for name, value in options.fields.items() if name in _AT_TOP},
        }
        body = with_extra_fields(body, settings.extra_body)
        # Servers refuse the repetition of what the cache holds (docs/wires/gemini.md#caching).
        return {name: value for name, value in body.items() if name not in _CACHED} if body.get(_CACHE) else body

    def conversation_rules(self, settings: RequestSettings, model_id: str) -> ConversationRules:
        """The names and schemas that the servers take. Ids need no rule: only those that a server gave go back."""
        is_subset = settings.own_settings(models.GeminiSettings).tool_schemas is models.ToolSchemas.OPENAPI
        form = GOOGLE_SUBSET if is_subset else GOOGLE_JSON
        return ConversationRules(
            tool_names=conversation.NameForm(letter_first=True),
            tool_schema=form.of,
            hosted_tools=HOSTED_TOOLS,
            file_words=dict.fromkeys(_OF_FILES, "image file"),
            mixes_tools=models.known_model(model_id).signs_calls,
        )

    def authorize(self, key: str, kind: KeyKind) -> Mapping[str, str]:
        """The header that carries a key, or a bearer token (docs/wires/gemini.md#framing)."""
        if kind is KeyKind.OIDC or key.startswith(_OAUTH):
            return {"authorization": f"Bearer {key}"}
        return {"x-goog-api-key": key}


WRITE_REQUEST: Final = GeminiRequestWriter()
