"""python -m lockstep."""

from lockstep.cli import main

main()
