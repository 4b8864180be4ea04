"""The console script. It handles Ctrl-C from the start, also while the commands are still being imported."""

import sys


def run() -> int:
    """Run the command line of this process and return the exit code."""
    try:
        from memstow.api.cli import main

        return main.run()
    except KeyboardInterrupt:
        sys.stderr.write("memstow: interrupted\n")
        return 130


if __name__ == "__main__":
    sys.exit(run())
