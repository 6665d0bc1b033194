"""Takes keys, texts and personal data out of a recording, so that it can be given away."""
