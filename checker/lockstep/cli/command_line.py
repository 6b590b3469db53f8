"""The command line: its group, and what becomes of errors. A command is imported when it is asked for."""

from __future__ import annotations

import contextlib
import errno
import logging
import os
import re
import select
import sys
import warnings
from importlib import import_module
from typing import Any, TextIO

import click

from lockstep.base.command_group import CommandGroup
from lockstep.base.errors import OUT_OF_RESOURCES, BadInputError, EnvironmentFailedError, GaveUpError
from lockstep.base.interrupts import SAID, Interrupted, kept_handlers, raise_interrupts
from lockstep.base.spelling import did_you_mean
from lockstep.base.terminal import fitted, visible_output, wipe_line
from lockstep.cli.options import EXIT_CODES

#: Why a file, or the output, could not be written: nothing is wrong with the input.
_NOT_WRITTEN = OUT_OF_RESOURCES | {errno.EIO}

#: Help is as wide as the terminal, up to this many columns.
MAX_HELP_WIDTH = 1_000

_SETTINGS = {"help_option_names": ["-h", "--help"], "max_content_width": MAX_HELP_WIDTH}

#: The commands: the module of lockstep.cli and the name in it, and the line in the list of commands.
COMMANDS = {
    "check": ("check_command:command", "Check traces against the spec, step by step."),
    "completion": ("print_commands:completion", "Print the script for a shell's completion."),
    "course": ("course_command:command", "Learn with exercises that are graded."),
    "export": ("export_command:command", "Write a trace in the form of another tool."),
    "explain": ("print_commands:explain", "Explain the code of a finding."),
    "fleet": ("fleet_command:command", "Check many simulated clusters."),
    "graph": ("graph_command:command", "Draw the shortest path to a violation."),
    "import": ("import_command:command", "Turn a recording or a log into a trace."),
    "minimise": ("minimise_command:command", "Make a trace with a violation shorter."),
    "model": ("model:command", "Check models, or a spec of your own, with TLC."),
    "pipeline": ("pipeline:command", "Check a store of traces of any size on Spark."),
    "play": ("play_command:command", "Take the steps of a spec, in a browser."),
    "prove": ("prove_command:command", "Prove lemmas with z3."),
    "schema": ("print_commands:schema", "Print the JSON Schema of a line of a trace."),
    "simulate": ("simulate_command:command", "Write traces of the Python reference."),
    "tamper": ("tamper_command:command", "Change a trace and count what the check notices."),
    "verify": ("verify_command:command", "Run the main job: all of the checks."),
    "view": ("view_command:command", "Write a page to step through a trace."),
    "watch": ("watch_command:command", "Check traces while they are written."),
}


class _ReaderGoneError(Exception):
    """Nobody reads the output any more, as behind `| head`."""


class OtherPipeError(GaveUpError):
    """A pipe broke that is not the output: a tool has died, or nobody reads what is written."""


class _Commands(CommandGroup):
    """The commands, each in a module of its own."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Name them all."""
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return one of them."""
        if cmd_name not in COMMANDS:
            return None
        module, _, name = COMMANDS[cmd_name][0].partition(":")
        found: click.Command = getattr(import_module(f"lockstep.cli.{module}"), name)
        return found

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, short) for name, (_, short) in sorted(COMMANDS.items())])

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; of a closed pipe click would make the exit code 1, which is a verdict."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError as error:
            if _nobody_reads():
                raise _ReaderGoneError from error
            raise OtherPipeError(str(error)) from error


@click.group(cls=_Commands, epilog=EXIT_CODES, context_settings=_SETTINGS)
@click.version_option(package_name="lockstep-raft")
def cli() -> None:
    """Keep implementations of replicated logs in step with their TLA+ spec.

    \b
    lockstep simulate --seed 7                            run a cluster, write its trace
    lockstep import recording.ndjson -o trace.ndjson      make a trace of a recording
    lockstep check trace.ndjson                           check a trace against the spec
    lockstep explain CODE                                 explain what a check found
    lockstep model --spec My.tla                          explore a spec of your own with TLC
    lockstep model --spec My.tla --engine compiled        the same, with the spec compiled to Python
    lockstep verify                                       run the main job
    """


def main() -> None:
    """Run the command line and exit with its code."""
    with kept_handlers(), visible_output():
        code = _outcome()
    sys.exit(code)


def _outcome() -> int:
    """Run the command line; return its exit code, and say what went wrong."""
    try:
        raise_interrupts()
        warnings.showwarning = _noted  # type: ignore[assignment]  # it takes the rest, and needs none of it
        logging.getLogger().addHandler(_LOGGED)
        _LOGGED.setStream(sys.stderr)
        # click would take escape sequences out of what is not printed on a terminal; here they are shown.
        code = cli.main(prog_name="lockstep", standalone_mode=False, color=True)
        return code if isinstance(code, int) else 0
    except Interrupted as error:
        return _said(SAID, 128 + error.number)
    except (KeyboardInterrupt, click.exceptions.Abort):  # where signals are not ours, as in a thread
        return _said(SAID, 130)
    except click.ClickException as error:
        error.show()
        if near := _near_choice(error):
            click.echo(near, err=True)
        return 2
    except _ReaderGoneError:
        _forget_output()
        return 141
    except GaveUpError as error:
        return _said(f"lockstep: {error}", 3)
    except BadInputError as error:
        return _said(f"lockstep: {error}", 2)
    except EnvironmentFailedError as error:
        return _said(f"lockstep: {error}", 4)
    except OSError as error:
        return _failed(error)
    except Exception as error:  # Anything else is ours: say so, and keep it apart from verdicts.
        return _said(f"lockstep: internal error: {type(error).__name__}: {error}", 4)


def _logged() -> logging.StreamHandler[TextIO]:
    """Make what writes warnings and errors on standard error, but for those that Py4J logs as Java is killed."""
    handler = logging.StreamHandler()
    handler.setLevel(logging.WARNING)
    handler.addFilter(lambda record: f"{os.sep}py4j{os.sep}" not in record.pathname)
    return handler


_LOGGED = _logged()


def _noted(message: Warning | str, *_: object) -> None:
    """Say on standard error what Python would warn of: a note on what a spec does besides."""
    click.echo(str(message), err=True)


def _near_choice(error: click.ClickException) -> str:
    """Return `Did you mean ...?` where an option has another choice that is nearly the one given."""
    choice = error.param.type if isinstance(error, click.BadParameter) and error.param is not None else None
    given = re.match(r"'(.*)' is not one of", error.message, re.DOTALL)
    if not isinstance(choice, click.Choice) or given is None:
        return ""
    return did_you_mean(given[1], map(str, choice.choices)).replace("; did", "Did")


def _said(text: str, code: int) -> int:
    wipe_line()
    click.echo(fitted(text, sys.stderr), err=True)
    return code


def _failed(error: OSError) -> int:
    """Say which file could not be had: one that was named, or one that the machine has no room for."""
    files = [str(name) for name in (error.filename, error.filename2) if name is not None]
    problem = error.strerror or str(error) or type(error).__name__
    _said(f"lockstep: {': '.join([*files, problem])}", 4)
    if error.errno not in _NOT_WRITTEN:
        return 2
    _forget_output()
    return 4


def _nobody_reads() -> bool:
    """Tell whether the output is a pipe whose other end is closed."""
    poll = select.poll()
    try:
        poll.register(sys.stdout.fileno(), 0)  # an error is told whatever is asked for
    except OSError:
        return False
    return any(told & select.POLLERR for _file, told in poll.poll(0))


def _forget_output() -> None:
    """Let what is left to write go nowhere: Python would try again at its end, and make that the exit code."""
    with contextlib.suppress(OSError):  # where it is no file
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
