"""One folder a wire protocol; what is here knows no protocol by name."""
