"""A table or figure from its runs: Markdown, LaTeX, HTML, pictures, and whether they are of today."""
