"""python -m harness."""

import os
import sys


def main() -> None:
    """In a process that is ready where a campaign has one (`harness.cli.warm`), otherwise here."""
    if "NAS_WARM" in os.environ:
        from harness.cli import warm

        code = warm.ask(sys.argv[1:])
        if code is not None:
            sys.exit(code)
    from harness.cli.commands import main as command

    command()


if __name__ == "__main__":
    main()
