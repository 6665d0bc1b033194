"""Values that we write as YAML are what a reader of YAML reads."""

import yaml
from hypothesis import given
from hypothesis import strategies as st

from partstream_hub.commands_deploy import yaml_text

TEXTS = st.text(st.characters(exclude_categories=("Cs",)), max_size=12) | st.sampled_from(
    ["on", "No", "1.5", "1e3", "0x1f", "~", "null", "a: b", "- x", "#", "", " ", "2024-01-01", "1:30", "'", '"', "/a/b"]
)
SCALARS = TEXTS | st.integers() | st.booleans() | st.none()
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3))


@given(st.dictionaries(TEXTS, VALUES, min_size=1, max_size=4) | st.lists(VALUES, min_size=1, max_size=4))
def test_what_is_written_is_read_again(value):
    assert yaml.safe_load(yaml_text(value)) == value
