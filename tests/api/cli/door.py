"""The console script with a fake engine behind it, for tests that need a process of its own.

`python -m tests.api.cli.door SECONDS|deaf ARGUMENT...`
"""

import sys

from api.cli.main import run
from tests.api.cli.fakes import FakeEngine, fake_engine

if __name__ == "__main__":
    lasting = sys.argv.pop(1)
    deaf = lasting == "deaf"
    with fake_engine(FakeEngine(lasting=60.0 if deaf else float(lasting), deaf=deaf)):
        sys.exit(run())
