"""The console script. It handles Ctrl-C from the start, also while the commands are still being imported."""

import gc
import sys


def run() -> int:
    """Run the command line of this process and return the exit code."""
    # A run makes many long-lived objects and few cycles, then ends: garbage collection would only cost time.
    gc.disable()
    try:
        from memstow.api.cli import main

        return main.run()
    except KeyboardInterrupt:
        sys.stderr.write("memstow: interrupted\n")
        return 130
    finally:
        # Nor is it worth to look for garbage among all that is still there, as the interpreter does at exit.
        gc.freeze()


if __name__ == "__main__":
    sys.exit(run())
