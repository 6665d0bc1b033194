from collections.abc import AsyncIterator, Sequence

from partstream import (
    ChatMessage,
    RequestOptions,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    chat_model,
    user_request,
)


@chat_model(name="Reader")
async def provider(messages: Sequence[ChatMessage], options: RequestOptions) -> AsyncIterator[str | ToolCallPart]:
    results = [part for part in messages[-1].content if isinstance(part, ToolResultPart)]
    names = [tool.name for tool in options.tools]
    if results:
        texts = [item.value for item in results[0].content if isinstance(item, TextPart)]
        yield f"The file says: {''.join(texts)}"
    elif "read_file" in names:
        yield "Let me look. "
        yield ToolCallPart("call-1", "read_file", {"filePath": user_request(messages)})
    else:
        yield f"I was offered no read_file, only {', '.join(names) or 'nothing'}."
