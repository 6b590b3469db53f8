"""The command: `lockstep`, or `python -m lockstep`."""

from lockstep.base.interrupts import quit_on_interrupts


def main() -> None:
    """Run the command line. While it is imported, and at the very end, an interrupt finds nothing to clean up."""
    quit_on_interrupts()
    from lockstep.cli.command_line import main as run

    run()


if __name__ == "__main__":
    main()
