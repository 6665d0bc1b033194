"""Writes the model of a GGUF file as the folder that transformers loads; runs in the environment of transformers.

`python unpack.py FILE.gguf FOLDER`. A model of 135 million parameters takes half a minute and 540 MB.
"""

import sys
from pathlib import Path

from transformers import AutoModelForCausalLM, AutoTokenizer  # type: ignore[import-not-found]

if __name__ == "__main__":
    source, target = Path(sys.argv[1]), Path(sys.argv[2])
    unfinished = target.with_name(f"{target.name}.unfinished")
    for part in (AutoTokenizer, AutoModelForCausalLM):
        part.from_pretrained(source.parent, gguf_file=source.name).save_pretrained(unfinished)
    unfinished.rename(target)
