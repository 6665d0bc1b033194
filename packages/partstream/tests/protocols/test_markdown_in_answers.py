"""What a model writes in Markdown: VS Code decides what it renders, and Partstream changes none of it."""

from matrix.bodies import STREAMS
from matrix.rows import Row
from partstream.lm.parts import TextPart
from partstream.protocols.reader import StreamReader
from rows import one_test_for

WRITTEN = (
    "<b>bold</b> <details>x</details> [run](command:workbench.action.quit) ![](https://example.org/a.png) $(check) "
    "[f](http://_vscodecontentref_/0) - [ ] todo\n> [!NOTE]\n> n\n\n| a | b |\n|---|---|\n| $x$ | ~~y~~ |\n"
)


@one_test_for("wire", STREAMS)
def test_the_text_of_a_model_reaches_a_person_as_it_is(wire: str) -> None:
    body = Row("", wire, STREAMS[wire](WRITTEN, (), False), None).data()  # type: ignore[arg-type]
    reader = StreamReader(wire)
    outputs = [*reader.feed(body), *reader.end()]
    assert "".join(one.value for one in outputs if isinstance(one, TextPart)) == WRITTEN
