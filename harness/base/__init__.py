"""What everything stands on: errors, files, folders, YAML, settings, random streams, threads."""
