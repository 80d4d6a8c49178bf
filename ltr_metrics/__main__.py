"""``python -m ltr_metrics`` and the command ``ltr-metrics``."""

import os
import sys
from contextlib import suppress
from traceback import format_exc

from ltr_metrics.errors import MissingExtraError


def main() -> None:
    """Run the command line; if it cannot be imported, explain why and exit with status 2."""
    try:
        from ltr_metrics.cli import main as run
    except Exception as error:  # Python would exit with 1, which means that a gate failed
        is_click_missing = isinstance(error, ModuleNotFoundError) and error.name == "click"
        reason = (
            f"error: {MissingExtraError('click', 'report')}" if is_click_missing else f"cannot start.\n{format_exc()}"
        )
        with suppress(OSError):  # standard error may be closed or full
            os.write(2, f"ltr-metrics: {reason}\n".encode())
        sys.exit(2)
    run()


if __name__ == "__main__":
    main()
