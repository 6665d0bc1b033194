import asyncio

from parrot import provider

from partstream import CheckMode, TextPart, connect


def test_the_parrot_says_what_it_heard_word_by_word() -> None:
    async def ask() -> None:
        async with connect(provider, contract_mode=CheckMode.STRICT) as model:
            response = model.stream("Hello there")
            assert [part async for part in response] == [TextPart("Hello "), TextPart("there ")]

    asyncio.run(ask())
