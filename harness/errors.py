"""The one exception that a user is meant to read."""


class HarnessError(Exception):
    """A mistake or a missing thing, told in one sentence: what, where, what to do."""


# The last word of whatever Ctrl-C ends.
INTERRUPTED = "interrupted; the same command goes on where it stopped"
