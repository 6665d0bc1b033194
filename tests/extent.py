"""How much the tests try: whole where the variable WHOLE_RUNS is set, else what shows the same sooner.

`make interop TRY=frameworks` and `make test PART=contract` set it.
"""

import os
from typing import Final

__all__ = ["IS_WHOLE", "RUNS_AT_ONCE", "TELLING"]

IS_WHOLE: Final = bool(os.environ.get("WHOLE_RUNS"))
"""Whether everything is tried that can be."""
RUNS_AT_ONCE: Final = 100 if IS_WHOLE else 10
"""How many runs of one agent go on beside one another."""
TELLING: Final = (
    "/text",
    "/two-calls",
    "/tool-result-text",
    "/cancel-in-text",
    "/stall",
    "/truncated",
    "/error-after-parts",
)
"""The scenarios of the conformance kit that show most: text, calls and results, cancellation, broken streams."""
