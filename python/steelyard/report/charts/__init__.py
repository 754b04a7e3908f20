"""Static charts as SVG text, one chart a file; colours come from the page's style sheet."""
