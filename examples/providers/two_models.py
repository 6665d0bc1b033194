import asyncio
from collections.abc import Sequence

from partstream import (
    CancellationToken,
    ChatMessage,
    LanguageModelChatInformation,
    LanguageModelChatProvider,
    LanguageModels,
    Progress,
    RequestOptions,
    TextPart,
    user_request,
)


class Voices(LanguageModelChatProvider):
    async def provide_language_model_chat_information(
        self, silent: bool, token: CancellationToken
    ) -> Sequence[LanguageModelChatInformation]:
        return [
            LanguageModelChatInformation(
                "loud", "Loud", "voices", "1", max_input_tokens=8_000, max_output_tokens=8_000
            ),
            LanguageModelChatInformation(
                "quiet", "Quiet", "voices", "1", max_input_tokens=8_000, max_output_tokens=8_000
            ),
        ]

    async def provide_language_model_chat_response(
        self,
        model: LanguageModelChatInformation,
        messages: Sequence[ChatMessage],
        options: RequestOptions,
        progress: Progress,
        token: CancellationToken,
    ) -> None:
        said = user_request(messages)
        if not token.is_cancellation_requested:
            progress.report(TextPart(said.upper() if model.id == "loud" else said.lower()))

    async def provide_token_count(
        self, model: LanguageModelChatInformation, text: str | ChatMessage, token: CancellationToken
    ) -> int:
        return len(str(text)) // 4


async def main() -> None:
    async with LanguageModels() as models:
        models.register_language_model_chat_provider("example", Voices())
        for model in await models.select_chat_models({"vendor": "example"}):
            print(f"{model.name}: {await model.ask('Hello')}")


asyncio.run(main())
