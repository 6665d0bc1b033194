"""The recording proxy: stands on loopback between any client and any model server, and keeps what goes by.

It forwards first and keeps afterwards. It holds no key: what a client sends goes to the server as it is, and into no
file.
"""
