"""The guides in docs/: what they tell to write works as it stands, and what they name is there."""

import re
import shlex

import pandas as pd
import pytest
import tiny

from harness.base.files import ROOT
from harness.base.settings import build
from harness.cli import commands
from harness.spec import artefacts
from harness.spec.experiments import paper_names

GUIDES = sorted((ROOT / "docs").glob("*.md"))
COMMANDS = [ROOT / "README.md", *GUIDES]


def block(guide: str, kind: str, beginning: str) -> str:
    """The code block of a guide that begins so, without the indent of its list."""
    text = (ROOT / "docs" / guide).read_text(encoding="utf-8")
    for indent, content in re.findall(rf"^( *)```{kind}\n(.*?)^ *```$", text, re.M | re.S):
        plain = re.sub(rf"^{indent}", "", content, flags=re.M)
        if plain.startswith(beginning):
            return plain.replace("mypaper", "mini")
    raise AssertionError(f"{guide} has no {kind} block that begins with {beginning!r}")


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    """A project of the guides' paper alone, with its table and a figure of the same cells."""
    root = tmp_path_factory.mktemp("guides")
    tiny.write(root, "reproduce/mini/__init__.py", '"""My paper."""\n')
    tiny.write(root, "reproduce/mini/NOTES.md", block("add-a-paper.md", "markdown", "# My paper"))
    tiny.write(root, "reproduce/mini/experiments.yaml", block("add-a-paper.md", "yaml", "paper:"))
    tiny.write(root, "reproduce/mini/nearest.py", block("add-a-paper.md", "python", '"""Section 4'))
    table = block("add-an-artefact.md", "yaml", "artefact:")
    tiny.write(root, "tables/mini/table_7.yaml", table)
    drawing = block("add-an-artefact.md", "python", '"""Figure 7')
    tiny.write(root, "figures/mini/figure_7.py", drawing)
    tiny.write(root, "figures/mini/colours.yaml", block("add-an-artefact.md", "yaml", "Digits:"))
    figure = table.split("claims:")[0].replace("mini/table_7", "mini/figure_7")
    figure = figure.replace("Nearest image", "200").replace("Five nearest", "500")
    tiny.write(root, "figures/mini/figure_7.yaml", figure + "figure: {x: training images, y: accuracy}\n")
    yield root
    tiny.forget()


def test_the_guide_s_paper_runs_at_smoke(root):
    layout = tiny.run_all(root)
    tiny.make_all(root)
    cells = pd.read_csv(layout.results / "tables/mini/table_7.cells.csv").set_index("row")
    assert cells["n"].to_list() == [2, 2] and cells["value"].between(80, 100).all()
    assert cells["verdict"].to_list()[0] == "not comparable" and cells["reported"].count() == 1
    assert (
        "Scale smoke (far from the published set-up: it shows that everything runs), 4 runs"
        in (layout.results / "tables/mini/table_7.md").read_text()
    )
    assert (layout.results / "figures/mini/figure_7.png").stat().st_size > 5000


def test_the_guide_s_claim_is_judged_from_cpu_on(root):
    layout = tiny.run_all(root, "cpu")
    tiny.make_all(root, "cpu")
    claims = pd.read_csv(layout.results / "tables/mini/table_7.claims.csv")
    assert claims["verdict"].isin(["agrees", "unclear", "contradicts"]).all() and len(claims) == 1


def test_the_guide_s_method_is_what_the_experiment_would_take():
    """The example of add-a-method.md: its first line stands in experiments.yaml, its second is new."""
    there, new = block("add-a-method.md", "yaml", "methods:").splitlines()[1:]
    experiments = (ROOT / "reproduce/sotl/experiments.yaml").read_text(encoding="utf-8")
    assert there.strip().rstrip("}") in experiments and new.split(":")[0].strip() not in experiments
    from reproduce.sotl.query_search import Config

    with pytest.raises(Exception, match="search is 'hill_climbing'"):
        build(Config, {"search": "hill_climbing"}, "a run")


@pytest.mark.parametrize("guide", GUIDES, ids=lambda p: p.name)
def test_every_link_and_every_file_named_is_there(guide):
    text = guide.read_text(encoding="utf-8")
    links = [link for link in re.findall(r"\]\(([^)#]+)\)", text) if "://" not in link]
    assert [link for link in links if not (guide.parent / link).exists()] == []
    files = re.findall(r"\b(?:harness|config|tests|benchmarks|reproduce/sotl)/[\w/]+\.(?:py|yaml|smk)", text)
    assert [file for file in files if not (ROOT / file).exists()] == []


@pytest.mark.parametrize("page", COMMANDS, ids=lambda p: p.name)
def test_every_command_that_is_told_exists(page):
    """Arguments in angle brackets or with an ellipsis are the reader's; a target is an artefact or a rule."""
    text = page.read_text(encoding="utf-8")
    targets = {a.target for a in artefacts.artefacts()} | {
        "all",
        "check",
        "report",
        *paper_names(),
        "mypaper_table_7",
    }
    for target in re.findall(r"^ *snakemake (\w+)", text, re.M) + re.findall(r"`snakemake (\w+)", text):
        assert target in targets, target
    for told in re.findall(r"(?:^ *|`)python -m harness ([^`#\n]+)", text, re.M):
        words = shlex.split(re.split(r"  +", told)[0])
        words = [f"{paper_names()[-1]}/table_1" if re.search(r"[<…]", word) else word for word in words]
        if words[1:]:
            commands._parser().parse_args(words)
        else:  # a command's name alone
            with pytest.raises(SystemExit) as left:
                commands._parser().parse_args([*words, "--help"])
            assert left.value.code == 0, words
