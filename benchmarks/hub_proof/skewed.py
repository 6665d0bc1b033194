"""`python -m benchmarks.hub_proof.skewed SECONDS ARGUMENTS`: the command `partstream` with a clock that is wrong by so
much."""

from __future__ import annotations
import sys
import time

if __name__ == "__main__":
    skew, right = float(sys.argv[1]), time.time
    time.time = lambda: right() + skew  # before any other import, so that every module has the wrong clock
    sys.argv[:2] = ["partstream"]
    from partstream.cli import main

    main()
