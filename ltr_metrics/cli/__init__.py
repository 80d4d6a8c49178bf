"""The command ``ltr-metrics``.

Its exit status is 0 on success, 1 if a gate failed, and 2 if there is no result.
"""

from __future__ import annotations

import io
import sys
import traceback
import warnings
from collections.abc import Sequence

import click

from ltr_metrics import __version__
from ltr_metrics.cli.audit import audit
from ltr_metrics.cli.compare import compare
from ltr_metrics.cli.curve import curve
from ltr_metrics.cli.evaluate import evaluate
from ltr_metrics.cli.explain import explain
from ltr_metrics.cli.metrics import metrics
from ltr_metrics.cli.output import print_message
from ltr_metrics.cli.report import report
from ltr_metrics.cli.standard_streams import drop_unwritten, prepare_streams
from ltr_metrics.errors import LtrError, LtrWarning

__all__ = ["cli", "main"]

COULD_NOT_RUN = 2


class Commands(click.Group):
    """A group that lists its subcommands in the order in which they were added."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="ltr-metrics")
def cli() -> None:
    """Evaluate rankings per query, compare models, and write reports.

    \b
    Examples:
      ltr-metrics evaluate test.txt --model new=model.txt
      ltr-metrics compare test.txt --model base=old.txt --model new=model.txt \\
          --gate "ndcg@10 > -0.005"
      ltr-metrics report test.txt --model base=old.txt --model new=model.txt \\
          --output report.html

    The result goes to standard output or to the file of --output, which is written completely or
    not at all. All messages go to standard error. The exit status is 0 on success, 1 if a gate
    failed, and 2 if the command could not run or its result was lost.
    """  # noqa: D301  (click needs the escape character itself)


for command in (evaluate, compare, report, curve, explain, audit, metrics):
    cli.add_command(command)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command and exit with its status; print an error as one message."""
    prepare_streams()
    with warnings.catch_warnings():
        warnings.simplefilter("default", LtrWarning)
        warnings.showwarning = lambda message, *_, **__: print_message(f"warning: {message}")
        status = _run(arguments)
    drop_unwritten()
    sys.exit(status)


def _run(arguments: Sequence[str] | None) -> int:
    """Run the command and return its exit status."""
    output = sys.stdout
    try:
        return int(cli.main(args=arguments, prog_name="ltr-metrics", standalone_mode=False) or 0)
    except SystemExit as error:
        if sys.stdout is not output:  # click replaces it if the reader of the help has gone
            return 0
        print_message(f"ltr-metrics: error: a library ended the command with {error.code!r}.")
    except click.Abort:
        print_message("ltr-metrics: stopped.")
    except click.ClickException as error:
        message = io.StringIO()
        error.show(file=message)
        print_message(message.getvalue().rstrip("\n"))
    except (LtrError, OSError) as error:
        print_message(f"ltr-metrics: error: {error}")
    except MemoryError:
        print_message(
            "ltr-metrics: error: there is not enough memory. Read sorted files batch by batch with evaluate --sorted, "
            "and save the results for compare with --save."
        )
    except Exception:  # a bug; Python would exit with 1, which means that a gate failed
        print_message(traceback.format_exc().rstrip("\n"))
    return COULD_NOT_RUN
