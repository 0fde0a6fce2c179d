"""What the rules share: which files belong to an artefact, which run a wildcard names."""

from functools import partial

from harness.base.files import sha256_of
from harness.campaign import remake
from harness.code.code_id import step_id
from harness.make.fresh import decided_by, outputs
from harness.rehearsal.forecast import minutes


def spec_of(wildcards):
    return RUNS[wildcards.run]


def force(outdated, file):
    """Plan the job of this file though it is there; a job that Snakemake starts elsewhere is planned here."""
    if outdated and workflow.exec_mode == workflow.exec_mode.DEFAULT:
        workflow.dag.forcefiles.add(file)


def fetched_for(wildcards):
    """Notes of the image sets and truths that this run needs."""
    run = spec_of(wildcards)
    force(remake.is_outdated(run, LAYOUT), f"{RESULTS}/runs/{run.id}/run.json")
    return [f"{RESULTS}/data/{name}.json" for name in run.needs]


def runs_of(artefact):
    """What must be run first; nothing where what is lacking leaves holes."""
    return (
        []
        if HOLES
        else [f"{RESULTS}/runs/{run.id}/run.json" for run in artefact.runs(SCALE)]
    )


def files_of(artefact):
    """All files of an artefact, relative to the checkout."""
    return [str(p.relative_to(LAYOUT.root)) for p in outputs(artefact, LAYOUT.results)]


def shown(file, paper):
    """Marked for `snakemake --report` where it shows an artefact; this project's own report shows more."""
    return report(file, category=paper) if file.endswith((".html", ".svg")) else file


def made_of(artefact, wildcards):
    """The records and the YAML of an artefact."""
    force(remake.is_made_otherwise(artefact, LAYOUT, HOLES), files_of(artefact)[0])
    return [*runs_of(artefact), str(artefact.path.relative_to(LAYOUT.root))]


# With holes, only what some run is there for.
MADE = [a for a in ARTEFACTS.values() if not HOLES or remake.has_a_run(a, LAYOUT)]

# Every target names all that it stands on: where a file is missing between a target that is there and its
# sources (a record that was set aside), Snakemake would not look for it.
EVERYTHING = [
    *(f"{RESULTS}/runs/{run}/run.json" for run in RUNS),
    *(file for artefact in MADE for file in files_of(artefact)),
]


def accepted_so_far():
    """Digests of all that was accepted, and what was vouched for: they decide what is of older code."""
    published = LAYOUT.published.parent
    return [*sorted(published.glob("*/SHA256SUMS")), *published.glob("vouched.csv")]


def hashes_of(*paths):
    """A file may be edited and keep its date."""
    return [sha256_of(LAYOUT.root / path) for path in paths]


def pages_planned(workflow):
    """Older pages of these are taken away before a campaign, so that a failure leaves none behind."""
    jobs = workflow.dag.needrun_jobs()
    return [REPORT] if any(job.rule.name == "page" for job in jobs) else []
