"""Verdicts as the Markdown, the LaTeX, the report and REPRODUCED.md show and count them, all alike."""

VERDICTS = (
    "match",
    "agrees",
    "not refuted",
    "differs",
    "contradicts",
    "unclear",
    "not comparable",
    "not run",
    "out of reach",
    "paper issue",
)

HOLDS = ("match", "agrees")
OPEN = ("unclear", "not refuted")
JUDGED = (*HOLDS, "not refuted", "differs", "contradicts", "unclear", "paper issue")

# word → (sign, LaTeX)
MARKS = {
    "match": ("=", "$=$"),
    "agrees": ("≈", r"$\approx$"),
    "not refuted": ("~", r"$\sim$"),
    "differs": ("≠", r"$\neq$"),
    "contradicts": ("×", r"$\times$"),
    "unclear": ("?", "?"),
    "paper issue": ("¶", r"\P{}"),
    "not comparable": ("·", r"$\cdot$"),
    "not run": ("–", "--"),
    "out of reach": ("↑", r"$\uparrow$"),
    "": ("", ""),
}
