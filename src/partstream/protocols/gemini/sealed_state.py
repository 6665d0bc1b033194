"""The state of thinking that this wire has no field for, in a signature.

Clients give back every signature as it came (docs/wires/gemini.md#signatures). So the state of other protocols, and who
gave the state, is in the signature of an empty text, which no server but ours reads. A signature is base64, as the
official clients want it.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final

from partstream.protocols.provider_state import beside_items, open_state, seal_state

if TYPE_CHECKING:
    from collections.abc import Mapping

    from partstream.protocols.provider_state import OpaqueState

__all__ = ["is_made_up", "made_up_signature", "read_sealed", "sealed_signature"]

_MADE_UP: Final = b"partstream0."


def sealed_signature(item: Mapping[str, Any] | None, metadata: Mapping[str, Any]) -> str | None:
    """The signature that carries an item; None if JSON has no form for it.

    Args:
        item: The item, or None where the metadata lists none.
        metadata: The metadata that it stands in.
    """
    sealed = seal_state(item, beside_items(metadata))
    return None if sealed is None else b64encode(sealed.encode()).decode()


def read_sealed(signature: str) -> OpaqueState | None:
    """Opens what :func:`sealed_signature` made; None for any other signature."""
    return open_state(_decoded(signature).decode("ascii", "replace"))


def made_up_signature(call_id: str) -> str:
    """A signature for a call of a model that signs calls, where nothing gave one: its clients wait for it."""
    return b64encode(_MADE_UP + sha256(call_id.encode(errors="surrogatepass")).hexdigest().encode()).decode()


def is_made_up(signature: str) -> bool:
    """Whether a signature is one of :func:`made_up_signature`, which carries nothing."""
    return _decoded(signature).startswith(_MADE_UP)


def _decoded(signature: str) -> bytes:
    """The bytes of a signature in either alphabet; none for what is no base64."""
    said = signature.replace("-", "+").replace("_", "/").rstrip("=")
    try:
        return b64decode(said + "=" * (-len(said) % 4), validate=True)
    except ValueError:
        return b""
