"""Conversations as every protocol can send them: what a message means, before any wire form; sans-IO.

:func:`partstream.conversation.preparation.prepare` is the way in: messages and options become a
:class:`partstream.conversation.chat_request.ChatRequest`, which a protocol's folder only has to write down.
"""
