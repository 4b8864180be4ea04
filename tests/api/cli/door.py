"""The console script with a fake engine behind it, for tests that need a process of its own.

`python -m tests.api.cli.door SECONDS|deaf ARGUMENT...`; what happens to the engine is in the file DOOR_DIARY.
"""

import os
import sys
from pathlib import Path

from memstow.api.cli.main import run
from tests.api.cli.fakes import FakeEngine, fake_engine

if __name__ == "__main__":
    lasting = sys.argv.pop(1)
    deaf = lasting == "deaf"
    diary = os.environ.get("DOOR_DIARY")
    engine = FakeEngine(
        lasting=6000.0 if deaf else float(lasting), deaf=deaf, diary=None if diary is None else Path(diary)
    )
    with fake_engine(engine):
        sys.exit(run())
