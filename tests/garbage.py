"""Collections of garbage in tests, which look at what one test leaves, and not at thousands before it."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def only_own_garbage() -> Iterator[None]:
    """Within the block, a collection looks only at what the block has made.

    What was there before stays out of all later collections too: `gc.unfreeze` would hand thirty thousand tests and
    their modules back to them, and each whole collection afterwards would take more than half a second.
    """
    gc.collect()
    gc.freeze()
    yield
