"""Conversations in a form that every protocol can send: the meaning of messages, before any wire form; no I/O.

The entrance is :func:`partstream.conversation.preparation.prepare`: it makes a
:class:`partstream.conversation.chat_request.ChatRequest` of messages and options, which a protocol's folder only has to
write.
"""
