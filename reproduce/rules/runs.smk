"""One job per run. Its record says of which config, threads, code and data it is: that decides, not a date."""


rule fetch:
    output:
        f"{RESULTS}/data/{{source}}.json",
    log:
        f"{RESULTS}/log/fetch/{{source}}.log",
    conda:
        "../../environment.yml"
    params:
        scale=SCALE,
    shell:
        "python -m harness fetch {wildcards.source} --scale {params.scale} > {log} 2>&1"


rule run:
    input:
        ancient(fetched_for),
    output:
        f"{RESULTS}/runs/{{run}}/run.json",
    log:
        f"{RESULTS}/log/runs/{{run}}.log",
    conda:
        "../../environment.yml"
    threads: lambda wildcards: spec_of(wildcards).resources["threads"]
    resources:
        gpu=lambda wildcards: spec_of(wildcards).resources["gpu"],
        mem_mb=lambda wildcards: spec_of(wildcards).resources["mem_mb"],
        runtime=lambda wildcards: minutes(spec_of(wildcards)),
    params:
        scale=SCALE,
    shell:
        "python -m harness run {wildcards.run} --scale {params.scale} --threads {threads} > {log} 2>&1"
