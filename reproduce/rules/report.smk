"""Verdicts per paper, the report, and the check against what was accepted."""

PAGE = expand("harness/report/page.{part}", part=["html", "css", "js"])


rule verdicts:
    input:
        files_of_paper,
        lambda wildcards: papers_files(wildcards.paper),
    output:
        f"{RESULTS}/check/{{paper}}.json",
    log:
        f"{RESULTS}/log/verdicts/{{paper}}.log",
    conda:
        "../../environment.yml"
    params:
        scale=SCALE,
        code=step_id("harness.report.collect"),
        sources=lambda wildcards: hashes_of(*papers_files(wildcards.paper)),
    shell:
        "python -m harness verdicts {wildcards.paper} --scale {params.scale} > {log} 2>&1"


rule page:
    input:
        expand(f"{RESULTS}/check/{{paper}}.json", paper=PAPERS),
        PAGE,
    output:
        f"{RESULTS}/report/index.html",
    log:
        f"{RESULTS}/log/report.log",
    conda:
        "../../environment.yml"
    params:
        scale=SCALE,
        code=step_id("harness.report"),
        sources=hashes_of(*PAGE),
    shell:
        "python -m harness report --scale {params.scale} > {log} 2>&1"


rule report:
    input:
        f"{RESULTS}/report/index.html",
        EVERYTHING,


rule check:
    input:
        EVERYTHING,
        expand(f"{RESULTS}/check/{{paper}}.json", paper=PAPERS),
    log:
        f"{RESULTS}/log/check.log",
    conda:
        "../../environment.yml"
    params:
        scale=SCALE,
    shell:
        "python -m harness check --replay --scale {params.scale} 2>&1 | tee {log}"
