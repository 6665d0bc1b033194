"""Reads a server's lists of models and makes the model information for VS Code. Opens no socket: callers fetch."""

import partstream.codec.system  # noqa: F401 - for its effect
from partstream.models.catalogue import Catalogue, read_catalogue
from partstream.models.discovery import DiscoverySettings, FetchResponse, ModelDiscovery
from partstream.models.disk_cache import DiskCache
from partstream.models.filters import ModelOverride, ModelSelection, OfferedModel, offered_models
from partstream.models.identity import ModelIdentity, parse_identity
from partstream.models.information import information_of
from partstream.models.limits import LimitPolicy, LimitSettings, ModelLimits, limits_of
from partstream.models.records import Fact, ModelRecord, Pricing, Source

__all__ = [
    "Catalogue",
    "DiscoverySettings",
    "DiskCache",
    "Fact",
    "FetchResponse",
    "LimitPolicy",
    "LimitSettings",
    "ModelDiscovery",
    "ModelIdentity",
    "ModelLimits",
    "ModelOverride",
    "ModelRecord",
    "ModelSelection",
    "OfferedModel",
    "Pricing",
    "Source",
    "information_of",
    "limits_of",
    "offered_models",
    "parse_identity",
    "read_catalogue",
]
