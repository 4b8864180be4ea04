"""The console script: Ctrl-C is heard from the first moment on, while the commands are still being loaded."""

import sys


def run() -> int:
    """Run the command line of this process; the exit code."""
    try:
        from memstow.api.cli import main

        return main.run()
    except KeyboardInterrupt:
        sys.stderr.write("memstow: interrupted\n")
        return 130


if __name__ == "__main__":
    sys.exit(run())
