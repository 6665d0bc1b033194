"""Completions in the editor: when one is asked for, with what, and what of the answer is shown.

VS Code asks at each key, and cancels its question with the next one. A :class:`Completer` answers in this order:

1. Nothing, for a file that may hold secrets, a language that is off, and a file that a glob leaves out.
2. From its memory: typing through a completion shows the rest of it, and going back shows it whole again.
3. Nothing for half a minute after the model has failed, unless the person asks by hand.
4. After the delay, from the model. The question before is cancelled, and has ended, when the next one is sent: no two
   run at a time, and a cancellation reaches the provider in the same turn of the event loop.

By rule, a completion has one line unless the cursor is on an empty line or after what opens a block. The answer is
stopped once it has more than is shown; of several lines, those that are whole half a second after the first text are
shown, because VS Code shows no ghost text before its end. What the text after the cursor has already is taken from its
end.
"""

from __future__ import annotations
import asyncio
import re
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from fnmatch import fnmatch
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, TypeAlias

from partstream.lm.cancellation import CancellationTokenSource
from partstream.lm.completions import COMPLETES_TEXT, COMPLETION, BareText, CompletionRequest, CompletionSnippet
from partstream.lm.messages import RequestOptions
from partstream.lm.outputs import ASKS_TO_THINK
from partstream.lm.parts import TextPart

if TYPE_CHECKING:
    from partstream.lm.cancellation import CancellationToken
    from partstream.lm.parts import ResponsePart
    from partstream.lm.provider import DrainingProgress, LanguageModelChatInformation
    from partstream.vscode import rpc_types as wire

# ---- What is never sent ----

_SECRET_NAMES: Final = (
    ".env", ".env.*", "*.env", ".envrc", "*.pem", "*.key", "*.p12", "*.pfx", "*.jks", "*.keystore", "*.kdbx", "*.ppk",
    "id_rsa*", "id_dsa*", "id_ecdsa*", "id_ed25519*", "known_hosts", ".netrc", "_netrc", ".pgpass", ".npmrc", ".pypirc",
    ".htpasswd", "credentials", "credentials.*", "secrets", "secrets.*", "*.secret", "*.secrets", "*.tfvars",
    "serve-token", "*.token", "service-account*.json", "client_secret*.json", "kubeconfig", "*.kubeconfig",
    ".git-credentials", ".vault-token", ".my.cnf", ".s3cfg", ".boto", ".dockercfg", "*.tfstate", "*.tfstate.*",
)  # fmt: skip
_SECRET_FOLDERS: Final = frozenset({".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker", ".password-store"})


def is_secret(path: str) -> bool:
    """Whether the name of a file, or of a folder above it, says that it holds keys or passwords."""
    parts = _parts(path)
    return any(fnmatch(parts[-1], one) for one in _SECRET_NAMES) or not _SECRET_FOLDERS.isdisjoint(parts)


def is_left_out(path: str, globs: Iterable[str]) -> bool:
    """Whether one of the globs fits a path: `**` for any folders; one without a slash fits the name alone."""
    parts = _parts(path)
    whole = "/".join(parts)
    return any(_fits(one.lower(), whole if "/" in one else parts[-1]) for one in globs if one.strip())


def is_language_on(language: str, languages: Mapping[str, Any]) -> bool:
    """The setting's value for a language; for one that it does not name, its value for `*`."""
    return languages.get(language, languages.get("*", True)) is not False


def _parts(path: str) -> list[str]:
    return [one for one in path.lower().replace("\\", "/").split("/") if one] or [""]


def _fits(glob: str, path: str) -> bool:
    """Whether a glob fits a whole path, in as many steps as both are long: the settings of a folder may hold any."""
    ends = [True, *(False for _ in path)]  # where in the path the pieces so far can end
    for piece in re.split(r"(\*\*/|\*\*|\*|\?)", glob.replace("\\", "/").lstrip("/")):
        before, ends, is_open = ends, [False] * len(ends), False
        for at, was in enumerate(before):
            if piece == "?":
                ends[at] = at > 0 and before[at - 1] and path[at - 1] != "/"
            elif not piece.startswith("*"):
                ends[at] = at >= len(piece) and before[at - len(piece)] and path.startswith(piece, at - len(piece))
            else:
                is_open = was or (is_open and (piece != "*" or path[at - 1] != "/"))
                ends[at] = was or (is_open and (piece != "**/" or path[at - 1] == "/"))
    return ends[-1]


# ---- The request ----

_OPENS: Final = re.compile(r"(?:[:{(\[]|=>|->|\bdo|\bthen|\bbegin)\s*$")
_WORD: Final = re.compile(r"[A-Za-z_]\w{2,}")
_WINDOW: Final = 30  # lines of a snippet
_MOST_SNIPPETS: Final = 4
_NEAR: Final = 3_000
"""Characters before the cursor whose names say what has to do with it."""


def has_many_lines(prefix: str, suffix: str) -> bool:
    """Whether a completion at the cursor may have several lines: on an empty line, and after what opens a block."""
    before, after = prefix.rpartition("\n")[2], suffix.partition("\n")[0]
    return not after.strip() and (not before.strip() or _OPENS.search(before) is not None)


def related(prefix: str, others: Sequence[wire.OpenText]) -> list[CompletionSnippet]:
    """The pieces of other files that share the most names with the text before the cursor, the best one first."""
    near = set(_WORD.findall(prefix[-_NEAR:]))
    found: list[tuple[float, int, CompletionSnippet]] = []
    for number, other in enumerate(others):
        if is_secret(other["path"]):
            continue
        lines = other["text"].splitlines()
        best = 0.0, ""
        for start in range(0, max(len(lines), 1), _WINDOW // 2):
            text = "\n".join(lines[start : start + _WINDOW])
            names = set(_WORD.findall(text))
            best = max(best, (len(near & names) / (len(near | names) or 1), text))
        if best[0] > 0:
            found.append((-best[0], number, CompletionSnippet(other["path"], best[1])))
    return [snippet for _, _, snippet in sorted(found, key=lambda one: one[:2])[:_MOST_SNIPPETS]]


def _request_of(params: wire.CompleteParams) -> CompletionRequest:
    prefix, suffix = params["prefix"], params["suffix"]
    others = [one for one in params["others"] if not is_left_out(one["path"], params["exclude"])]
    is_one_line = not has_many_lines(prefix, suffix)
    snippets = related(prefix, others)
    return CompletionRequest(prefix, suffix, params["language"], params["path"], snippets, is_one_line).within()


def _is_late(token: CancellationToken) -> bool:
    return token.is_cancellation_requested


# ---- The answer ----


def shown_text(text: str, request: CompletionRequest) -> str:
    """What of a completion is shown: one line where one is wanted, and nothing that follows the cursor already."""
    if request.is_one_line:
        text, after = text.partition("\n")[0], request.suffix.partition("\n")[0]
        for size in range(min(len(after), len(text)), 0, -1):
            if text.endswith(after[:size]) and after[:size].strip():
                text = text[:-size]
                break
        return text if text.strip() else ""
    following = next((line for line in request.suffix.splitlines() if line.strip()), None)
    lines = text.splitlines()
    end = next((number for number, line in enumerate(lines) if number and line == following), len(lines))
    return "\n".join(lines[:end]).rstrip()


class _Collected:
    """Takes an answer until what is shown of it is whole; then it stops the rest with `stop`."""

    def __init__(
        self, request: CompletionRequest, stop: Callable[[], None], clock: Callable[[], float], *, is_bare: bool
    ) -> None:
        self._request = request
        self._bare = None if is_bare else BareText(request)
        self._stop = stop
        self._clock = clock
        self._ends_at: float | None = None
        self._text = ""
        self.is_whole = False

    def report(self, part: ResponsePart) -> None:
        if self.is_whole or not isinstance(part, TextPart):
            return
        self._text += part.value if self._bare is None else self._bare.add(part.value)
        if self._ends_at is None:
            self._ends_at = self._clock() + _PATIENCE
        ends = "\n" if self._request.is_one_line else "\n\n\n"
        is_late = self._clock() > self._ends_at and "\n" in self._text.lstrip()
        if is_late or ends in self._text or len(self._text) > _LONGEST:
            self._text = self._text.rpartition("\n")[0] if is_late else self._text
            self.is_whole = True
            self._stop()

    async def drain(self) -> None:
        """Never waits."""

    @property
    def text(self) -> str:
        """What is shown."""
        rest = "" if self._bare is None or self.is_whole else self._bare.end()
        return shown_text(self._text + rest, self._request)


# ---- The completer ----

FindModel: TypeAlias = "Callable[[wire.CompleteParams, CancellationToken], Awaitable[LanguageModelChatInformation]]"
AskModel: TypeAlias = (
    "Callable[[wire.CompleteParams, CompletionRequest, RequestOptions, DrainingProgress, CancellationToken], "
    "Awaitable[None]]"
)

_PATIENCE: Final = 0.5  # seconds after the first text in which several lines may come
_LONGEST: Final = 4_000  # characters of a completion
_TOKENS: Final = {True: 64, False: 256}
"""The most tokens that are asked for, by whether one line is wanted."""
_TEMPERATURE: Final = 0.2
_MOST_KEPT: Final = 100
_TAIL: Final = 500
"""Characters before and after the cursor by which a place is known again."""
_PAUSE: Final = 30.0
"""Seconds after a failure in which nothing is asked unasked."""


class _Kept(NamedTuple):
    model: str
    path: str
    before: str
    after: str
    text: str

    def rest_at(self, prefix: str) -> str | None:
        """What is left of the completion after a prefix; None at another place."""
        for typed in range(len(self.text) + 1):
            here = self.before + self.text[:typed]
            # With less than the tail before it, the place was at the beginning of the text.
            if prefix == here or (len(self.before) == _TAIL and prefix.endswith(here)):
                return self.text[typed:]
        return None


class Completer:
    """The completions of one window.

    Args:
        find: Gives the information about the model that a question names.
        ask: Asks this model, and reports the text to a progress, until a token is cancelled.
    """

    def __init__(self, find: FindModel, ask: AskModel, clock: Callable[[], float] = time.monotonic) -> None:
        self._find = find
        self._ask = ask
        self._clock = clock
        self._kept: OrderedDict[_Kept, None] = OrderedDict()
        self._asking = asyncio.Lock()
        self._current: CancellationTokenSource | None = None
        self._failed: dict[str, float] = {}

    async def complete(self, params: wire.CompleteParams, token: CancellationToken) -> wire.CompleteResult:
        """The text to show at a cursor, empty for none; `token` is cancelled with the next key.

        Raises:
            Exception: What the model has failed with; it is not asked for a while then.
        """
        if (off := self._off(params)) is not None:
            return {"text": "", "off": off}
        if (rest := self._remembered(params)) is not None:
            return {"text": rest}
        if not params["isManual"]:
            if self._clock() < self._failed.get(params["model"], 0.0):
                return {"text": "", "off": "failure"}
            await asyncio.sleep(params["delay"] / 1000)
        text = None
        if not _is_late(token):
            if self._current is not None:
                self._current.cancel()
            async with self._asking:
                text = None if _is_late(token) else await self._answer(params, _request_of(params), token)
        if text is None or _is_late(token):
            return {"text": ""}
        before, after = params["prefix"][-_TAIL:], params["suffix"][:_TAIL]
        self._keep(_Kept(params["model"], params["path"], before, after, text))
        return {"text": text, "isNew": True} if text else {"text": ""}

    @staticmethod
    def _off(params: wire.CompleteParams) -> Literal["file", "language"] | None:
        if is_secret(params["path"]) or is_left_out(params["path"], params["exclude"]):
            return "file"
        return None if is_language_on(params["language"], params["languages"]) else "language"

    async def _answer(self, params: wire.CompleteParams, asked: CompletionRequest, token: CancellationToken) -> str:
        source = self._current = CancellationTokenSource()
        subscription = token.on_cancellation_requested(source.cancel)
        try:
            model = await self._find(params, source.token)
            collected = _Collected(asked, source.cancel, self._clock, is_bare=bool(model.extra.get(COMPLETES_TEXT)))
            options = {
                COMPLETION: asked.fields,
                ASKS_TO_THINK: False,
                "max_tokens": min(_TOKENS[asked.is_one_line], model.max_output_tokens),
                "temperature": _TEMPERATURE,
            }
            await self._ask(params, asked, RequestOptions(model_options=options), collected, source.token)
        except Exception:
            # Of a cancelled question, the editor does not hear what failed: the next one has to find it again.
            if not source.token.is_cancellation_requested:
                self._failed[params["model"]] = self._clock() + _PAUSE
            raise
        finally:
            subscription.dispose()
            self._current = None
        self._failed.pop(params["model"], None)
        return collected.text if collected.is_whole or not source.token.is_cancellation_requested else ""

    def _remembered(self, params: wire.CompleteParams) -> str | None:
        after = params["suffix"][:_TAIL]
        for kept in reversed(self._kept):
            if (kept.model, kept.path, kept.after) == (params["model"], params["path"], after):
                rest = kept.rest_at(params["prefix"])
                if rest is not None and (rest or not kept.text):
                    self._kept.move_to_end(kept)
                    return rest
        return None

    def _keep(self, kept: _Kept) -> None:
        self._kept[kept] = None
        while len(self._kept) > _MOST_KEPT:
            self._kept.popitem(last=False)
