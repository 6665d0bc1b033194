"""Writes the model of a GGUF file as the folder that transformers loads; runs in the environment of transformers.

`python unpack.py FILE.gguf FOLDER`. A model of 135 million parameters takes half a minute and 540 MB.
"""

import sys
from pathlib import Path

from transformers import AutoModelForCausalLM, AutoTokenizer  # type: ignore[import-not-found]

if __name__ == "__main__":
    source, target = Path(sys.argv[1]), Path(sys.argv[2])
    unfinished = target.with_name(f"{target.name}.unfinished")
    AutoTokenizer.from_pretrained(source.parent, gguf_file=source.name).save_pretrained(unfinished)
    model = AutoModelForCausalLM.from_pretrained(source.parent, gguf_file=source.name)
    model.hf_quantizer = None  # its weights are plain numbers by now; transformers would refuse to write them
    model.config.__dict__.pop("quantization_config", None)
    model.save_pretrained(unfinished)
    unfinished.rename(target)
