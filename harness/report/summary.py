"""The head of the page: what was run, and how it came out."""

from collections import Counter

from harness.numbers.verdict_words import HOLDS, JUDGED
from harness.report.read import Paper


def verdicts(papers: list[Paper]) -> Counter[str]:
    """Of all numbers and claims."""
    return sum((paper.numbers + paper.claims for paper in papers), Counter())


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
    """How the papers fare, in one sentence."""
    counts = verdicts(papers)
    judged = sum(counts[word] for word in JUDGED)
    if not judged:
        return "Nothing is judged at this scale yet"
    hold, fail = sum(counts[word] for word in HOLDS), counts["differs"] + counts["contradicts"]
    told = [f"{hold:,} of {judged:,} judged numbers and claims hold"]
    if fail:
        told.append(f"{fail:,} {'does' if fail == 1 else 'do'} not")
    if counts["unclear"]:
        told.append(f"{counts['unclear']:,} unclear")
    if issues := counts["paper issue"]:
        told.append(f"{issues:,} {'is an issue' if issues == 1 else 'are issues'} of the paper")
    printed = Counter(n.verdict for p in papers for s in p.sections for n in s.numbers if n.reported)
    asked = printed + sum((paper.claims for paper in papers), Counter())
    rest = sum(n for word, n in asked.items() if word not in JUDGED)
    return ", ".join(told) + (f"; {rest:,} are not judged" if rest else "")
