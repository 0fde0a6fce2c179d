"""`logger: campaign` of profiles/: Snakemake finds a logger by its package's name.

Nothing of `harness` is imported here: the Snakefile gives the ears, which are of its own checkout.
"""

import sys

from snakemake.logging import ColorizingTextHandler
from snakemake_interface_logger_plugins.base import LogHandlerBase


class LogHandler(LogHandlerBase, ColorizingTextHandler):
    """What Snakemake writes without a logger, but for what one of the ears tells in another way."""

    writes_to_stream = True
    writes_to_file = has_filter = has_formatter = needs_rulegraph = False
    emit = ColorizingTextHandler.emit

    def __post_init__(self):
        stream = sys.stdout if self.common_settings.stdout else sys.stderr
        ColorizingTextHandler.__init__(self, self.common_settings.nocolor, stream)
        self.ears = []

    def handle(self, record):
        """Before Snakemake's own filter, which drops the events that `quiet` keeps from the screen."""
        try:
            return all([ear(record) for ear in self.ears]) and super().handle(record)
        except Exception:  # it would end the thread that listens, and nobody would be heard any more
            return self.handleError(record)
