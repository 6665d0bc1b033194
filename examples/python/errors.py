import asyncio

from partstream import (
    LanguageModelError,
    LanguageModelErrorCode,
    TruncatedStreamError,
    UpstreamConnectionError,
    UpstreamHTTPError,
    connect,
)


async def main() -> None:
    async with connect("http://localhost:1234/v1", model="text") as model:
        for words in ("fault:status=401", "fault:truncate=8", "scenario:failed"):
            response = model.stream(words)
            try:
                await response.read_text()
            except UpstreamHTTPError as error:
                print(error.http_status, error.code is LanguageModelErrorCode.NO_PERMISSIONS)
            except (UpstreamConnectionError, TruncatedStreamError) as error:
                print(type(error).__name__, f"after {len(response.parts)} parts")
            except LanguageModelError as error:
                print(error)


asyncio.run(main())
