"""A real language model inside this process: no server, no key.

`partstream demo --real` installs what it needs. Run `python examples/local_model.py "Why is the sky blue?"`, or give
the file to a command or to VS Code: `partstream chat --provider examples/local_model.py`.
"""

import asyncio
import sys

from partstream import PartstreamError, TextPart, connect
from partstream.runtime.local_model import LocalModel

provider = LocalModel(longest_answer=200)
# Any other model is one GGUF file: LocalModel("Qwen3-4B-Q4_K_M.gguf", context=32_768, calls_tools=True)


async def main(question: str) -> None:
    """Prints the answer as it comes."""
    async with connect(provider) as model:
        response = model.stream(question)
        async for part in response:
            if isinstance(part, TextPart):
                print(part.value, end="", flush=True)
    print()
    if response.usage is not None and response.finish_reason is not None:
        print(response.usage.output_tokens, "tokens, then", response.finish_reason.unified)


if __name__ == "__main__":
    try:
        asyncio.run(main(" ".join(sys.argv[1:]) or "Say hello in French."))
    except PartstreamError as error:
        sys.exit(str(error))
