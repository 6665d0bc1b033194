"""`python -m partstream.hosts.vscode`: the sidecar, as the extension starts it."""

import sys

from partstream.hosts.vscode.process import run

sys.exit(run())
