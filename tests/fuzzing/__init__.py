"""Damages what comes from outside, and says what does not hold then.

`python -m fuzzing` runs in this folder's parent, so the helpers of the packages' tests are found from here.
"""

import sys
from pathlib import Path

sys.path += [
    str(path) for path in sorted(Path(__file__).parents[2].glob("packages/*/tests")) if str(path) not in sys.path
]
