"""The one exception that a user is meant to read."""


class HarnessError(Exception):
    """A mistake or a missing thing, told in one sentence: what, where, what to do."""
