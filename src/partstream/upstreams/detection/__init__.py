"""Finds out what a base URL speaks: by its host, else by a list of models and an empty request to each endpoint.

`base_urls`, `signs` and `decision` are pure: the same answers give the same decision. `asking` sends the requests,
`memory` keeps a decision on the disk, and `detector` is what a provider asks.
"""

from __future__ import annotations

from partstream.upstream.detection_rules import Detected
from partstream.upstreams.detection.detector import Detector
from partstream.upstreams.detection.opening import OpenUpstream, open_upstream

__all__ = ["Detected", "Detector", "OpenUpstream", "open_upstream"]
