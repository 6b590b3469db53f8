"""The command: `lockstep`, or `python -m lockstep`."""

import gc

from lockstep.base.interrupts import quit_on_interrupts

#: Values of the spec do not refer to each other in circles, so Python looks for such garbage seldom.
_SELDOM = (50_000, 20, 100)


def main() -> None:
    """Run the command line. While it is imported, and at the very end, an interrupt finds nothing to clean up."""
    quit_on_interrupts()
    from lockstep.cli import main as run

    gc.set_threshold(*_SELDOM)
    run()


if __name__ == "__main__":
    main()
