"""Makes the scripted agents of pydantic-ai importable: one of them answers behind its AG-UI server here."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "pydantic_ai"))
