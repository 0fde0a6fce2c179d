"""From experiments.yaml to a checked table: runs, artefacts, verdicts, report."""

import sys

from snakemake.utils import min_version

from harness.base.errors import HarnessError
from harness.base.layout import Layout
from harness.campaign import campaign, remake
from harness.cli import warm
from harness.spec.artefacts import artefacts, needed_runs
from harness.spec.experiments import paper_names

min_version("9.27.0")


workdir: workflow.basedir  # from wherever the command was given; --directory is stronger, and refused


configfile: f"{workflow.basedir}/config/config.yaml"


try:
    campaign.answer_ctrl_c()
    campaign.require_place()
    SCALE = campaign.scale_of(config)
    LAYOUT = Layout(SCALE)
    RESULTS = f"results/{SCALE}"
    PAPERS = campaign.papers_of(config, paper_names())
    HOLES = campaign.holes_of(config)
    ARTEFACTS = {a.name: a for a in artefacts() if a.paper in PAPERS}
    RUNS = {r.id: r for r in needed_runs(SCALE) if r.paper in PAPERS and not HOLES}
    campaign.before_planning(workflow, list(RUNS.values()), LAYOUT)
except HarnessError as error:
    sys.exit(f"snakemake: {error}")


wildcard_constraints:
    run=r"[a-z]+/[^/]+/[^/]+/[^/]+/s\d+",
    source="[a-z0-9-]+",
    paper="[a-z]+",


include: "reproduce/rules/common.smk"
include: "reproduce/rules/runs.smk"
include: "reproduce/rules/artefacts.smk"
include: "reproduce/rules/report.smk"


rule all:
    default_target: True
    input:
        REPORT,
        EVERYTHING,


campaign.listen(workflow, SCALE)


onstart:
    remake.refuse_touch(workflow.touch)
    if workflow.local_exec:
        warm.start(workflow.dag.needrun_jobs())
    campaign.begin(workflow, list(RUNS.values()), LAYOUT)
    campaign.forget(LAYOUT, pages_planned(workflow))


onsuccess:
    campaign.end()
    warm.stop()


onerror:
    campaign.end()
    warm.stop()
    # Not at the top: it loads what planning need not wait for.
    from harness.report import after_failure

    after_failure(LAYOUT, campaign.failures, pages_planned(workflow))
