"""How a verdict looks in one character: the same sign in Markdown, LaTeX and the report."""

# word → (sign, LaTeX)
MARKS = {
    "match": ("=", "$=$"),
    "agrees": ("≈", r"$\approx$"),
    "differs": ("≠", r"$\neq$"),
    "contradicts": ("×", r"$\times$"),
    "unclear": ("?", "?"),
    "paper issue": ("¶", r"\P{}"),
    "not comparable": ("·", r"$\cdot$"),
    "not run": ("–", "--"),
    "out of reach": ("↑", r"$\uparrow$"),
    "": ("", ""),
}
