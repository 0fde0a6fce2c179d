"""The report, and the check against what was accepted."""

# What the page shows beside artefacts and records, and how.
PAGE = expand(
    "harness/report/{part}", part=["page.html", "artefact.html", "page.css", "page.js"]
)
REPORT = f"{RESULTS}/report/{config.get('paper', 'index')}.html"
PAGE += expand(
    "reproduce/{paper}/{part}", paper=PAPERS, part=["NOTES.md", "experiments.yaml"]
)


rule page:
    input:
        EVERYTHING,
        PAGE,
    output:
        REPORT,
    log:
        f"{RESULTS}/log/report.log",
    conda:
        "../../environment.yml"
    params:
        scale=SCALE,
        code=step_id("harness.report"),
        paper=f"--paper {PAPERS[0]}" if "paper" in config else "",
        sources=hashes_of(*PAGE, *accepted_so_far()),
    shell:
        "python -m harness report --scale {params.scale} {params.paper} > {log} 2>&1"


rule report:
    input:
        REPORT,
        EVERYTHING,


rule check:
    input:
        EVERYTHING,
    log:
        f"{RESULTS}/log/check.log",
    conda:
        "../../environment.yml"
    params:
        scale=SCALE,
    shell:
        "python -m harness check --replay --scale {params.scale} 2>&1 | tee {log}"
