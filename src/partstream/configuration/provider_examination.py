"""Checks a person's own provider as far as a host will use it, and says what to do; asks it only if it is told to."""

from __future__ import annotations

import asyncio
import sys
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, get_type_hints

from partstream.codec.json_codec import find_non_json
from partstream.configuration.advice import AT_A_TERMINAL
from partstream.configuration.findings import CheckStatus, Finding
from partstream.errors import PartstreamError
from partstream.lm.cancellation import CancellationToken
from partstream.lm.contract import Level
from partstream.lm.messages import ChatMessage
from partstream.lm.parts import TextPart, ToolCallPart
from partstream.lm.provider import ModelFields
from partstream.runtime.consumer import LanguageModels
from partstream.runtime.progress import failing_place, fault_of
from partstream.runtime.provider_files import ProviderNotFoundError, SourceLoader, default_name
from partstream.settings.kinds import closest_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from partstream.configuration.advice import Advice
    from partstream.lm.contract import Violation
    from partstream.lm.provider import LanguageModelChatInformation, LanguageModelChatProvider
    from partstream.runtime.consumer import LanguageModelChat
    from partstream.runtime.requests import LanguageModelChatResponse

__all__ = ["TrialLimits", "examine_loaded", "examine_provider", "finding_on_load"]

_QUESTION: Final = "Say yes."
_MEND: Final = "mend this line"
_MOST_NAMES: Final = 10


async def examine_provider(
    source: str, model_id: str | None = None, *, asks: bool = False, limits: TrialLimits | None = None
) -> list[Finding]:
    """Runs all checks in the order in which a host needs them; leaves out the checks that depend on a failed one.

    Args:
        source: `path/to/file.py`, `module`, or one of them with `:attribute`.
        model_id: The model that counts tokens and is asked; None for the first one.
        asks: Whether it is asked one short question, which may cost something.
        limits: How long it is waited for.
    """
    loader = SourceLoader(source)
    try:
        # In a thread, as hosts load it: a file may run an event loop of its own.
        provider = await asyncio.to_thread(loader.load)
    except (Exception, SystemExit) as error:
        return [finding_on_load(error, loader.file)]
    loaded = Finding(
        "provider", CheckStatus.FINE, f"{source} was loaded; its provider is of type {type(provider).__name__}"
    )
    try:
        return [loaded, *await examine_loaded(provider, default_name(source), model_id, asks=asks, limits=limits)]
    finally:
        aclose: Any = getattr(provider, "aclose", None)
        if aclose is not None:
            await aclose()


async def examine_loaded(
    provider: LanguageModelChatProvider,
    vendor: str,
    model_id: str | None = None,
    *,
    asks: bool = False,
    limits: TrialLimits | None = None,
    advice: Advice = AT_A_TERMINAL,
) -> list[Finding]:
    """Runs the checks of a provider that was loaded; leaves out the checks that depend on a failed one.

    Args:
        provider: The provider, which is not closed.
        vendor: The name that errors give it.
        model_id: The model that counts tokens and is asked; None for the first one.
        asks: Whether it is asked one short question, which may cost something.
        limits: How long it is waited for.
        advice: What helps where the person stands.
    """
    words = replace(advice, not_asked="") if asks else advice
    return await _Examination(provider, vendor, limits or TrialLimits(), words).run(model_id, asks=asks)


def finding_on_load(error: BaseException, file: Path | None) -> Finding:
    """Why a provider could not be loaded.

    Args:
        error: The error of the load.
        file: The provider's file, if it has one.
    """
    if isinstance(error, ProviderNotFoundError):
        return Finding("provider", CheckStatus.PROBLEM, str(error), f"expected: {error.expected}")
    return Finding("provider", CheckStatus.PROBLEM, str(fault_of(error, file)), _advice_on_load(error))


def _advice_on_load(error: BaseException) -> str:
    if isinstance(error, ModuleNotFoundError) and error.name:
        return f"install what brings the module {error.name} for {sys.executable}"
    if isinstance(error, SystemExit):
        return "put what ends the process below `if __name__ == '__main__':`"
    return _MEND


@dataclass(frozen=True, slots=True)
class TrialLimits:
    """How long a provider is waited for.

    Attributes:
        count_seconds: The wait for a count of tokens.
        answer_seconds: The wait for the end of the answer.
        characters: The characters of text after which the answer is stopped.
    """

    count_seconds: float = 10.0
    answer_seconds: float = 60.0
    characters: int = 2_000


@dataclass(slots=True)
class _Taken:
    """What came of one answer; its string form counts it."""

    characters: int = 0
    calls: int = 0
    is_cut: bool = False

    async def read(self, response: LanguageModelChatResponse, most: int) -> None:
        """Counts what comes, until the end or until there is enough of it."""
        async for part in response:
            self.characters += len(part.value) if isinstance(part, TextPart) else 0
            self.calls += isinstance(part, ToolCallPart)
            if self.characters >= most:
                self.is_cut = True
                return

    def __str__(self) -> str:
        calls = f", {self.calls} tool calls" if self.calls else ""
        return f"{self.characters:,} characters{calls}"


@dataclass(slots=True)
class _Examination:
    """The checks of one provider that could be loaded.

    Attributes:
        provider: The provider.
        vendor: The name that errors give it.
        limits: How long it is waited for.
        advice: What helps where the person stands.
        violations: The rules of the contract that its answer broke.
    """

    provider: LanguageModelChatProvider
    vendor: str
    limits: TrialLimits
    advice: Advice
    violations: list[Violation] = field(default_factory=list)

    async def run(self, model_id: str | None, *, asks: bool) -> list[Finding]:
        """What was found, in the order of the checks."""
        models = LanguageModels(
            on_violation=lambda vendor, model, violation: self.violations.append(violation),
            on_provider_error=lambda vendor, error: None,  # the list's own finding tells it
        )
        async with models:
            models.register_language_model_chat_provider(self.vendor, self.provider)
            listed = await models.select_chat_models()
            error = models.provider_errors.get(self.vendor)
            if error is not None:
                advice = _advice_on_error(error)
                return [Finding("models", CheckStatus.PROBLEM, f"it cannot list them: {fault_of(error)}", advice)]
            if not listed:
                return [Finding("models", CheckStatus.WARNING, "it lists none, so nothing shows in the picker")]
            findings = [Finding("models", CheckStatus.FINE, _count_of(listed), self.advice.not_asked)]
            for model in listed:
                findings += _information(model.information)
            chosen = next((model for model in listed if model_id in (None, model.id)), None)
            if chosen is None:
                says = f"it does not list {model_id}"
                return [*findings, Finding("model", CheckStatus.PROBLEM, says, self.advice.other_model)]
            findings.append(await self._tokens(chosen))
            if asks:
                findings += await self._asked(chosen)
            return findings

    async def _tokens(self, model: LanguageModelChat) -> Finding:
        """Whether it counts a text and a message, as VS Code asks it to before every request."""
        told = []
        for what in ("twelve chars", ChatMessage.user("twelve chars")):
            kind = "text" if isinstance(what, str) else "message"
            try:
                async with asyncio.timeout(self.limits.count_seconds) as limit:
                    count: object = await self.provider.provide_token_count(
                        model.information, what, CancellationToken()
                    )
            except Exception as error:
                if limit.expired():
                    says = f"counting a {kind} took more than {self.limits.count_seconds:g} s"
                    return Finding("token counts", CheckStatus.PROBLEM, says, "count without asking a server")
                return Finding(
                    "token counts", CheckStatus.PROBLEM, f"counting a {kind} failed: {fault_of(error)}", _MEND
                )
            if isinstance(count, bool) or not isinstance(count, int) or count < 0:
                says = f"counting a {kind} gave {count!r}, expected a whole number of 0 or more"
                return Finding("token counts", CheckStatus.PROBLEM, says)
            told.append(f"{count} for a {kind} of 12 characters")
            if count == 0:
                says = f"a {kind} of 12 characters counts 0, so VS Code never shortens a conversation"
                return Finding("token counts", CheckStatus.WARNING, says, "count_tokens= counts")
        return Finding("token counts", CheckStatus.FINE, ", ".join(told))

    async def _asked(self, model: LanguageModelChat) -> list[Finding]:
        """What came of one question; an answer without an end is stopped."""
        taken = _Taken()
        response = model.stream(_QUESTION)
        try:
            async with asyncio.timeout(self.limits.answer_seconds), response:
                await taken.read(response, self.limits.characters)
        except TimeoutError:
            says = f"{model.id} had not ended its answer after {self.limits.answer_seconds:g} s: {taken}"
            advice = "VS Code waits on, as long as the person does"
            return [*self._broken(), Finding("answer", CheckStatus.PROBLEM, says, advice)]
        except PartstreamError as error:
            return [*self._broken(), Finding("answer", CheckStatus.PROBLEM, str(error), _advice_on_error(error))]
        if not taken.characters:
            says = f"{model.id} answered without text: {taken}"
            return [
                *self._broken(),
                Finding("answer", CheckStatus.PROBLEM, says, "VS Code shows an error in its place"),
            ]
        rest = "" if response.usage is not None else ", without a usage: VS Code's count of tokens is an estimate"
        if taken.is_cut:
            rest = ", and was stopped"
        return [*self._broken(), Finding("answer", CheckStatus.FINE, f"{model.id} answered: {taken}{rest}")]

    def _broken(self) -> Iterator[Finding]:
        """The rules that the answer broke, each once; that of errors is told by the error."""
        by_rule = {violation.rule.id: violation for violation in reversed(self.violations)}
        for violation in reversed(by_rule.values()):
            if violation.rule.id != "failure.language-model-error":
                verdict = CheckStatus.PROBLEM if violation.rule.level is Level.MUST else CheckStatus.WARNING
                yield Finding("contract", verdict, str(violation), "docs/contract.md explains every rule")


def _advice_on_error(error: BaseException) -> str:
    caused = error.__cause__ or error
    return _MEND if failing_place(caused) is not None else ""


def _count_of(listed: Sequence[LanguageModelChat]) -> str:
    names = ", ".join(model.id for model in listed[:_MOST_NAMES])
    more = f" and {len(listed) - _MOST_NAMES} more" if len(listed) > _MOST_NAMES else ""
    return f"it lists {len(listed)} model{'' if len(listed) == 1 else 's'}: {names}{more}"


# ---- the information about a model ----


def _information(model: LanguageModelChatInformation) -> Iterator[Finding]:
    """What of a model's information keeps it from being used; one line where nothing does."""
    odd = [
        Finding("information", verdict, f"{model.id}: {says}", advice)
        for finds, verdict, says, advice in _CHECKS
        if finds(model)
    ]
    yield from odd
    yield from _extra(model)
    if not odd:
        limits = f"{model.max_input_tokens:,} tokens in, {model.max_output_tokens:,} out"
        yield Finding("information", CheckStatus.FINE, f"{model.id}: {model.name}, {limits}")


_Check = tuple["Callable[[LanguageModelChatInformation], bool]", CheckStatus, str, str]
_CHECKS: Final[tuple[_Check, ...]] = (
    (lambda model: not model.name.strip(), CheckStatus.PROBLEM, "its name is empty", "the picker shows the name"),
    (
        lambda model: not model.capabilities.tool_calling,
        CheckStatus.WARNING,
        "it says that it calls no tools, so agent mode does not list it",
        "tool_calling=True, if it may be listed there; it need not call any",
    ),
    (
        lambda model: model.max_input_tokens < 4_000,
        CheckStatus.WARNING,
        "its prompt limit is below 4,000 tokens, which the instructions of agent mode alone exceed",
        "max_input_tokens= is the most tokens that a prompt may hold",
    ),
)
"""What is looked at: what finds it, how bad it is, what is said, what helps."""


def _extra(model: LanguageModelChatInformation) -> Iterator[Finding]:
    if odd := find_non_json(model.extra, "extra"):
        yield Finding("information", CheckStatus.PROBLEM, f"{model.id}: {odd}", "VS Code takes JSON values alone")
    known: Mapping[str, object] = get_type_hints(ModelFields)
    for name in model.extra:
        meant = None if name in known else closest_name(name, tuple(known))
        if meant is not None:
            says = f"{model.id}: VS Code reads no field {name}"
            yield Finding("information", CheckStatus.WARNING, says, f"{meant}, perhaps?")
