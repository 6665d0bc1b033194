"""The pages that the extension shows in webviews: what their policy allows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from partstream.errors import UnexpectedValueError
from partstream.vscode.methods import InvalidParamsError
from partstream.vscode.pages.document import Nonces

if TYPE_CHECKING:
    from partstream.vscode import rpc_types as wire

__all__ = ["policy_of"]


def policy_of(params: wire.PageParams | wire.InspectParams | wire.FindingsPageParams) -> Nonces:
    """The policy of a page for the webview that asks for it.

    Raises:
        InvalidParamsError: The nonce or the source cannot stand in a policy.
    """
    try:
        return Nonces(params["nonce"], params["source"])
    except UnexpectedValueError as error:
        raise InvalidParamsError(f"params.{error.where}", error.got, error.expected) from error
