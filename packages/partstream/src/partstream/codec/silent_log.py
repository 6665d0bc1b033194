"""Keeps the log of the library silent until a program configures logging, as Python's documentation asks of libraries.

Without a handler, `logging` writes warnings to standard error by itself: a failed request would appear there although
the error was raised to its caller. Every package and module that logs imports this module; `import partstream` alone
does not, because `logging` takes a tenth of its time.
"""

from __future__ import annotations
import logging

logging.getLogger("partstream").addHandler(logging.NullHandler())


def end_silence() -> None:
    """Lets `logging` write warnings to standard error again where no handler is set: for programs, such as commands."""
    logger = logging.getLogger("partstream")
    for handler in [one for one in logger.handlers if isinstance(one, logging.NullHandler)]:
        logger.removeHandler(handler)
