"""What the rules share: which files belong to an artefact, which run a wildcard names."""

from harness.code_id import code_id
from harness.experiments import canonical
from harness.fresh import code_asked, decided_by, inputs_of
from harness.make import outputs


def spec_of(wildcards):
    return RUNS[wildcards.run]


def fetched_for(wildcards):
    """Notes of the image sets and truths that this run needs."""
    return [f"{RESULTS}/data/{name}.json" for name in spec_of(wildcards).needs]


def runs_of(artefact):
    return [f"{RESULTS}/runs/{run.id}/run.json" for run in artefact.runs(SCALE)]


def files_of(artefact):
    """All files of an artefact, relative to the checkout."""
    return [str(p.relative_to(LAYOUT.root)) for p in outputs(artefact, LAYOUT.results)]


# Every target names all that it stands on: where a file is missing between a target that is there and its
# sources (a record that was set aside), Snakemake would not look for it.
EVERYTHING = [
    *(f"{RESULTS}/runs/{run}/run.json" for run in RUNS),
    *(file for artefact in ARTEFACTS.values() for file in files_of(artefact)),
]


def files_of_paper(wildcards):
    mine = [a for a in ARTEFACTS.values() if a.paper == wildcards.paper]
    return [file for artefact in mine for file in files_of(artefact)]
