"""The command line, and the process that has its libraries loaded."""
