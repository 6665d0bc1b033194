"""What the request writers of all wires share: further fields, options of other wires, optional fields.

A caller in Python names options in the words of the server. A client of a served wire names them in the words of its
own wire, and servers of another wire refuse a request for a field that they do not know. :class:`Option` is the table
of what several wires know, under all its names; a wire has :class:`OptionRules` with its fields, and
:func:`chosen_options` brings one into the other. What has no place is named in a note (:meth:`OptionRules.notes`).

Servers of one wire refuse different fields of it, with HTTP 400 or 422 and a sentence that names the field. A protocol
has a table of its optional fields, rows of :class:`OptionalField`; :func:`refused_fields` reads the sentence and
:func:`leave_out` changes the body. The name of a refusal is that of the field, or `field=value` where the server
refuses only that value.
"""

from __future__ import annotations
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from enum import Enum
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

from partstream.codec.checks import dataclass, replace
from partstream.codec.json_codec import dumps
from partstream.codec.limits import dumps_in_pieces
from partstream.conversation.turns import Attachment, Call, Note, Piece, Reasoning, attachments, short_digest
from partstream.errors import RequestNotExpressibleError, UpstreamError, UpstreamFailureError, UpstreamHTTPError
from partstream.lm.messages import ToolMode
from partstream.protocols.schemas import of_google, sound

if TYPE_CHECKING:
    from partstream.conversation.preparation import ChatRequest
    from partstream.lm.messages import Tool
    from partstream.protocols.serve import WireRequest


def with_extra_fields(body: Mapping[str, Any], extras: Mapping[str, Any]) -> dict[str, Any]:
    """The body with the fields of `extras`, which win; the value None removes a field."""
    return {name: value for name, value in {**body, **extras}.items() if extras.get(name, name) is not None}


def call_arguments(call: Call) -> bytes:
    """The arguments of a call as a JSON object.

    Raises:
        RequestNotExpressibleError: They hold something that JSON has no form for.
    """
    try:
        return dumps_in_pieces(dict(call.input))
    except TypeError as error:
        raise RequestNotExpressibleError(f"arguments ({error})", f"{call.where}.input", "JSON values") from error


def text_of_arguments(call: Call) -> str:
    """The arguments of a call for a wire where they are text: :func:`call_arguments`, or as they came if no object."""
    return call_arguments(call).decode() if call.text is None else call.text


_State = TypeVar("_State")


def states_of_calls(
    pieces: Sequence[Piece], read: Callable[[Mapping[str, Any]], tuple[str, _State] | None]
) -> dict[str, _State]:
    """What each call of an answer takes back, by the id of the conversation.

    An item knows the id under which the call came out. If that had to be changed on the way, the item means the call
    whose id was made of it, else the next call after the item, which is its place in the answer.

    Args:
        read: Reads an item: the id of a call and what belongs to it; None for an item of no call.
    """
    ids = [piece.call_id for piece in pieces if isinstance(piece, Call) and not piece.is_added]
    found: dict[str, _State] = {}
    for index, piece in enumerate(pieces):
        if not isinstance(piece, Reasoning) or (of_call := read(piece.item)) is None:
            continue
        call_id, state = of_call
        made_of_it = (one for one in ids if one.startswith(f"{call_id}_"))
        following = (later.call_id for later in pieces[index:] if isinstance(later, Call))
        meant = call_id if call_id in ids else next(made_of_it, None) or next(following, None)
        if meant is not None:
            found.setdefault(meant, state)
    return found


def declared(tool: Tool, schema: str) -> dict[str, Any]:
    """A tool by its name, its description if it has one, and its schema, in the field of that name."""
    described = {"description": tool.description} if tool.description else {}
    strict = {"strict": True} if getattr(tool, "is_strict", False) else {}
    return {"name": tool.name, **described, schema: tool.input_schema, **strict}


def function_of(tool: Tool) -> dict[str, Any]:
    """A tool as Chat Completions and Ollama have it."""
    return {"type": "function", "function": declared(tool, "parameters")}


# ---- Options of a request ----


class AnswerFormat(NamedTuple):
    """The JSON that an answer has to be.

    Attributes:
        name: What the client calls it.
        schema: Its JSON Schema; None for any object.
        is_strict: Whether the server has to keep to it; None where the client does not say.
        description: What the client says about it, or None.
    """

    name: str
    schema: Mapping[str, Any] | None
    is_strict: bool | None
    description: str | None = None

    @property
    def fields(self) -> dict[str, Any]:
        """What the client says, by OpenAI's words for it."""
        said = {"name": self.name, "schema": self.schema, "strict": self.is_strict, "description": self.description}
        return {name: value for name, value in said.items() if value is not None}

    @property
    def described(self) -> dict[str, Any] | None:
        """The schema with the description in it, for a wire that has no other place for that; None without a schema."""
        about = {} if self.description is None else {"description": self.description}
        return None if self.schema is None else {**about, **self.schema}


class Option(Enum):
    """What a caller may choose on several wires; the value has the names that wires and SDKs have for it."""

    LIMIT = ("max_tokens", "maxTokens", "max_completion_tokens", "max_output_tokens", "maxOutputTokens", "num_predict")
    EFFORT = ("reasoning_effort", "reasoningEffort")
    THINKING_TOKENS = ("thinking_budget", "thinkingBudget", "budget_tokens")
    TEMPERATURE = ("temperature",)
    TOP_P = ("top_p", "topP")
    TOP_K = ("top_k", "topK")
    MIN_P = ("min_p", "minP")
    STOP = ("stop", "stop_sequences", "stopSequences")
    SEED = ("seed",)
    PRESENCE_PENALTY = ("presence_penalty", "presencePenalty")
    FREQUENCY_PENALTY = ("frequency_penalty", "frequencyPenalty")
    PARALLEL_CALLS = ("parallel_tool_calls", "parallelToolCalls")
    LOGIT_BIAS = ("logit_bias", "logitBias")
    LOGPROBS = ("logprobs", "responseLogprobs")
    TOP_LOGPROBS = ("top_logprobs", "topLogprobs")
    USER = ("user", "user_id")
    SAFETY_IDENTIFIER = ("safety_identifier", "safetyIdentifier")
    SERVICE_TIER = ("service_tier", "serviceTier")
    VERBOSITY = ("verbosity", "textVerbosity")
    METADATA = ("metadata",)
    CACHE_RETENTION = ("prompt_cache_retention", "promptCacheRetention")

    __hash__ = object.__hash__  # each is one object: that of the library hashes its name, in Python


def snake_case(*options: Option) -> dict[Option, str]:
    """Options with the fields that most servers have for them."""
    return {option: option.value[0] for option in options}


def camel_case(*options: Option) -> dict[Option, str]:
    """Options with the fields that the AI SDK and Google have for them."""
    return {option: option.value[-1] for option in options}


_OPTION_OF: Final = {word: option for option in Option for word in option.value}
_FORMATS: Final = (
    *("response_format", "responseFormat", "format", "output_format", "responseMimeType", "response_mime_type"),
    *("responseJsonSchema", "response_json_schema", "responseSchema", "response_schema"),
)
"""The options for the form of the answer that are no part of an object."""
NO_EFFORT: Final = "none"
"""The effort that switches thinking off."""
BUDGETS: Final = {NO_EFFORT: 0, "minimal": 1024, "low": 4096, "medium": 10_000, "high": 16_000, "xhigh": 24_000,
                  "max": 32_000}  # fmt: skip


def effort_of(budget: int) -> str:
    """The effort in words for a number of tokens, for servers without a number; empty for one that leaves it open."""
    return next((word for word, most in BUDGETS.items() if budget <= most), "max") if budget >= 0 else ""


_PARTS: Final[Mapping[str, Mapping[str, str]]] = {
    "reasoning": {"effort": "reasoning_effort", "summary": ""},
    "text": {"format": "", "verbosity": "verbosity"},
    "output_config": {"format": "", "effort": "reasoning_effort"},
    "thinkingConfig": {"thinkingBudget": "thinking_budget"},
}
"""The objects in which some wires have options, and the names of the options in them; empty for one that is read
elsewhere, or asks for nothing elsewhere."""


class OptionRules(NamedTuple):
    """What a wire takes of options.

    Attributes:
        wire: The name of the wire.
        places: The fields for the options; a dot leads into an object. :data:`NO_FIELD` is for one that is no field of
            the body as it is.
        fixed: The fields that no option of a caller replaces: the request and the settings of its owner set them, or
            they say how an answer is read.
        write_format: The options that say the form of the answer; None where the wire cannot say it.
        formats: Its own options for the form of the answer: where one is given, it is sent as it is.
        objects: The objects of :data:`_PARTS` that it has itself.
        only_own: The options that many of its servers refuse: no caller in the words of another wire has them sent.
        renamed: Its further options in the words of SDKs.
        takes_others: Whether options that the table does not know are sent; otherwise they are lost.
        ignores_others: Whether its servers ignore fields that they do not know, so that an option of the table without
            a place is lost, and not refused.
        lists_stops: Whether it takes stop sequences only as a list.
        names_speakers: Whether a message can name who speaks.
        demands_calls: Whether a request can demand that a tool is called.
        tiers: See :func:`tiers`.
    """

    wire: str
    places: Mapping[Option, str]
    fixed: frozenset[str]
    write_format: Callable[[AnswerFormat], Mapping[str, Any] | None]
    formats: frozenset[str] = frozenset()
    objects: frozenset[str] = frozenset()
    only_own: frozenset[Option] = frozenset()
    renamed: Mapping[str, str] = MappingProxyType({})
    takes_others: bool = True
    ignores_others: bool = False
    lists_stops: bool = True
    names_speakers: bool = False
    demands_calls: bool = True
    tiers: Mapping[str, str] = MappingProxyType({})

    def of(self, request: ChatRequest, takes: frozenset[Option] = frozenset()) -> ChosenOptions:
        """The options of a request in the words of this wire; the server is known to take those of `only_own` that are
        in `takes`."""
        is_foreign = request.asked_in not in {"", self.wire}
        chosen = chosen_options(request.options, self, is_foreign=is_foreign, takes=takes)
        if (window := request.settings.context_size_field) and request.context_size is not None:
            chosen.fields.setdefault(window, request.context_size)
        return chosen

    def notes(
        self,
        request: ChatRequest,
        chosen: ChosenOptions | None = None,
        files: Callable[[Attachment], bool] = lambda _file: True,
        *,
        thinks: bool = True,
    ) -> tuple[Note, ...]:
        """The note for the owner of a request about what has no place on this wire, if anything. `chosen` are its
        options; `files` says which files the server takes, words replace others, `thinks` whether the model thinks."""
        chosen = chosen or self.of(request)
        lost = sorted(chosen.lost)
        if request.asked_in not in {"", self.wire}:  # what a client says outside of its options
            names = bool(request.instructions_name) or any(turn.name for turn in request.turns)
            lost += ["messages[].name"] if names and not self.names_speakers else []
            lost += ["tool_choice"] if request.tool_mode is ToolMode.REQUIRED and not self.demands_calls else []
            effort = chosen.effort or request.reasoning_effort
            wants = request.asks_to_think if effort is None else effort != NO_EFFORT
            lost += ["thinking"] if wants and not thinks else []
            lost += ["options.num_ctx"] if request.context_size and not request.settings.context_size_field else []
            in_words = {one.media_type for one in attachments(request.turns) if not files(one)}
            lost += [f"content[] ({kind} in words)" for kind in sorted(in_words)]
        said = f"options without a place in this protocol: {', '.join(lost)}"
        return (Note(said[:500], "modelOptions", tuple(lost)),) if lost else ()


NO_FIELD: Final = ""
"""The place of an option that a writer says in another way than in one field."""


class ChosenOptions(NamedTuple):
    """The options of a request in the words of a wire.

    Attributes:
        fields: Fields of the body.
        elsewhere: The options that are said in another way than in one field; those of `_TYPES` have these.
        lost: The given names of the options that the wire has no place for.
    """

    fields: dict[str, Any]
    elsewhere: Mapping[Option, Any]
    lost: tuple[str, ...] = ()

    @property
    def effort(self) -> str | None:
        """The reasoning effort."""
        return self.elsewhere.get(Option.EFFORT) or None


_TYPES: Final = {Option.EFFORT: str, Option.THINKING_TOKENS: int, Option.PARALLEL_CALLS: bool}


def chosen_options(
    options: Mapping[str, Any], rules: OptionRules, *, is_foreign: bool = False, takes: frozenset[Option] = frozenset()
) -> ChosenOptions:
    """The options of a caller in the words of a wire.

    A program names options in the words of its server, so that what the table does not know is sent as it is. Of those
    of a client of another wire (`is_foreign`), only what means the same here is sent.
    """
    own_format = not is_foreign and any(_says_format(options, name) for name in rules.formats)
    asked = None if own_format or _SAY_FORMAT.isdisjoint(options) else _format_in(options)
    fields: dict[str, Any] = {}
    elsewhere: dict[Option, Any] = {}
    lost: list[str] = []
    for name, option, value in _asked(options, rules, is_foreign=is_foreign):
        if option is not None and option in rules.places and not (is_foreign and option in rules.only_own - takes):
            if not (place := rules.places[option]):
                is_fit = type(value) is _TYPES.get(option, type(value))
                elsewhere |= {option: value} if is_fit else {}
                lost += [] if is_fit or value is None else [name]
            elif option is Option.STOP and rules.lists_stops and isinstance(value, str):
                _put(fields, place, [value])
            else:
                _put(fields, place, value)
        elif name in rules.fixed or (name in _FORMATS and (asked is not None or (is_foreign and _is_text(value)))):
            continue  # the format is written below
        elif is_foreign or not _is_taken(name, rules):
            lost.append(name)
        else:
            fields[rules.renamed.get(name, name)] = value
    if asked is not None:
        said = rules.write_format(asked)
        if said is None:
            lost.append(next(name for name in (*_FORMATS, *_PARTS) if name in options))
        for name, value in (said or {}).items():
            fields[name] = {**value, **fields[name]} if isinstance(fields.get(name), Mapping) else value
    return ChosenOptions(fields, elsewhere, tuple(lost))


def _asked(
    options: Mapping[str, Any], rules: OptionRules, *, is_foreign: bool
) -> Iterator[tuple[str, Option | None, Any]]:
    """The given name of each option, the row of the table, and its value. Of a client of another wire, nothing that
    asks for nothing, and values in the words of this wire; one without such a word has no row."""
    for name, value in _flat(options, rules).items():
        option = _OPTION_OF.get(name)
        if type(value) is int and name == (rules.places.get(Option.TOP_LOGPROBS) if not is_foreign else "logprobs"):
            option = Option.TOP_LOGPROBS  # Google's name for their number is that of others for whether there are any
        if not is_foreign:
            yield name, option, value
        elif option is Option.SERVICE_TIER:
            if value != _ANY_TIER:
                said = rules.tiers.get(value) if isinstance(value, str) else None
                yield name, None if said is None else option, said
        elif option in {Option.USER, Option.SAFETY_IDENTIFIER} and isinstance(value, str):
            yield name, option, value if len(value) <= _LONGEST_USER else short_digest(value, 16)
        # A client with a number of tokens for thinking has an effort in words too.
        elif option not in {Option.LOGPROBS, Option.TOP_LOGPROBS, Option.THINKING_TOKENS} or (
            value and value != -1 and (option is not Option.THINKING_TOKENS or option in rules.places)
        ):
            yield name, option, value


_ANY_TIER: Final = "auto"
_LONGEST_USER: Final = 64
"""Characters of the name of a user that OpenAI takes."""


def tiers(standard: str, *further: str) -> dict[str, str]:
    """The service tiers of a wire by the words of all wires: its own for the usual one, and those that it shares."""
    return {**dict.fromkeys(("default", "standard", "standard_only"), standard), **{word: word for word in further}}


def _is_taken(name: str, rules: OptionRules) -> bool:
    """Whether an option in the words of the wire is sent that has no place in the table."""
    return name in rules.renamed or (rules.takes_others and not (rules.ignores_others and name in _OPTION_OF))


def _is_text(value: Any) -> bool:
    """Whether a format is that of plain text, which every answer has unasked."""
    return value in (None, "", "text/plain") or (isinstance(value, Mapping) and value.get("type") == "text")


def _flat(options: Mapping[str, Any], rules: OptionRules) -> dict[str, Any]:
    """The options without the objects of other wires, whose parts are options of their own."""
    flat: dict[str, Any] = {}
    for name, value in options.items():
        parts = _PARTS.get(name, {}) if isinstance(value, Mapping) else None
        is_whole = parts is None or name in rules.objects or not value.keys() <= parts.keys()
        if is_whole:
            flat[name] = value
        if parts and not (is_whole and rules.takes_others):
            for part, word in parts.items():
                if word and value.get(part) is not None:
                    flat.setdefault(word, value[part])
    return flat


def _put(fields: dict[str, Any], place: str, value: Any) -> None:
    """Sets a field, which may be inside an object; one that is there already stays."""
    name, _, inner = place.partition(".")
    if not inner:
        fields[name] = value
    else:
        before = fields.get(name)
        fields[name] = {inner: value, **before} if isinstance(before, Mapping) else {inner: value}


_JSON: Final = "application/json"
UNNAMED: Final = "answer"
"""The name of a format that the client gives none."""
_JSON_FORMATS: Final = ("json_schema", "json_object", "json")
_SAY_FORMAT: Final = frozenset({*_FORMATS, "text", "output_config"})


def _says_format(options: Mapping[str, Any], name: str) -> bool:
    value = options.get(name)
    return isinstance(value, Mapping) and "format" in value if name in _PARTS else name in options


def _format_in(options: Mapping[str, Any]) -> AnswerFormat | None:
    """The format of the response, in the words of any wire."""
    text, output, plain = options.get("text"), options.get("output_config"), options.get("format")
    for place in (
        options.get("response_format"),
        text.get("format") if isinstance(text, Mapping) else None,
        output.get("format") if isinstance(output, Mapping) else None,
        options.get("output_format"),
        options.get("responseFormat"),
        plain,
    ):
        if not isinstance(place, Mapping) or (
            place.get("type") not in _JSON_FORMATS and place.get("mime_type") != _JSON  # Google Interactions
        ):
            continue
        inner = place.get("json_schema")
        said = inner if isinstance(inner, Mapping) else place
        name, schema, strict, words = (said.get(field) for field in ("name", "schema", "strict", "description"))
        return AnswerFormat(
            name if isinstance(name, str) and name else UNNAMED,
            schema if isinstance(schema, Mapping) else None,
            strict if isinstance(strict, bool) else None,
            words if isinstance(words, str) and words else None,
        )
    if plain == "json":
        return AnswerFormat(UNNAMED, None, None)
    if isinstance(plain, Mapping) and plain and plain.get("type") != "text":
        return AnswerFormat(UNNAMED, plain, None)
    if _JSON in (options.get("responseMimeType"), options.get("response_mime_type")):
        names = ("responseJsonSchema", "response_json_schema", "responseSchema", "response_schema")
        name = next((name for name in names if isinstance(options.get(name), Mapping)), None)
        said = {} if name is None else options[name]
        schema = said if name in names[:2] else of_google(said)
        return AnswerFormat(UNNAMED, None if name is None else sound(schema), None)
    return None


# ---- Optional fields ----

NOTHING: Final = object()
"""The value of a field that is not there."""


@dataclass(frozen=True, slots=True)
class OptionalField:
    """A field that a request is valid without.

    Attributes:
        path: Its place in the body: `stream_options`, `messages[].reasoning_content`. Dots join names; `[]` is every
            item of an array.
        twin: The field that other servers have for it, which takes over its value; None where there is none.
        instead: The value that takes the place of a refused one; NOTHING takes the field out.
        is_word: Whether its name is a word of English sentences too, so that it counts only in quotation marks or
            after a word such as `parameter`.
        sentence: A regular expression for a refusal that means this row and no other; empty for any refusal that
            names the field.
        only_beside: A field without which the row does nothing; with it the value of `instead` is set even where the
            field is not in the body. None for a row that changes only what is there.
    """

    path: str
    twin: str | None = None
    instead: Any = NOTHING
    is_word: bool = False
    sentence: str = ""
    only_beside: str | None = None

    @classmethod
    def rows(cls, paths: str, *, is_word: bool = False) -> tuple[OptionalField, ...]:
        """A row for each of several paths, which have blanks between them."""
        return tuple(cls(path, is_word=is_word) for path in paths.split())

    @property
    def name(self) -> str:
        """What the row is called in memory and in the log."""
        return self.path if self.only_beside is None else f"{self.path} beside {self.only_beside}"

    @property
    def words(self) -> tuple[str, ...]:
        """The field's own name as servers write it: with underscores, or in camel case (xAI)."""
        word = self.path.rpartition(".")[2]
        first, *others = word.split("_")
        return tuple(dict.fromkeys((word, first + "".join(other.capitalize() for other in others))))


class Correction(NamedTuple):
    """Another form of something that a request needs: what takes the place of a refused form.

    Attributes:
        name: What is refused, in memory and in the log.
        sentence: A regular expression for the refusal.
        change: Gives the body with the other form; the same body where there is nothing to correct.
    """

    name: str
    sentence: str
    change: Callable[[Mapping[str, Any]], Mapping[str, Any]]

    def helps(self, error: UpstreamError, body: Mapping[str, Any]) -> bool:
        """Whether an error refuses what the body holds in the first form."""
        is_meant = error.http_status in _CORRECTED_STATUSES and re.search(self.sentence, _said(error), re.IGNORECASE)
        return bool(is_meant) and self.change(body) != body


def refused_fields(
    rows: Sequence[OptionalField], corrections: Sequence[Correction] = ()
) -> Callable[[UpstreamError, Mapping[str, Any]], frozenset[str]]:
    """Makes the function for :attr:`partstream.protocols.errors.Errors.refused_fields` from a protocol's tables."""

    def find(error: UpstreamError, body: Mapping[str, Any]) -> frozenset[str]:
        if corrected := frozenset(one.name for one in corrections if one.helps(error, body)):
            return corrected
        if error.http_status is None:
            blames_request = _REQUEST_IS_WRONG.search(f"{error.provider_code} {error.provider_type}") is not None
        else:
            blames_request = error.http_status in _STATUSES
        if not blames_request:
            return frozenset()
        said = _said(error)
        meant = [row for row in rows if row.sentence and re.search(row.sentence, said, re.IGNORECASE)]
        if meant:
            return frozenset(_name(row, body, said) for row in meant if _applies(row, body))
        present = [row for row in rows if not row.sentence and _is_there(body, row.path)]
        named = [row for row in present if _is_blamed(row, error.param)]
        if not named and re.search(_REFUSES, said, re.IGNORECASE):
            subject = _ALTERNATIVES.split(said, maxsplit=1)[0]
            named = [row for row in present if _names(subject, row)]
        # Of `stream_options`, only the field that is named in it.
        specific = [row for row in named if not any(other.path.startswith(f"{row.path}.") for other in named)]
        return frozenset(
            _name(row, body, said)
            for row in specific
            if not any(re.search(rf"\b{re.escape(word)}\b{_DEMANDED}", said, re.IGNORECASE) for word in row.words)
        )

    return find


def leave_out(
    rows: Sequence[OptionalField], corrections: Sequence[Correction] = ()
) -> Callable[[WireRequest, Collection[str]], WireRequest]:
    """Makes :attr:`partstream.protocols.protocol.RequestWriter.leave_out` from a protocol's tables."""

    def change(request: WireRequest, names: Collection[str]) -> WireRequest:
        body: Mapping[str, Any] = request.body
        for one in corrections:
            body = one.change(body) if one.name in names else body
        for row in rows:
            body = _without(body, row, names)
        return request if body is request.body else replace(request, body=body)

    return change


_STATUSES: Final = frozenset({400, 404, 422})
"""404: OpenRouter, of a model none of whose providers takes a value."""
_CORRECTED_STATUSES: Final = frozenset({None, 400, 404, 422, 500})
"""None: an error in the stream. 500: Ollama, and engines that make a grammar of each schema."""
_REQUEST_IS_WRONG: Final = re.compile(r"invalid_?request|bad_?request", re.IGNORECASE)
_MOST_READ: Final = 4000

# Compiled by the first refusal, as `re` keeps what it compiles.
_REFUSES: Final = (
    r"un(?:supported|known|recogni[sz]ed|expected|available)"
    r"|(?:not|n't) (?:\w+ )?(?:support|permit|allow|accept|valid|implement|available|recogni[sz]ed|compatible)"
    r"|extra[_ ](?:inputs?|fields?|param|forbidden)|invalid|incompatible|forbidden|additional properties"
    r"|no longer|deprecated|cannot (?:\w+ )?be (?:used|set|specified|combined)|(?:must|should|may only|can only) be"
    r"|wrong_api_format|too (?:large|high|small|low|long)|no endpoints found|at most|maximum (?:allowed|value|number)"
)
"""The words of refusals: a sentence that only mentions a field is none."""

_ALTERNATIVES: Final = re.compile(
    r",? (?:expected|(?:supported|allowed|valid|available) (?:parameters|fields|properties)|use ['\"`])", re.IGNORECASE
)
"""What follows is what the server takes: "unknown field `stream_options`, expected one of `messages`, `seed`"."""

_DEMANDED: Final = (
    r"[^.]{0,80}?(?:must be (?:passed|provided|included|present|sent back)|(?:is|are) (?:missing|required)\b)"
)
"""What follows the name of a field that a server wants: "The `reasoning_content` in the thinking mode must be
passed back to the API." (DeepSeek). To leave it out would be no help."""

_WRONG_VALUE: Final = (
    r"unsupported value|invalid value|invalid reasoning value|does not support [^a-z]"
    r"|(?:should|must|may only|can only) be (?:one of|less|greater|between|in |at |set to|<|>|[\[\"'`\d])"
    r"|input should be|expected one of|too (?:large|high|small|low|long|big)|out of range|at most"
    r"|only the default|only \w*=?[\d.]+ is|maximum (?:allowed|value|number)|this value|provided '?\w+'? value"
    r"|(?:supported|allowed|valid) values|not one of|exceeds|\brange of\b"
)
"""The server takes the field, with another value."""

_UNKNOWN_FIELD: Final = (
    r"unknown (?:field|name|parameter|property|argument)|unrecognized|extra[_ ](?:inputs?|fields?|param|forbidden)"
)
"""The server knows no such field, whatever else the sentence says."""


def _said(error: UpstreamError) -> str:
    if isinstance(error, UpstreamHTTPError):
        return " ".join((error.provider_message or error.body, *error.attempts))[:_MOST_READ]
    return error.provider_message[:_MOST_READ] if isinstance(error, UpstreamFailureError) else ""


def _is_blamed(row: OptionalField, param: str | None) -> bool:
    """Whether the error's `param` is the field, or a place within it."""
    if param is None:
        return False
    place = re.sub(r"\[\w*\]|\.\d+(?=\.|$)", "", param).removeprefix("body.")
    path = row.path.replace("[]", "")
    return place == path or place.startswith(f"{path}.")


_NOUNS: Final = "parameter|argument|field|property|key|input|model"
_VERBS: Final = "supports?|accepts?|allows?|permits?|invalid|unsupported"


def _names(said: str, row: OptionalField) -> bool:
    for word in map(re.escape, row.words):
        quoted = rf"""['"`.\[]{word}['"`.\],:]"""
        announced = rf"(?:{_NOUNS})s?(?: \w+)?:? ?{word}(?![\w-])|(?:{_VERBS}) {word}(?![\w-])"
        pattern = f"{quoted}|{announced}" if row.is_word else rf"(?<![\w-]){word}(?![\w-])"
        if re.search(pattern, said, re.IGNORECASE if row.is_word else 0):
            return True
    return False


def _name(row: OptionalField, body: Mapping[str, Any], said: str) -> str:
    value = _value(body, row.path)
    is_plain = isinstance(value, str | int | float | dict)
    is_of_value = re.search(_WRONG_VALUE, said, re.IGNORECASE) and not re.search(_UNKNOWN_FIELD, said, re.IGNORECASE)
    if row.only_beside is None and is_plain and (row.instead is not NOTHING or is_of_value):
        return _with_value(row, value)
    return row.name


def _applies(row: OptionalField, body: Mapping[str, Any]) -> bool:
    if row.only_beside is not None:
        return bool(body.get(row.only_beside)) and body.get(row.path) != row.instead
    return _is_there(body, row.path)


def _without(body: Mapping[str, Any], row: OptionalField, names: Collection[str]) -> Mapping[str, Any]:
    """The body as a server takes it that refuses what is named."""
    if row.only_beside is not None:
        return {**body, row.path: row.instead} if row.name in names and _applies(row, body) else body
    value = _value(body, row.path)
    if value is not NOTHING and _with_value(row, value) in names:
        if row.instead is NOTHING or _with_value(row, row.instead) in names or value == row.instead:
            return _dropped(body, row.path)
        return _replaced(body, row.path, row.instead)
    if row.name not in names or not _is_there(body, row.path):
        return body
    rest = _dropped(body, row.path)
    if row.twin is None or row.twin in names or value is NOTHING:
        return rest
    taken_over = {**rest, row.twin: rest.get(row.twin, value)}
    return rest if f"{row.twin}={_text(value)}" in names else taken_over


def _with_value(row: OptionalField, value: Any) -> str:
    return f"{row.path}={_text(value)}"


def _text(value: Any) -> str:
    try:
        return dumps(value).decode()[:200]
    except (TypeError, ValueError):  # what JSON has no form for; writing the body says so
        return ""


def _value(body: Mapping[str, Any], path: str) -> Any:
    """The value of a field outside of arrays; NOTHING where it is missing."""
    value: Any = body
    for name in path.split("."):
        if name.endswith("[]") or not isinstance(value, dict) or name not in value:
            return NOTHING
        value = value[name]
    return value


def _is_there(value: Any, path: str) -> bool:
    name, _, rest = path.partition(".")
    inner = value.get(name.removesuffix("[]"), NOTHING) if isinstance(value, dict) else NOTHING
    if inner is NOTHING:
        return False
    if name.endswith("[]"):
        return isinstance(inner, list) and any(_is_there(item, rest) for item in inner)
    return _is_there(inner, rest) if rest else True


def _replaced(body: Mapping[str, Any], path: str, value: Any) -> dict[str, Any]:
    """The body with another value in a field outside of arrays."""
    name, _, rest = path.partition(".")
    return {**body, name: _replaced(body[name], rest, value) if rest else value}


def _dropped(body: Mapping[str, Any], path: str) -> dict[str, Any]:
    """The body without the field; an object that is empty then goes too. What is not on the way stays as it is."""
    return dict(_stripped(dict(body), path))


def _stripped(value: Any, path: str) -> Any:
    name, _, rest = path.partition(".")
    key = name.removesuffix("[]")
    if not isinstance(value, dict) or key not in value:
        return value
    inner = value[key]
    if name.endswith("[]"):
        return {**value, key: [_stripped(item, rest) for item in inner]} if isinstance(inner, list) else value
    left = _stripped(inner, rest) if rest else {}
    if rest and left:
        return {**value, key: left}
    return {one: other for one, other in value.items() if one != key}
