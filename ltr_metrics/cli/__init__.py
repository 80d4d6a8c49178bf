"""The command ``ltr-metrics``. Exit status: 0, 1 when a gate failed, or 2 when there is no result."""

from __future__ import annotations

import io
import sys
import traceback
import warnings
from collections.abc import Sequence

import click

from ltr_metrics import __version__
from ltr_metrics.cli.compare import compare
from ltr_metrics.cli.evaluate import evaluate
from ltr_metrics.cli.explain import explain
from ltr_metrics.cli.output import tell
from ltr_metrics.cli.report import report
from ltr_metrics.cli.streams import drop_unwritten, prepare_streams
from ltr_metrics.errors import LtrError, LtrWarning

__all__ = ["cli", "main"]

COULD_NOT_RUN = 2


class Commands(click.Group):
    """Commands in the order in which one comes to need them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="ltr-metrics")
def cli() -> None:
    """Ranking evaluation: what a ranker's scores are worth, per query.

    \b
    From the training to the release:
      ltr-metrics evaluate test.txt --model new=model.txt
      ltr-metrics compare test.txt --model base=old.txt --model new=model.txt \\
          --gate "ndcg@10 > -0.005"
      ltr-metrics report test.txt --model base=old.txt --model new=model.txt \\
          --output report.html

    Results go to the terminal or into --output, which is written whole or not at all; all else goes to standard error. Exit status: 0; 1 if a
    gate failed; 2 if the command could not run or its result was lost.
    """  # noqa: D301  (click wants the character itself)


for command in (evaluate, compare, report, explain):
    cli.add_command(command)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command and leave with its exit status; an error of the user's is one message on standard error."""
    prepare_streams()
    with warnings.catch_warnings():
        warnings.simplefilter("default", LtrWarning)
        warnings.showwarning = lambda message, *_, **__: tell(f"warning: {message}")
        status = _status(arguments)
    drop_unwritten()
    sys.exit(status)


def _status(arguments: Sequence[str] | None) -> int:
    output = sys.stdout
    try:
        return int(cli.main(args=arguments, prog_name="ltr-metrics", standalone_mode=False) or 0)
    except SystemExit as left:
        if sys.stdout is not output:  # click replaces it where the reader of the help has gone
            return 0
        tell(f"ltr-metrics: error: a library ended the command, with {left.code!r}.")
    except click.Abort:
        tell("ltr-metrics: stopped.")
    except click.ClickException as error:
        tell(_usage(error))
    except (LtrError, OSError) as error:
        tell(f"ltr-metrics: error: {error}")
    except MemoryError:
        tell(
            "ltr-metrics: error: the memory does not suffice. evaluate --sorted reads part after part, and --save keeps results for compare."
        )
    except Exception:  # a fault of ours: 1 would say that a gate failed
        tell(traceback.format_exc().rstrip("\n"))
    return COULD_NOT_RUN


def _usage(error: click.ClickException) -> str:
    """Return what click shows of a wrong call."""
    shown = io.StringIO()
    error.show(file=shown)
    return shown.getvalue().rstrip("\n")
