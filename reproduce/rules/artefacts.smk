"""One job per printed table or figure: its runs' records → rows → cells → files; and its alias."""

for _artefact in ARTEFACTS.values():

    rule:
        name:
            f"make_{_artefact.target}"
        input:
            partial(made_of, _artefact),
        output:
            [shown(file, _artefact.paper) for file in files_of(_artefact)],
        log:
            f"{RESULTS}/log/{_artefact.name}.log",
        conda:
            "../../environment.yml"
        params:
            scale=SCALE,
            artefact=_artefact.name + " --holes" * HOLES,
            sources=decided_by(_artefact, SCALE),
        shell:
            "python -m harness make {params.artefact} --scale {params.scale} > {log} 2>&1"

    rule:
        name:
            _artefact.target
        input:
            runs_of(_artefact),
            files_of(_artefact),


# `snakemake icw`: all that one paper has.
for _paper in PAPERS:

    rule:
        name:
            _paper
        input:
            [runs_of(a) + files_of(a) for a in MADE if a.paper == _paper],
