"""What a request loses on its way over Chat Completions with default settings."""

from partstream.protocols.prepared_losses import PREPARED

REQUEST = (*PREPARED,)
