"""The job for spark-submit: its arguments are the words behind `lockstep pipeline`.

It may be copied to where spark-submit, or a service that runs jobs, expects it: all that it needs is lockstep.
"""

import sys

from lockstep.cli.command_line import main

if __name__ == "__main__":
    sys.argv.insert(1, "pipeline")
    main()
