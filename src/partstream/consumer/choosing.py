"""Lists the models of one vendor and chooses one of them, or says why there is none."""

from __future__ import annotations

from typing import TYPE_CHECKING

from partstream.consumer.running_request import as_language_model_error
from partstream.errors import LanguageModelError, LanguageModelErrorCode, PartstreamError, UnknownModelError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from partstream.consumer.language_model_chat import LanguageModelChat
    from partstream.consumer.language_models import LanguageModels

__all__ = ["choose_model", "offered_models"]


async def offered_models(models: LanguageModels, vendor: str) -> Sequence[LanguageModelChat]:
    """The models that a vendor lists.

    Raises:
        LanguageModelError: They cannot be listed; the message names the line of the provider's code, if that failed.
        PartstreamError: The vendor's own error of listing its models.
    """
    offered = await models.select_chat_models({"vendor": vendor})
    error = models.provider_errors.get(vendor)
    if error is not None:
        raise error if isinstance(error, PartstreamError) else as_language_model_error(error, vendor)
    return offered


async def choose_model(models: LanguageModels, vendor: str, model_id: str | None) -> LanguageModelChat:
    """The model of this id, or the first that the vendor lists.

    Raises:
        LanguageModelError: The models cannot be listed, there are none, or none has this id.
        PartstreamError: The vendor's own error of listing its models.
    """
    offered = {one.id: one for one in await offered_models(models, vendor)}
    if not offered:
        raise LanguageModelError(
            f"{vendor} lists no language models: name one with model=", LanguageModelErrorCode.NOT_FOUND
        )
    if model_id is not None and model_id not in offered:
        raise UnknownModelError(model_id, tuple(offered))
    return offered[model_id] if model_id is not None else next(iter(offered.values()))
