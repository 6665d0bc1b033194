from collections.abc import AsyncIterator, Sequence

from partstream import ChatMessage, KeyNeededError, RequestOptions, chat_model


@chat_model(name="Forecast", pricing="$0.01 an answer")
async def provider(messages: Sequence[ChatMessage], options: RequestOptions) -> AsyncIterator[str]:
    key = options.configuration.get("apiKey")
    if not key:
        raise KeyNeededError("Forecast needs the key of its service.")
    yield f"The forecast for {options.configuration.get('city', 'Lisbon')}, with a key of {len(key)} characters."
