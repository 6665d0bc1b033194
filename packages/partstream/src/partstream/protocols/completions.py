"""Endpoints that complete text: what is between a prefix and a suffix. They carry no conversation.

Servers have five of them, which differ in the names of fields (docs/wires/completions.md):

- `POST /completions` with `suffix`, OpenAI's older endpoint, as vendors of code models have it;
- the same with a prompt that holds the model's own tokens for the two sides, where a server takes a raw prompt:
  :data:`TEMPLATES` has them by the family of the model;
- llama.cpp's `POST /infill`, which puts the tokens of the model into the prompt itself;
- Ollama's `POST /api/generate`, with `suffix` or, for a family of :data:`TEMPLATES`, a raw prompt;
- Mistral's `POST /fim/completions`.

Each is a :class:`~partstream.protocols.protocol.Protocol` that only writes requests and reads responses. One reader
reads all of them: the text of a chunk is in `choices[].text`, in a `delta` or `message` as in a chat, in `response` or
in `content`, and no server sends two of these. A completion may be empty: nothing belongs at the cursor.
"""

from __future__ import annotations
import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from partstream.codec.checks import as_count, replace
from partstream.errors import LanguageModelError, RequestNotExpressibleError
from partstream.lm.completions import CompletionRequest
from partstream.lm.outputs import Finish, Outcome, StreamOptions, StreamOutput
from partstream.lm.parts import FinishReason, UnifiedFinishReason, Usage, text_part
from partstream.protocols import read_response as base
from partstream.protocols.errors import COMMON_ERRORS, Errors
from partstream.protocols.ollama.models import OPTIONS as OLLAMA_OPTIONS
from partstream.protocols.ollama.models import OllamaSettings, body_options
from partstream.protocols.ollama.write_request import OllamaRequests
from partstream.protocols.options import (
    Option,
    OptionalField,
    OptionRules,
    leave_out,
    refused_fields,
    snake_case,
    with_extra_fields,
)
from partstream.protocols.protocol import ENDED_BY_DONE, JSON_LINES, LENIENT_SSE, Protocol, RequestWriter, loaded
from partstream.protocols.read_response import JSONObject, identifier, mapping, objects, text
from partstream.protocols.serve import WireEvent, WireRequest

if TYPE_CHECKING:
    from partstream.conversation.preparation import ChatRequest
    from partstream.conversation.turns import Note

# ---- The tokens of model families ----


class Template(NamedTuple):
    """How a family of models is asked in a raw prompt.

    Attributes:
        models: A regular expression for the ids of its models, in lower case.
        prompt: The prompt, with `{prefix}` and `{suffix}`.
        stops: The tokens at which a completion ends, where a server writes them out.
        file: What comes before the text of another file, with `{path}`; empty for a family without a token for it.
        source: Where the tokens are from.
    """

    models: str
    prompt: str
    stops: tuple[str, ...]
    file: str
    source: str

    def write(self, asked: CompletionRequest) -> str:
        """The prompt of a request."""
        files = "".join(f"{self.file.format(path=one.path)}{one.text}\n" for one in asked.snippets if self.file)
        own = self.file.format(path=asked.path or "untitled") if files else ""
        before, between, after = re.split(r"\{prefix\}|\{suffix\}", self.prompt)
        sides = asked.prefix, asked.suffix
        first, second = sides if self.prompt.index("{prefix}") < self.prompt.index("{suffix}") else sides[::-1]
        return f"{files}{own}{before}{first}{between}{second}{after}"


_STARCODER: Final = "<fim_prefix>{prefix}<fim_suffix>{suffix}<fim_middle>"
_STARCODER_STOPS: Final = ("<fim_prefix>", "<fim_suffix>", "<fim_middle>", "<fim_pad>", "<|endoftext|>", "<file_sep>")
_BARRED: Final = "<|fim_prefix|>{prefix}<|fim_suffix|>{suffix}<|fim_middle|>"
_BARRED_STOPS: Final = ("<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>", "<|fim_pad|>", "<|endoftext|>")

TEMPLATES: Final = (
    Template(
        r"qwen[\d.]*-?coder",
        _BARRED,
        (*_BARRED_STOPS, "<|repo_name|>", "<|file_sep|>", "<|im_start|>", "<|im_end|>"),
        "<|file_sep|>{path}\n",
        "github.com/QwenLM/Qwen2.5-Coder, README, fill in the middle and repository level",
    ),
    Template(
        r"starcoder|stable-?code|granite.*code",
        _STARCODER,
        _STARCODER_STOPS,
        "",
        "huggingface.co/bigcode/starcoder, README; ollama.com/library/granite-code, params",
    ),
    Template(
        r"code-?llama",
        "<PRE> {prefix} <SUF>{suffix} <MID>",
        ("<PRE>", "<SUF>", "<MID>", "<EOT>"),
        "",
        "github.com/meta-llama/codellama, llama/generation.py; the spaces count",
    ),
    Template(
        r"deepseek-(?:coder|v[234])",
        "<\uff5cfim\u2581begin\uff5c>{prefix}<\uff5cfim\u2581hole\uff5c>{suffix}<\uff5cfim\u2581end\uff5c>",
        (
            "<\uff5cfim\u2581begin\uff5c>",
            "<\uff5cfim\u2581hole\uff5c>",
            "<\uff5cfim\u2581end\uff5c>",
            "<\uff5cend\u2581of\u2581sentence\uff5c>",
        ),
        "",
        "github.com/deepseek-ai/DeepSeek-Coder, README; vllm#44228 for V4",
    ),
    Template(
        r"(?<!mamba-)codestral",
        "[SUFFIX]{suffix}[PREFIX]{prefix}",
        ("[PREFIX]", "[SUFFIX]", "</s>"),
        "",
        "github.com/mistralai/mistral-common, fim tokenizer; the suffix comes first",
    ),
    Template(
        r"codegemma",
        _BARRED,
        ("<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>", "<|file_separator|>", "<end_of_turn>", "<eos>"),
        "",
        "ai.google.dev/gemma/docs/codegemma/prompt-structure",
    ),
)
"""The families whose models fill in the middle; the first that fits a model's id counts."""


def template_for(model_id: str) -> Template | None:
    """The template of a model; None for a family that is not known to have one."""
    return next((one for one in TEMPLATES if re.search(one.models, model_id.lower())), None)


# ---- Requests ----

_SAMPLING: Final = (
    Option.TEMPERATURE, Option.TOP_P, Option.STOP, Option.SEED, Option.PRESENCE_PENALTY, Option.FREQUENCY_PENALTY,
)  # fmt: skip
_FIXED: Final = frozenset({"model", "messages", "prompt", "suffix", "stream", "stream_options", "tools", "echo", "n"})
_REFUSABLE: Final = OptionalField.rows(
    "stream_options frequency_penalty presence_penalty logit_bias temperature top_p seed user"
)


def _rules(limit: str, *further: Option, **renamed: str) -> OptionRules:
    places = {**snake_case(*_SAMPLING, *further), Option.LIMIT: limit}
    places |= {Option[name]: place for name, place in renamed.items()}
    return OptionRules("chat-completions", places, _FIXED, lambda _format: None, takes_others=False)


_LINE_COMMENTS: Final = {
    "#": "python ruby perl r shellscript dockerfile makefile yaml toml elixir julia powershell coffeescript",
    "--": "lua sql haskell",
    "%": "latex tex erlang",
    ";": "clojure lisp ini",
    '"': "viml",
}
_COMMENT_OF: Final = {language: mark for mark, languages in _LINE_COMMENTS.items() for language in languages.split()}


def _in_comments(asked: CompletionRequest) -> Iterator[str]:
    """The snippets as comments of the language, for an endpoint that has no place for other files."""
    mark = _COMMENT_OF.get(asked.language, "//")
    for one in asked.snippets:
        yield f"{mark} {one.path}\n"
        yield from (f"{mark} {line}\n" for line in one.text.splitlines())


class _TextRequests(RequestWriter):
    """Requests to one of the endpoints; `options` are the options that it takes."""

    path = "/completions"
    lists_models = False
    errors: Errors = Errors(refused_fields=refused_fields(_REFUSABLE))
    leave_out = staticmethod(leave_out(_REFUSABLE))
    options = _rules("max_tokens", Option.LOGIT_BIAS, Option.USER)
    beside: Mapping[str, Any] = {"stream_options": {"include_usage": True}}

    def write(self, request: ChatRequest) -> WireRequest:
        """Writes a request for a streamed completion down.

        Raises:
            RequestNotExpressibleError: The request is about a conversation, or the model's tokens are not known.
        """
        asked = _completion_in(request)
        chosen = self.options.of(request).fields
        limit, place = request.settings.max_output_tokens, self.options.places[Option.LIMIT]
        fields = self.sides(asked, request.model_id)
        stops = [*fields.pop("stop", ()), *_stops(asked, chosen.pop("stop", ()))]
        body: dict[str, Any] = {"model": request.model_id, **fields, "stream": True, **self.beside}
        body |= ({place: limit} if limit is not None else {}) | chosen
        body |= {"stop": stops} if stops else {}
        return WireRequest(self.path, with_extra_fields(body, request.settings.extra_body))

    def notes(self, request: ChatRequest) -> tuple[Note, ...]:
        """The note about options without a place."""
        return self.options.notes(request)

    def sides(self, asked: CompletionRequest, _model_id: str) -> dict[str, Any]:
        """The fields for the two sides of the cursor; those of `stop` come before the caller's own."""
        prompt = "".join((*_in_comments(asked), asked.prefix))
        return {"prompt": prompt, **({"suffix": asked.suffix} if asked.suffix else {})}


class _PrefixRequests(_TextRequests):
    def sides(self, asked: CompletionRequest, model_id: str) -> dict[str, Any]:
        return super().sides(replace(asked, suffix=""), model_id)


class _TemplateRequests(_TextRequests):
    def sides(self, asked: CompletionRequest, model_id: str) -> dict[str, Any]:
        template = _template_of(model_id)
        return {"prompt": template.write(asked), "stop": template.stops}


class _InfillRequests(_TextRequests):
    path = "/infill"
    options = _rules("n_predict")
    beside: Mapping[str, Any] = {"cache_prompt": True}

    def sides(self, asked: CompletionRequest, _model_id: str) -> dict[str, Any]:
        extra = [{"filename": one.path, "text": one.text} for one in asked.snippets]
        return {"input_prefix": asked.prefix, "input_suffix": asked.suffix, "input_extra": extra}


class _MistralRequests(_TextRequests):
    path = "/fim/completions"
    options = _rules("max_tokens", SEED="random_seed")
    beside: Mapping[str, Any] = {}


class _OllamaText(OllamaRequests):
    """Requests to `/api/generate`: with the window that a chat sets, because another one loads the model anew."""

    path = "/generate"
    lists_models = False
    is_raw = False

    def write(self, request: ChatRequest) -> WireRequest:
        """Writes a request for a streamed completion down; see :meth:`_TextRequests.write`."""
        asked, settings = _completion_in(request), request.settings
        own = settings.own_settings(OllamaSettings)
        _, options = body_options(OLLAMA_OPTIONS.of(request))
        options.setdefault("num_ctx", request.context_size or own.num_ctx)
        options.setdefault("num_predict", settings.max_output_tokens)
        sides: dict[str, Any]
        if self.is_raw:
            template = _template_of(request.model_id)
            sides = {"prompt": template.write(asked), "raw": True}
            options["stop"] = [*template.stops, *_stops(asked, options.get("stop", ()))]
        else:
            options["stop"] = _stops(asked, options.get("stop", ()))
            sides = {"prompt": "".join((*_in_comments(asked), asked.prefix)), "suffix": asked.suffix}
        options = {name: value for name, value in options.items() if value}
        body = {"model": request.model_id, **sides, "stream": True, "options": options}
        return WireRequest(self.path, with_extra_fields(body, settings.extra_body))


class _OllamaTemplate(_OllamaText):
    is_raw = True


def _completion_in(request: ChatRequest) -> CompletionRequest:
    if request.completion is None:
        raise RequestNotExpressibleError("a conversation", "messages", "a completion")
    return request.completion


def _template_of(model_id: str) -> Template:
    template = template_for(model_id)
    if template is None:
        raise RequestNotExpressibleError(f"the model {model_id!r}", "model", "a model of a family with known tokens")
    return template


def _stops(asked: CompletionRequest, given: Any) -> list[str]:
    own = [given] if isinstance(given, str) else [*given]
    return ["\n", *own] if asked.is_one_line and "\n" not in own else own


# ---- Responses ----

_WORDS: Final[Mapping[str, UnifiedFinishReason]] = {
    **dict.fromkeys(("stop", "eos", "word", "load", "unload"), UnifiedFinishReason.STOP),
    **dict.fromkeys(("length", "limit", "model_length"), UnifiedFinishReason.LENGTH),
    "content_filter": UnifiedFinishReason.CONTENT_FILTER,
}
_COUNTS: Final = (("prompt_tokens", "prompt_eval_count", "tokens_evaluated"),
                  ("completion_tokens", "eval_count", "tokens_predicted"))  # fmt: skip


class CompletionReader(base.ChunkReader):
    """One completion of any of the endpoints; see :class:`partstream.lm.outputs.ResponseStream`.

    Attributes:
        ending: Whether a chunk gave a finish reason: only the usage may follow.
    """

    nameless = "a chunk without text"
    has_documents = True

    @classmethod
    def claim(cls, _kind: str | None, event: WireEvent) -> base.MatchConfidence:  # noqa: D102
        return base.MatchConfidence.SURE if _is_chunk(event) else base.MatchConfidence.NO

    def __init__(self, options: StreamOptions = StreamOptions()) -> None:  # noqa: B008 - immutable
        super().__init__(options)
        self.ending = False
        self._reason: str | None = None
        self._response_id: str | None = None
        self._model: str | None = None
        self._usage: JSONObject = {}

    @property
    def usage(self) -> Usage | None:
        """The reported tokens, or None."""
        given, made = (
            next((count for name in names if (count := as_count(self._usage.get(name))) is not None), None)
            for names in _COUNTS
        )
        if given is None and made is None:
            return None
        cached = as_count(mapping(self._usage, "prompt_tokens_details").get("cached_tokens"))
        total = base.total_of(as_count(self._usage.get("total_tokens")), given, made)
        return Usage(given, made, total, cached, raw=dict(self._usage))

    def _kind(self, chunk: JSONObject) -> base.LifecycleEvent | None:
        return base.LifecycleEvent.CONTENT if _is_chunk(chunk) else None

    def _error_in(self, chunk: JSONObject) -> LanguageModelError | None:
        return COMMON_ERRORS.failure_in(chunk) if chunk.get("error") else None

    def _read_chunk(self, chunk: JSONObject, outputs: list[StreamOutput]) -> None:
        choice = next(iter(objects(chunk, "choices")), {})
        said = (
            text(choice, "text")
            or text(mapping(choice, "delta"), "content")
            or text(mapping(choice, "message"), "content")
            or text(chunk, "response")
            or text(chunk, "content")
        )
        if said:
            outputs.append(text_part(said))
        self._model = self._model or identifier(chunk, "model")
        self._response_id = self._response_id or identifier(chunk, "id")
        # Ollama and llama.cpp have the counts beside the text; llama.cpp sends them with each chunk.
        self._usage |= mapping(chunk, "usage") or {
            name: chunk[name] for names in _COUNTS for name in names if name in chunk
        }
        reason = identifier(choice, "finish_reason") or identifier(chunk, "done_reason")
        if chunk.get("stop") is True:
            reason = identifier(chunk, "stop_type") or ("limit" if chunk.get("stopped_limit") else "eos")
        elif chunk.get("done") is True:
            reason = reason or "stop"
        self._reason = reason or self._reason
        self.ending = self._reason is not None

    @property
    def _word(self) -> str | None:
        return self._reason

    def _is_whole(self, *, told: bool) -> bool:
        return self._state is base.LifecycleState.OPEN and (told or self._reason is not None)

    def _complete(self, outputs: list[StreamOutput]) -> None:
        unified = _WORDS.get((self._reason or "stop").lower(), UnifiedFinishReason.OTHER)
        is_cut = unified in {UnifiedFinishReason.LENGTH, UnifiedFinishReason.CONTENT_FILTER}
        outcome = Outcome.INCOMPLETE if is_cut else Outcome.COMPLETED
        self._emit_finish(outcome, FinishReason(unified, self._reason), outputs)

    def _make_finish(self, outcome: Outcome, reason: FinishReason | None, error: LanguageModelError | None) -> Finish:
        return Finish(outcome, reason, self.usage, self._response_id, self._model, error)


def _is_chunk(event: Mapping[str, Any]) -> bool:
    return any(name in event for name in ("choices", "response", "content", "usage"))


# ---- The protocols ----


def _protocol(name: str, title: str, writer: RequestWriter, *, is_ollama: bool = False) -> Protocol:
    return Protocol(
        name=name,
        read_response=lambda: CompletionReader,
        write_request=lambda: writer,
        own_settings=loaded("partstream.protocols.ollama.models", "OWN_SETTINGS") if is_ollama else None,
        framings=(JSON_LINES,) if is_ollama else (LENIENT_SSE, JSON_LINES),
        tag=None,
        ends=ENDED_BY_DONE,
        title=title,
    )


SUFFIX: Final = _protocol("completions-suffix", "`/completions` with a suffix", _TextRequests())
PREFIX: Final = _protocol("completions-prefix", "`/completions` with what is before the cursor", _PrefixRequests())
TEMPLATE: Final = _protocol("completions-template", "`/completions` with the model's own tokens", _TemplateRequests())
INFILL: Final = _protocol("completions-infill", "llama.cpp's `/infill`", _InfillRequests())
MISTRAL: Final = _protocol("completions-mistral", "Mistral's `/fim/completions`", _MistralRequests())
OLLAMA: Final = _protocol("completions-ollama", "Ollama's `/api/generate`", _OllamaText(), is_ollama=True)
OLLAMA_TEMPLATE: Final = _protocol(
    "completions-ollama-template",
    "Ollama's `/api/generate` with the model's own tokens",
    _OllamaTemplate(),
    is_ollama=True,
)
