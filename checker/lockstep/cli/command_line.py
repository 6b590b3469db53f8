"""The command line: its group of commands, and the exit codes of errors. A command is imported when it is called."""

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
from lockstep.base.terminal import fit_to_terminal, visible_output, wipe_line
from lockstep.cli.options import EXIT_CODES

#: Errors of writing a file or the output; nothing is wrong with the input.
_WRITE_ERRORS = OUT_OF_RESOURCES | {errno.EIO}

#: Help is as wide as the terminal, up to this number of columns.
MAX_HELP_WIDTH = 1_000

_SETTINGS = {"help_option_names": ["-h", "--help"], "max_content_width": MAX_HELP_WIDTH}

#: The commands: the module of lockstep.cli and the name in it, and the line in the list of commands.
COMMANDS = {
    "chaos": ("chaos_command:command", "Let running groups fail in simulated time, and judge them."),
    "check": ("check_command:command", "Check traces against the spec, step by step."),
    "client": ("client_command:command", "Append to a group that runs, or read from it."),
    "cluster": ("cluster_command:command", "Run a group of the reference, and check it while it runs."),
    "completion": ("print_commands:completion", "Print the script for a shell's completion."),
    "course": ("course_command:command", "Learn with exercises that are graded."),
    "export": ("export_command:command", "Write a trace in the form of another tool."),
    "explain": ("print_commands:explain", "Explain the code of a finding."),
    "fleet": ("fleet_command:command", "Check many simulated clusters."),
    "grade": ("grade_command:command", "Grade your own Raft by Figure 2 of the Raft paper."),
    "graph": ("graph_command:command", "Draw the shortest path to a violation."),
    "hunt": ("hunt_command:command", "Search for a violation with Hypothesis."),
    "import": ("import_command:command", "Turn a recording or a log into a trace."),
    "merge": ("merge_command:command", "Make one recording of the files of a group's nodes."),
    "minimise": ("minimise_command:command", "Make a trace with a violation shorter."),
    "model": ("model_command:command", "Check models, or a spec of your own, with TLC."),
    "node": ("node_command:command", "Run a node of the reference."),
    "pipeline": ("pipeline:command", "Check a store of traces of any size on Spark."),
    "play": ("play_command:command", "Take the steps of a spec, in a browser."),
    "prove": ("prove_command:command", "Prove lemmas with z3."),
    "schema": ("print_commands:schema", "Print the JSON Schema of a line of a trace."),
    "simulate": ("simulate_command:command", "Write traces of the Python reference."),
    "tap": ("tap_command:command", "Write what crosses the wire of a group."),
    "tamper": ("tamper_command:command", "Change a trace and count what the check notices."),
    "verify": ("verify_command:command", "Run the main job: all of the checks."),
    "view": ("view_command:command", "Write a page to step through a trace."),
    "watch": ("watch_command:command", "Check traces while they are written."),
}


class _ReaderGoneError(Exception):
    """The reader of the output is gone, as behind `| head`."""


class BrokenToolPipeError(GaveUpError):
    """A pipe other than the output broke: a tool has died, or the reader of a file is gone."""


class _LockstepCommands(CommandGroup):
    """The commands, each in a module of its own."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands."""
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return a command; None if there is none of this name."""
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
        """Run a command. For a closed pipe click would exit with 1, which is a verdict."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError as error:
            if _is_reader_gone():
                raise _ReaderGoneError from error
            raise BrokenToolPipeError(str(error)) from error


@click.group(cls=_LockstepCommands, epilog=EXIT_CODES, context_settings=_SETTINGS)
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
        code = _run()
    sys.exit(code)


def _run() -> int:
    """Run the command line; return its exit code, and print errors."""
    try:
        raise_interrupts()
        warnings.showwarning = _print_warning  # type: ignore[assignment]  # it ignores the other arguments
        logging.getLogger().addHandler(_LOG_HANDLER)
        _LOG_HANDLER.setStream(sys.stderr)
        # Without colour click would strip escape sequences where the output is no terminal; here they are shown.
        code = cli.main(prog_name="lockstep", standalone_mode=False, color=True)
        return code if isinstance(code, int) else 0
    except Interrupted as error:
        return _print_error(SAID, 128 + error.number)
    except (KeyboardInterrupt, click.exceptions.Abort):  # where signals are not handled, as in a thread
        return _print_error(SAID, 130)
    except click.ClickException as error:
        error.show()
        if near := _near_choice(error):
            click.echo(near, err=True)
        return 2
    except _ReaderGoneError:
        _forget_output()
        return 141
    except GaveUpError as error:
        return _print_error(f"lockstep: {error}", 3)
    except BadInputError as error:
        return _print_error(f"lockstep: {error}", 2)
    except EnvironmentFailedError as error:
        return _print_error(f"lockstep: {error}", 4)
    except OSError as error:
        return _print_os_error(error)
    except Exception as error:  # A bug of lockstep; its exit code differs from those of verdicts.
        return _print_error(f"lockstep: internal error: {type(error).__name__}: {error}", 4)


def _log_handler() -> logging.StreamHandler[TextIO]:
    """Return a handler that writes warnings and errors to standard error, except those of Py4J when Java is killed."""
    handler = logging.StreamHandler()
    handler.setLevel(logging.WARNING)
    handler.addFilter(lambda record: f"{os.sep}py4j{os.sep}" not in record.pathname)
    return handler


_LOG_HANDLER = _log_handler()


def _print_warning(message: Warning | str, *_: object) -> None:
    """Print a warning on standard error without the place in the code."""
    click.echo(str(message), err=True)


def _near_choice(error: click.ClickException) -> str:
    """Return `Did you mean ...?` where an option has a similar choice."""
    choice = error.param.type if isinstance(error, click.BadParameter) and error.param is not None else None
    given = re.match(r"'(.*)' is not one of", error.message, re.DOTALL)
    if not isinstance(choice, click.Choice) or given is None:
        return ""
    return did_you_mean(given[1], map(str, choice.choices)).replace("; did", "Did")


def _print_error(text: str, code: int) -> int:
    wipe_line()
    click.echo(fit_to_terminal(text, sys.stderr), err=True)
    return code


def _print_os_error(error: OSError) -> int:
    """Print which file failed, and why: it was named wrongly, or the machine has no space for it."""
    files = [str(name) for name in (error.filename, error.filename2) if name is not None]
    problem = error.strerror or str(error) or type(error).__name__
    _print_error(f"lockstep: {': '.join([*files, problem])}", 4)
    if error.errno not in _WRITE_ERRORS:
        return 2
    _forget_output()
    return 4


def _is_reader_gone() -> bool:
    """Return whether the output is a pipe whose other end is closed."""
    poll = select.poll()
    try:
        poll.register(sys.stdout.fileno(), 0)  # errors are always reported
    except OSError:
        return False
    return any(events & select.POLLERR for _file, events in poll.poll(0))


def _forget_output() -> None:
    """Discard the rest of the output: Python would try to write it at its end, and exit with another code."""
    with contextlib.suppress(OSError):  # where it is no file
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
