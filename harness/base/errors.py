"""The one exception that a user is meant to read."""

import errno
from collections.abc import Iterator
from contextlib import contextmanager


class HarnessError(Exception):
    """A mistake or a missing thing, told in one sentence: what, where, what to do."""


# The last word of whatever Ctrl-C ends.
INTERRUPTED = "interrupted; the same command goes on where it stopped"


@contextmanager
def reading(name: object, what: str, then: str = "get it again") -> Iterator[None]:
    """What a parser raises on foreign bytes (anything: no list of it was ever whole) as one sentence."""
    try:
        yield
    except HarnessError:
        raise
    except Exception as error:
        if isinstance(error, OSError) and error.errno not in (None, errno.EINVAL):
            raise  # the disk's, not the bytes'
        cause = " ".join(f"{type(error).__name__}: {error}".split())
        raise HarnessError(f"{name} {what} ({cause[:200]}): {then}") from error
