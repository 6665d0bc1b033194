"""Asks a person at a terminal; where there is none, says which option answers a question."""

from __future__ import annotations

import getpass
from typing import TYPE_CHECKING

import click
from rich.markup import escape

from partstream.codec.text import visible
from partstream.settings.kinds import ConfigurationError, shown_name

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rich.console import Console

__all__ = ["Questions"]


class Questions:
    """Questions for whoever runs a command.

    Args:
        console: Where they are asked.
        has_person: Whether somebody sits there; a script that leaves a question open is told the option instead.
    """

    def __init__(self, console: Console, *, has_person: bool) -> None:
        self._console = console
        self.has_person = has_person

    def line(
        self, question: str, option: str, *, default: str = "", check: Callable[[str], str] = lambda text: text
    ) -> str:
        """A line of text; asked again until it is of use.

        Args:
            question: What is asked, without a colon.
            option: The option that answers it.
            default: The answer of whoever presses Enter; without one the question has to be answered.
            check: Gives the answer in its final form, or raises :class:`ConfigurationError`.

        Raises:
            UsageError: Nobody is there to be asked.
        """
        self._need_person(question, option)
        shown = f"{question} [{default}]" if default else question
        while True:
            answer = self._read(f"{shown}: ").strip() or default
            try:
                if answer:
                    return check(answer)
                self.say(_UNANSWERED)
            except ConfigurationError as error:
                self.say(f"{error.got} is of no use, expected {error.expected}.")

    def hidden(self, question: str, option: str, *, may_be_empty: bool) -> str:
        """A text that is not shown while it is typed.

        Raises:
            UsageError: Nobody is there to be asked.
        """
        self._need_person(question, option)
        while True:
            try:
                answer = getpass.getpass(f"{question}: ").strip()
            except EOFError:
                raise KeyboardInterrupt from None
            if answer or may_be_empty:
                return answer
            self.say(_UNANSWERED)

    def yes(self, question: str, option: str, *, default: bool) -> bool:
        """Whether the answer is yes.

        Raises:
            UsageError: Nobody is there to be asked.
        """
        self._need_person(question, option)
        while True:
            answer = self._read(f"{question} [{'Y/n' if default else 'y/N'}] ").strip().lower()
            if answer in _YES or (not answer and default):
                return True
            if answer in _NO or not answer:
                return False

    def choice(self, question: str, option: str, choices: Sequence[str], *, find: Callable[[str], int | None]) -> int:
        """The number of a choice, from 0.

        Args:
            question: What is asked, without a colon.
            option: The option that answers it.
            choices: What can be chosen, each a line.
            find: Finds the choice that a person means who types no number; None for none.

        Raises:
            UsageError: Nobody is there to be asked.
        """
        self._need_person(question, option)
        self.enumerate(choices)
        while True:
            answer = self._read(f"{question}: ").strip()
            found = int(answer) - 1 if answer.isascii() and answer.isdigit() else find(answer)
            if found is not None and found in range(len(choices)):
                return found
            self.say(f"{shown_name(answer)} is none of them." if answer else _UNANSWERED)

    def enumerate(self, choices: Sequence[str]) -> None:
        """Shows what can be chosen, each with its number, from 1."""
        width = len(str(len(choices)))
        for number, choice in enumerate(choices, 1):
            self.say(f"  {number:>{width}}  {choice}")

    def say(self, text: str) -> None:
        """Says something, in the place where questions are asked."""
        self._console.print(escape(visible(text)))

    def _need_person(self, question: str, option: str) -> None:
        if not self.has_person:
            raise click.UsageError(f"{option}: got nothing, and nobody is there to be asked: {question}")

    def _read(self, prompt: str) -> str:
        try:
            return input(visible(prompt))
        except EOFError:  # Ctrl-D, or a terminal that has gone
            raise KeyboardInterrupt from None


_UNANSWERED = "This needs an answer; Ctrl-C stops, and changes nothing."
_YES = frozenset({"y", "yes"})
_NO = frozenset({"n", "no"})
