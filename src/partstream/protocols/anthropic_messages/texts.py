"""Reads the text of an answer and its citations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from partstream.parts import TextPart, text_part
from partstream.protocols.anthropic_messages.citations import citation_of, key_of
from partstream.protocols.citations import Citations, RecentText
from partstream.protocols.read_response import Wire, mapping, objects, text

if TYPE_CHECKING:
    from partstream.outputs import CitationMode, StreamOutput
    from partstream.protocols.anthropic_messages.blocks import Block
    from partstream.protocols.anthropic_messages.carried_state import CarriedState

__all__ = ["Texts"]


class Texts:
    """The text blocks of one answer.

    Args:
        citations: How sources are shown.
        state: What must be handed out before a text.

    Attributes:
        said: The last few thousand characters of the answer.
    """

    __slots__ = ("_citations", "_state", "said")

    def __init__(self, citations: CitationMode, state: CarriedState) -> None:
        self.said = RecentText()
        self._citations = Citations(citations)
        self._state = state

    def started(self, block: Block, outputs: list[StreamOutput]) -> None:
        """Takes the text and the citations that a block begins with."""
        block.citations += objects(block.wire, "citations")
        self.delta(block, block.wire, outputs)

    def delta(self, block: Block, delta: Wire, outputs: list[StreamOutput]) -> None:
        """Takes a piece of text."""
        if piece := text(delta, "text"):
            self._state.hand_out(outputs)
            block.add(piece)
            outputs.append(text_part(piece))

    def citation(self, block: Block, delta: Wire, _outputs: list[StreamOutput]) -> None:
        """Takes a citation. Anthropic sends it before the text that it belongs to: recording anthropic-web-search-tool,
        so it is shown when the block closes."""
        if citation := mapping(delta, "citation"):
            block.citations.append(citation)

    def closed(self, block: Block, outputs: list[StreamOutput]) -> None:
        """Shows the sources of a block."""
        block.fold()
        for citation in block.citations:
            rendered = self._citations.render(citation_of(citation), self.said, key_of(citation, block))
            for output in rendered:
                if isinstance(output, TextPart):
                    self.said.add(output.value)
            outputs += rendered

    def end(self, outputs: list[StreamOutput]) -> None:
        """Shows the sources that stand at the end of the answer."""
        outputs += self._citations.at_end()
