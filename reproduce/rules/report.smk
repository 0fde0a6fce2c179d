"""Verdicts per paper, the report, and the check against what was accepted."""


rule verdicts:
    input:
        files_of_paper,
        "reproduce/{paper}/NOTES.md",
        "reproduce/{paper}/experiments.yaml",
    output:
        f"{RESULTS}/check/{{paper}}.json",
    log:
        f"{RESULTS}/log/verdicts/{{paper}}.log",
    conda:
        "../../environment.yml"
    params:
        scale=SCALE,
        code=code_id("harness.verdicts"),
    shell:
        "python -m harness verdicts {wildcards.paper} --scale {params.scale} > {log} 2>&1"


rule page:
    input:
        expand(f"{RESULTS}/check/{{paper}}.json", paper=PAPERS),
        expand("harness/report/page.{part}", part=["html", "css", "js"]),
    output:
        f"{RESULTS}/report/index.html",
    log:
        f"{RESULTS}/log/report.log",
    conda:
        "../../environment.yml"
    params:
        scale=SCALE,
        code=code_id("harness.report"),
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
