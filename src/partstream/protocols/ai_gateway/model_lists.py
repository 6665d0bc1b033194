"""Where the models of the AI Gateway are listed, beside the endpoint that answers.

Facts and limits are in the public `/v1/models` of the host, which needs no key, and in the endpoints of each model
below it. `{base}/config` is the list of the SDK's own client (`gateway-config.json` of the recordings): names and
prices, no limits; it stands in where there is no other.
"""

from __future__ import annotations

import re
from typing import Final

__all__ = ["model_lists"]

_PATH: Final = re.compile(r"/v\d+/ai$")


def model_lists(base_path: str) -> tuple[str, tuple[str, ...]]:
    """The path that `/models` stands below, and the paths of further lists.

    Args:
        base_path: The path of the base URL, such as `/v3/ai`.
    """
    path = base_path.rstrip("/")
    root = _PATH.sub("", path)
    return f"{root}/v1", (f"{path}/config",)
