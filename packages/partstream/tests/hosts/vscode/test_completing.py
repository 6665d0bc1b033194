"""Completions in the editor: what is asked, what is shown, what is remembered, and that one question runs at a time."""

from __future__ import annotations
import asyncio
import json
import os
import sys
from collections.abc import Callable
from contextlib import closing
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from commands import call
from listening import listening
from partstream import CancellationTokenSource, CompletionRequest, LanguageModelError, TextPart
from partstream.lm.completions import COMPLETION
from partstream.lm.provider import LanguageModelChatInformation
from partstream.pages.usage import completions_text
from partstream.tokens.records import Completions
from partstream.vscode import completing
from rows import one_test_for

from .in_process import run, serving
from .sidecar import Sidecar

MODEL = LanguageModelChatInformation("m", "M", "m", "1", 8_000, 100)


def question(prefix: str, suffix: str = "", **changes: Any) -> dict[str, Any]:
    usual = {"group": None, "model": "m", "path": "a.py", "language": "python", "others": [], "languages": {"*": True}}
    return {**usual, "prefix": prefix, "suffix": suffix, "exclude": [], "delay": 0, "isManual": False, **changes}


class Model:
    """A model that says `text`, each piece after a turn; counts what it is asked and what runs."""

    def __init__(self, text: str = "", error: Exception | None = None) -> None:
        self.text = text
        self.error = error
        self.asked: list[CompletionRequest] = []
        self.options: list[dict[str, Any]] = []
        self.running = self.most = self.cancelled = self.pieces = 0
        self.pace = 0.0
        self.goes_on = asyncio.Event()
        self.goes_on.set()
        self.now = 0.0
        self.completer = completing.Completer(self._find, self._ask, lambda: self.now)

    async def _find(self, params: Any, token: Any) -> LanguageModelChatInformation:
        return MODEL

    async def _ask(self, params: Any, asked: CompletionRequest, options: Any, progress: Any, token: Any) -> None:
        self.asked.append(asked)
        self.options.append(dict(options.model_options))
        self.running += 1
        self.most = max(self.most, self.running)
        left = asyncio.Event()
        subscription = token.on_cancellation_requested(left.set)
        waits = [asyncio.ensure_future(one.wait()) for one in (self.goes_on, left)]
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
            if self.error is not None:
                raise self.error
            for piece in self.text:
                if token.is_cancellation_requested:
                    self.cancelled += 1
                    return
                self.pieces += 1
                self.now += self.pace
                progress.report(TextPart(piece))
                await asyncio.sleep(0)
        finally:
            self.running -= 1
            subscription.dispose()
            for one in waits:
                one.cancel()

    async def complete(self, *given: Any, **changes: Any) -> dict[str, Any]:
        return _said(await self.completer.complete(question(*given, **changes), CancellationTokenSource().token))


def _said(result: Any) -> dict[str, Any]:
    return {name: value for name, value in result.items() if name in ("text", "off")}


@one_test_for(
    ("path", "secret"),
    [
        (one, True)
        for one in (
            ".env", ".ENV.local", "prod.env", "keys/server.pem", "ID_RSA", "id_ed25519.pub",
            ".ssh/config", ".npmrc",
            "C:\\Users\\me\\.aws\\credentials", "secrets.yaml", "terraform/prod.tfvars", "/home/me/.kube/config",
            "terraform.tfstate", "terraform.tfstate.backup",
            "/home/me/.git-credentials", ".vault-token", "ci.kubeconfig",
        )
    ]
    + [(one, False) for one in ("environment.py", "src/keys.py", "secretary.py", "tokenizer.py", "env/main.py", "")],
)  # fmt: skip
def test_the_name_of_a_file_says_whether_it_holds_secrets(path, secret):
    assert completing.is_secret(path) is secret


@one_test_for(
    ("glob", "path", "fits"),
    [
        ("*.md", "notes/a.md", True),
        ("*.md", "notes/a.mdx", False),
        ("notes/*.md", "notes/a.md", True),
        ("notes/*.md", "notes/b/a.md", False),
        ("notes/**", "notes/b/a.md", True),
        ("**/private/**", "a/private/b.py", True),
        ("**/private/**", "private/b.py", True),
        ("A?.PY", "src/ab.py", True),
        ("", "a.py", False),
        ("[x", "[x", True),
        ("**/a**/b*", "x/ab/c/bd", True),
        ("**/a**/b*", "x/ab/c/bd/e", False),
        ("a/**/b", "a/b", True),
        ("a/**/b", "ab", False),
        ("**/*.env", "x\ny/prod.env", True),
        ("*/?", "a//", False),
    ],
)
def test_a_glob_leaves_files_out(glob, path, fits):
    assert completing.is_left_out(path, [glob]) is fits


def test_a_glob_of_a_hostile_folder_takes_as_many_steps_as_it_and_the_path_are_long():
    for glob in ("**a" * 300 + "**/b", "*a" * 300 + "/b", "**/" * 300 + "b", "?*" * 300 + "/b"):
        steps = [_steps(glob[: len(glob) // part] + "/b", "a" * (1_200 // part) + "/c") for part in (2, 1)]
        assert steps[1] < 5 * steps[0]


def _steps(glob: str, path: str) -> int:
    """The lines of Python that run while a path is compared."""
    count, before = 0, sys.gettrace()

    def traced(*_: object) -> Callable[..., Any]:
        nonlocal count
        count += 1
        return traced

    sys.settrace(traced)
    try:
        assert not completing.is_left_out(path, [glob])
    finally:
        sys.settrace(before)
    return count


@one_test_for(
    ("prefix", "suffix", "many"),
    [
        ("", "", True),
        ("def f():\n    ", "\n", True),
        ("def f():", "", True),
        ("if (x) {", "\n}", True),
        ("const f = () =>", "", True),
        ("x = ", "", False),
        ("f(", ")", False),
        ("    ", "return 1\n", False),
    ],
)
def test_several_lines_are_for_an_empty_line_and_the_opening_of_a_block(prefix, suffix, many):
    assert completing.has_many_lines(prefix, suffix) is many


@one_test_for(
    ("text", "suffix", "is_one_line", "shown"),
    [
        ("a, b)", ")", True, "a, b"),
        ("a, b):", "):\n    pass", True, "a, b"),
        ("a\nb", "", True, "a"),
        ("  ", "", True, ""),
        ("a ", "  # x", True, "a "),
        ("    return 1\n\nprint(2)\n", "\n\nprint(2)\n", False, "    return 1"),
        ("a\n  \n", "", False, "a"),
    ],
)
def test_what_follows_the_cursor_already_is_not_shown_again(text, suffix, is_one_line, shown):
    assert completing.shown_text(text, CompletionRequest("", suffix, is_one_line=is_one_line)) == shown


@one_test_for(
    ("prefix", "pace", "text", "shown"),
    [
        ("", 0.01, "x = 1\ny = 2", "x = 1\ny = 2"),  # whole, and quick
        ("", 0.1, "x = 1\ny = 2\nz = 3", "x = 1"),
        ("", 0.1, "x = 1", "x = 1"),  # no line is whole before the end
        ("def f():", 0.1, "\n  x = 1\n  y = 2\n", "\n  x = 1"),
        ("x = ", 0.1, "1 + 2 + 3 + 4", "1 + 2 + 3 + 4"),
    ],
)
def test_of_several_lines_those_that_are_whole_after_half_a_second_are_shown(prefix, pace, text, shown):
    async def main():
        model = Model(text)
        model.pace = pace
        assert (await model.complete(prefix))["text"] == shown
        assert model.running == 0

    run(main())


def test_the_pieces_of_other_files_with_the_same_names_come_first_and_secret_files_never():
    others = [
        {"path": "far.py", "text": "def unlike(): ..."},
        {"path": ".env", "text": "circle_area = secret"},
        {"path": "near.py", "text": "\n".join(["x = 1"] * 40 + ["def circle_area(radius): ..."])},
    ]
    found = completing.related("circle_area(radius", others)
    assert [one.path for one in found] == ["near.py"]
    assert "def circle_area" in found[0].text
    assert len(found[0].text.splitlines()) <= 30


@one_test_for(
    ("changes", "off"),
    [
        ({"path": "a/.env"}, "file"),
        ({"exclude": ["*.py"]}, "file"),
        ({"languages": {"*": True, "python": False}}, "language"),
        ({"languages": {"*": False}}, "language"),
    ],
)
def test_nothing_is_asked_where_it_is_off(changes, off):
    async def main() -> None:
        model = Model("x")
        assert await model.complete("a = ", **changes) == {"text": "", "off": off}
        assert model.asked == []

    run(main())


def test_one_line_is_asked_for_and_the_rest_of_an_answer_is_stopped():
    async def main() -> None:
        model = Model("1\n" + "b = 2\n" * 100)
        assert await model.complete("a = ") == {"text": "1"}
        assert model.pieces == 2
        assert model.cancelled == 1
        [options] = model.options
        assert (options["max_tokens"], options[COMPLETION]["is_one_line"]) == (64, True)
        assert await Model("    x = 1\n    y = 2\n").complete("def f():\n") == {"text": "    x = 1\n    y = 2"}

    run(main())


def test_typing_through_and_going_back_are_answered_from_memory():
    async def main() -> None:
        model = Model("hello(1)")
        token = CancellationTokenSource().token
        first = await model.completer.complete(question("a = ", "\n"), token)
        assert first == {"text": "hello(1)", "isNew": True}
        for typed in ("h", "hel", "he", "hello(1", ""):
            again = await model.completer.complete(question(f"a = {typed}", "\n"), token)
            assert again == {"text": "hello(1)"[len(typed) :]}
        assert len(model.asked) == 1
        await model.complete("a = hx", "\n")
        await model.complete("a = h", "\nb")
        await model.complete("a = hello(1)", "\n")
        assert len(model.asked) == 4  # another text, another suffix, and the end of the completion

    run(main())


@one_test_for(("before", "later"), [("", "other = 1\n"), ("x", "index"), ("x", "\nx"), ("", " ")])
def test_what_belonged_at_the_beginning_of_a_text_is_shown_at_no_other_place(before, later):
    async def ask() -> list[str]:
        model = Model("secret_of_another_project()")
        first = await model.complete(before)
        model.text = "other"
        return [one["text"] for one in (first, await model.complete(later), await model.complete(before))]

    first, elsewhere, again = asyncio.run(ask())
    assert (first, elsewhere, again) == ("secret_of_another_project()", "other", first)


def test_memory_is_bounded():
    async def main() -> None:
        model = Model("x")
        for number in range(150):
            await model.complete(f"a{number} = ")
        assert len(model.completer._kept) == 100

    run(main())


def test_the_question_before_is_cancelled_and_over_when_the_next_one_is_sent():
    async def main() -> None:
        model = Model("x")
        model.goes_on.clear()
        tasks = []
        for number in range(5):
            tasks.append(asyncio.create_task(model.complete(f"a{number} = ")))
            while len(model.asked) <= number:
                await asyncio.sleep(0)
        model.goes_on.set()
        said = await asyncio.gather(*tasks)
        assert [one["text"] for one in said] == ["", "", "", "", "x"]
        assert (model.most, model.running, len(model.asked)) == (1, 0, 5)

    run(main())


def test_a_question_that_is_cancelled_in_its_delay_asks_nothing():
    async def main() -> None:
        model, source = Model("x"), CancellationTokenSource()
        task = asyncio.create_task(model.completer.complete(question("a = ", delay=20), source.token))
        await asyncio.sleep(0)
        source.cancel()
        assert _said(await task) == {"text": ""}
        assert model.asked == []

    run(main())


def test_a_model_that_failed_is_left_alone_for_a_while_unless_the_person_asks():
    async def main() -> None:
        model = Model(error=LanguageModelError("no key"))
        with pytest.raises(LanguageModelError):
            await model.complete("a = ")
        assert await model.complete("b = ") == {"text": "", "off": "failure"}
        with pytest.raises(LanguageModelError):
            await model.complete("b = ", isManual=True)
        model.now, model.error, model.text = 31.0, None, "x"
        assert await model.complete("b = ") == {"text": "x"}

    run(main())


def test_a_model_that_failed_after_the_next_key_is_asked_again_so_that_the_person_hears_why():
    async def main() -> None:
        model, source = Model(error=LanguageModelError("no key")), CancellationTokenSource()
        model.goes_on.clear()
        first = asyncio.create_task(model.completer.complete(question("a = "), source.token))
        while not model.asked:
            await asyncio.sleep(0)
        source.cancel()
        for asked in (first, model.complete("a = b")):
            with pytest.raises(LanguageModelError):
                await asked
            model.goes_on.set()
        assert await model.complete("a = bc") == {"text": "", "off": "failure"}

    run(main())


FILE = """
from partstream import completion_model

@completion_model
async def provider(request):
    yield f"{request.language} {request.snippets[0].path}"
"""


def test_a_python_file_completes_over_the_wire_and_its_tokens_are_counted(tmp_path):
    file = tmp_path / "fill.py"
    file.write_text(FILE)

    async def main() -> None:
        async with serving({"source": str(file), "name": "own"}) as peer:
            [model] = (await peer.information())["models"]
            assert model["extra"]["isUserSelectable"] is False
            others = [{"path": "b.py", "text": "total = 1"}]
            asked = question("total = ", "", model=model["id"], others=others)
            said = await peer.call("languageModels/complete", asked)
            assert said == {"text": "python b.py", "isNew": True}
            told = await peer.until(lambda one: getattr(one, "method", "") == "languageModels/didAnswer")
            assert told.params["answer"]["outputTokens"] > 0
            assert told.params["conversation"] is None

    run(main())


def test_the_upstream_sees_a_cancelled_completion_closed_before_it_says_more():
    async def main() -> None:
        asked: list[str] = []
        closed = asyncio.Event()

        async def serve(connection: Any) -> None:
            while (request := await connection.next_request()) is not None:
                asked.append(request.path)

                async def application(scope: Any, receive: Any, send: Any) -> None:
                    await receive()
                    await send(
                        {
                            "type": "http.response.start",
                            "status": 200,
                            "headers": [(b"content-type", b"text/event-stream")],
                        }
                    )
                    said = b"data: %b\n\n" % json.dumps({"choices": [{"text": "a"}]}).encode()
                    await send({"type": "http.response.body", "body": said, "more_body": True})
                    while (await receive())["type"] != "http.disconnect":
                        pass
                    closed.set()

                await connection.answer(request, application)

        async with listening(serve) as url:
            models = [{"id": "m", "name": "M", "family": "m", "maxInputTokens": 1000}]
            settings = {"baseUrl": f"{url}/v1", "protocol": "chat-completions", "models": models, "discover": False}
            async with serving() as peer:
                request_id = peer.send(
                    "languageModels/complete", question("a = ", group={"id": "g", "configuration": settings})
                )
                while not asked:
                    await asyncio.sleep(0.001)
                peer.notify("$/cancelRequest", {"id": request_id})
                reply = await peer.reply(request_id)
                assert reply.error is not None
                await asyncio.wait_for(closed.wait(), 10)
        assert asked == ["/v1/completions"]

    run(main())


PAGE = {"page": "usage", "nonce": "0123456789abcdef", "source": "https://x.example"}


def test_all_windows_count_completions_together_and_a_restart_keeps_them():
    def count(window: Sidecar, shown: int, accepted: int) -> Any:
        return window.call("languageModels/countCompletions", {"shown": shown, "accepted": accepted})

    def page(window: Sidecar) -> str:
        return window.call("languageModels/page", PAGE)["html"]

    with closing(Sidecar()) as one, closing(Sidecar()) as other:
        for window in (one, other):
            window.initialize()
            assert "Completions" not in page(window)
        assert count(one, 1, 0) == {"shown": 1, "accepted": 0}
        assert count(other, 1, 1) == {"shown": 2, "accepted": 1}
        for _ in range(20):
            for window in (one, other):
                window.send("languageModels/countCompletions", {"shown": 1, "accepted": 0})
        for window in (one, other):
            count(window, 0, 0)
        assert count(one, 0, 1) == {"shown": 42, "accepted": 2}
        for window in (one, other):
            assert "Completions today: 42 shown, 2 accepted." in page(window)
    with closing(Sidecar()) as restarted:
        restarted.initialize()
        assert count(restarted, 0, 0) == {"shown": 42, "accepted": 2}

    async def usage() -> None:
        ended = await call("usage", PARTSTREAM_DATA=os.environ["PARTSTREAM_DATA"])
        assert "Completions today: 42 shown, 2 accepted." in ended.output

    run(usage())


def test_a_window_without_a_ledger_counts_its_own_completions(monkeypatch):
    monkeypatch.setenv("PARTSTREAM_LEDGER", "false")

    async def main() -> None:
        async with serving() as peer:
            for accepted in (0, 1):
                said = await peer.call("languageModels/countCompletions", {"shown": 1, "accepted": accepted})
            assert said == {"shown": 2, "accepted": 1}
            assert "Completions today: 2 shown, 1 accepted." in (await peer.call("languageModels/page", PAGE))["html"]

    run(main())
    assert not list(Path(os.environ["PARTSTREAM_DATA"]).iterdir())


@one_test_for(
    ("days", "text"),
    [
        ({}, ""),
        ({"2026-11-21": (3, 1)}, "Completions today: 3 shown, 1 accepted."),
        ({"2026-11-20": (1_000, 1)}, "Completions in 30 days: 1,000 shown, 1 accepted."),
        (
            {"2026-11-20": (9, 2), "2026-11-21": (3, 1)},
            "Completions today: 3 shown, 1 accepted. Completions in 30 days: 12 shown, 3 accepted.",
        ),
    ],
)
def test_the_completions_of_today_and_of_the_last_days_are_shown(days, text):
    counts = {day: Completions(*one) for day, one in days.items()}
    assert completions_text(counts, date(2026, 11, 21), 30) == text
