from collections.abc import AsyncIterator, Sequence

from partstream import ChatMessage, DataPart, RequestOptions, chat_model


@chat_model(name="Viewer", image_input=True)
async def provider(messages: Sequence[ChatMessage], options: RequestOptions) -> AsyncIterator[str | DataPart]:
    for part in messages[-1].content:
        if isinstance(part, DataPart) and part.mime_type.startswith("image/"):
            yield f"I got {part.mime_type} of {len(part.data)} bytes."
            yield DataPart.json({"bytes": len(part.data)})  # for programs: a chat does not show it
