"""What is asked for: experiments.yaml and the YAML of tables and figures, as typed objects."""
