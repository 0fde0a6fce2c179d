"""A campaign of runs: Snakemake's main process, what is made again, how far it is."""
