"""``python -m ltr_metrics`` and the command ``ltr-metrics``."""

import os
import sys
from contextlib import suppress
from traceback import format_exc

from ltr_metrics.errors import MissingExtraError


def main() -> None:
    """Run the command line, or say what is not installed."""
    try:
        from ltr_metrics.cli import main as run
    except Exception as error:  # Python would exit with 1, which says that a gate failed
        is_click = isinstance(error, ModuleNotFoundError) and error.name == "click"
        reason = f"error: {MissingExtraError('click', 'report')}" if is_click else f"cannot start.\n{format_exc()}"
        with suppress(OSError):
            os.write(2, f"ltr-metrics: {reason}\n".encode())  # the stream may be closed or full
        sys.exit(2)
    run()


if __name__ == "__main__":
    main()
