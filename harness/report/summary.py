"""The head of the page: what was run, and how it came out."""

from collections import Counter

from harness.accepted.headline import CLASSES, OURS, SENTENCES, in_words, with_split
from harness.report.read import Paper


def verdicts(papers: list[Paper]) -> Counter[str]:
    """Of all that the papers print and say, and of claims of ours."""
    return sum((counts for paper in papers for counts in paper.classes.values()), Counter())


def facts(papers: list[Paper], scale: str) -> dict[str, str]:
    """What was run, when, and from which commit."""
    records = [record for paper in papers for record in paper.runs.values()]
    days = sorted(record[moment][:10] for record in records for moment in ("started", "ended"))
    commits = sorted({record["commit"][:10] for record in records if record["commit"]})
    hours = sum(record["seconds"] for record in records) / 3600
    took = f"{hours:,.1f} h" if hours >= 0.1 else f"{hours * 60:,.1f} min"
    return {
        "Scale": scale,
        "Runs": f"{len(records):,} in {took}",
        "Dates": " to ".join(dict.fromkeys([days[0], days[-1]])) if days else "none yet",
        "Commits" if len(commits) > 1 else "Commit": ", ".join(commits) or "none",
    }


def sentence(papers: list[Paper]) -> str:
    """How the papers' sentences fare; what was counted or read back can hardly fail, and stands below."""
    found = classes(papers)
    told = in_words(sum((found.get(name, Counter()) for name in SENTENCES), Counter()), "")
    return f"Of the papers\u2019 claims {told}" if told else "No claim is tested at this scale yet"


def classes(papers: list[Paper]) -> dict[str, Counter[str]]:
    """Verdicts of all papers by class, in the order of the classes."""
    found: dict[str, Counter[str]] = {}
    for name in (*CLASSES, OURS):
        counts = sum((paper.classes.get(name, Counter()) for paper in papers), Counter())
        found |= {name: counts} if counts else {}
    return found


def in_classes(papers: list[Paper]) -> dict[str, str]:
    """The same in words; claims of ours stand last and apart."""
    earlier = sum((paper.earlier for paper in papers), Counter())
    return with_split(classes(papers), earlier)
