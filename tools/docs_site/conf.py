"""How Sphinx makes the site of the Markdown in this repository: `make docs`.

The repository itself is the folder of sources, so that a relative link between two pages leads to the same page on a
Git forge and in the site.
"""

from __future__ import annotations
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
PROJECT = HERE.parents[1]
sys.path.insert(0, str(HERE))

from partstream import __version__  # noqa: E402 - the line above is for the extensions, which are in this folder

project = "Partstream"
author = "the authors of Partstream"
version = release = __version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "markdown_pages",
    "navigation",
    "pictures",
    "public_names",
    "readers",
    "source_pages",
]
root_doc = "docs/index"
include_patterns = ["docs/**.md", "ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md"]
# The home page says what the README says, so the README is no page of the site.
# Sphinx walks through every folder that is not excluded.
exclude_patterns = sorted(
    f"{folder.name}/**" for folder in PROJECT.iterdir() if folder.is_dir() and folder.name != "docs"
)
# Signatures name types where they are defined, and the reference names them where they are imported from.
nitpicky = False

myst_enable_extensions = ["attrs_inline"]
myst_heading_anchors = 6

autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True
default_role = "code"
napoleon_numpy_docstring = False
napoleon_use_ivar = True
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 100

# Thousands of members in the navigation of each page would take most of the time; the search finds them.
toc_object_entries = False

html_theme = "furo"
html_title = f"Partstream {__version__}"
html_static_path = ["static"]
templates_path = ["templates"]
html_css_files = ["site.css"]
html_search_scorer = str(HERE / "scorer.js")
html_extra_path = ["root"]
html_copy_source = False
# A browser fetches no text for it where the site is opened from files.
html_show_search_summary = False
html_show_sphinx = False
html_show_copyright = False
html_theme_options = {"navigation_with_keys": True}
