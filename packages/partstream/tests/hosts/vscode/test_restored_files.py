"""Files come back into a conversation in place of the links to them, and nothing else in it changes."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conversation.samples import JPEG, PNG
from partstream.lm.messages import ChatMessage
from partstream.lm.parts import DataPart, ResponsePart, TextPart
from partstream.runtime.answer_files import AnswerFiles
from partstream.vscode import hosted_answer as restored_files
from partstream.vscode.hosted_answer import ShownFiles, restored

DRAWN = DataPart(PNG, "image/png")
PHOTO = DataPart(JPEG, "image/jpeg")


class Shown:
    """What a host has shown of an answer: its text as one."""

    def __init__(self) -> None:
        self.text = ""

    def report(self, part: ResponsePart) -> None:
        if isinstance(part, TextPart):
            self.text += part.value

    async def drain(self) -> None: ...


def shown(files: AnswerFiles, *parts: ResponsePart) -> str:
    host = Shown()
    progress = ShownFiles(host, files)
    for part in parts:
        progress.report(part)
    return host.text


def back(files: AnswerFiles, *texts: str, takes_images: bool = True) -> list[list[object]]:
    messages = restored([ChatMessage.assistant(text) for text in texts], files, takes_images=takes_images)
    return [list(message.content) for message in messages]


def test_brackets_without_an_end_that_a_model_writes_are_looked_through_once(tmp_path: Path):
    for text in ("[" * 500_000, "[a, " * 100_000, "[a, b](file://" * 50_000):
        assert back(AnswerFiles(tmp_path), text) == [[TextPart(text)]]


TEXTS = st.text("ab\n[]()", min_size=1, max_size=6).map(TextPart)


@given(st.lists(TEXTS | st.sampled_from([DRAWN, PHOTO]), min_size=1, max_size=6))
def test_whatever_was_said_around_files_is_what_it_was(tmp_path_factory: pytest.TempPathFactory, parts: list[TextPart]):
    files = AnswerFiles(tmp_path_factory.getbasetemp() / "kept")
    (content,) = back(files, shown(files, *parts))
    assert [part for part in content if isinstance(part, DataPart)] == [
        part for part in parts if isinstance(part, DataPart)
    ]
    assert _texts(content) == _texts(parts)


def _texts(parts: list) -> list[str]:
    """The texts before, between and behind the files."""
    texts = [""]
    for part in parts:
        if isinstance(part, TextPart):
            texts[-1] += part.value
        else:
            texts.append("")
    return texts


def test_a_host_may_strip_the_end_of_an_answer(tmp_path: Path):
    files = AnswerFiles(tmp_path)
    assert back(files, shown(files, TextPart("Here:"), DRAWN).strip()) == [[TextPart("Here:"), DRAWN]]


def test_a_file_that_is_gone_leaves_words_and_no_path(tmp_path: Path):
    files = AnswerFiles(tmp_path)
    text = shown(files, DRAWN)
    for path in tmp_path.iterdir():
        path.unlink()
    assert back(files, text) == [[TextPart("[image/png]")]]


def test_links_to_anything_else_stay_as_they_are(tmp_path: Path):
    files = AnswerFiles(tmp_path / "kept")
    kept = files.keep(DRAWN).path
    (tmp_path / "other.png").write_bytes(PNG)
    elsewhere = tmp_path / kept.name
    elsewhere.write_bytes(PNG)
    for url in ((tmp_path / "other.png").as_uri(), elsewhere.as_uri(), f"{kept.parent.as_uri()}/../{kept.name}"):
        text = f"[image/png, 1 KB]({url})"
        assert back(files, text) == [[TextPart(text)]]


def test_what_a_person_says_is_not_looked_at(tmp_path: Path):
    files = AnswerFiles(tmp_path)
    asked = ChatMessage.user(shown(files, DRAWN))
    assert restored([asked], files, takes_images=True) == [asked]


def test_the_newest_files_come_back_where_all_are_too_many_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(restored_files, "_MOST_BYTES", len(PNG) + len(JPEG))
    files = AnswerFiles(tmp_path)
    texts = [shown(files, DRAWN), shown(files, DRAWN), shown(files, PHOTO)]
    assert back(files, *texts) == [[TextPart("[image/png]")], [DRAWN], [PHOTO]]
