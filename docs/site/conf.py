"""How Sphinx builds the documentation site; .ci/site.py lays out the sources and calls it."""

project = "Steelyard"
author = "the authors of Steelyard"
extensions = ["myst_parser"]
root_doc = "index"
source_suffix = {".md": "markdown"}
html_theme = "furo"
html_title = "Steelyard"
html_show_sourcelink = False
html_copy_source = False
html_static_path = ["_static"]
html_css_files = ["steelyard.css"]
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#1f5f99", "color-brand-content": "#1f5f99"},
    "dark_css_variables": {"color-brand-primary": "#6cb0ea", "color-brand-content": "#6cb0ea"},
}
html_permalinks_icon = "#"
myst_heading_anchors = 4
pygments_style = "default"
pygments_dark_style = "github-dark"
highlight_language = "none"
nitpicky = True
