"""`python -m partstream.vscode`: the sidecar, as the extension starts it."""

import sys

from partstream.vscode.process import run

sys.exit(run())
