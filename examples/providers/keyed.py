from collections.abc import AsyncIterator, Sequence

from partstream import ChatMessage, LanguageModelError, RequestOptions, chat_model


@chat_model(name="Forecast", pricing="$0.01 an answer")
async def provider(messages: Sequence[ChatMessage], options: RequestOptions) -> AsyncIterator[str]:
    key = options.configuration.get("apiKey")
    if not key:
        raise LanguageModelError.no_permissions("Forecast needs a key: choose Update API Key at the gear of its group.")
    yield f"The forecast for {options.configuration.get('city', 'Lisbon')}, with a key of {len(key)} characters."
