"""Chooses one model of a vendor, or says why there is none."""

from __future__ import annotations

from typing import TYPE_CHECKING

from partstream.consumer.running_request import as_language_model_error
from partstream.errors import LanguageModelError, LanguageModelErrorCode, PartstreamError, UnknownModelError

if TYPE_CHECKING:
    from partstream.consumer.language_model_chat import LanguageModelChat
    from partstream.consumer.language_models import LanguageModels

__all__ = ["choose_model"]


async def choose_model(models: LanguageModels, vendor: str, model_id: str | None) -> LanguageModelChat:
    """The model of this id, or the first that the vendor lists.

    Raises:
        LanguageModelError: The models cannot be listed, there are none, or none has this id.
        PartstreamError: The vendor's own error of listing its models.
    """
    offered = {one.id: one for one in await models.select_chat_models({"vendor": vendor})}
    error = models.provider_errors.get(vendor)
    if error is not None:
        raise error if isinstance(error, PartstreamError) else as_language_model_error(error, vendor)
    if not offered:
        raise LanguageModelError(
            f"{vendor} lists no language models: name one with model=", LanguageModelErrorCode.NOT_FOUND
        )
    if model_id is not None and model_id not in offered:
        raise UnknownModelError(model_id, tuple(offered))
    return offered[model_id] if model_id is not None else next(iter(offered.values()))
