"""``python -m ltr_metrics`` and the command ``ltr-metrics``."""

import sys

from ltr_metrics.errors import MissingExtraError


def main() -> None:
    """Run the command line, or say what is not installed."""
    try:
        from ltr_metrics.cli import main as run
    except ModuleNotFoundError as error:
        if error.name != "click":
            raise
        print(f"ltr-metrics: error: {MissingExtraError('click', 'report')}", file=sys.stderr)  # noqa: T201
        sys.exit(2)
    run()


if __name__ == "__main__":
    main()
