"""Writes docs/openapi.json anew: `python -m memstow.api.http.openapi`."""

from pathlib import Path
from typing import Final

from memstow.api.http.app import create_app
from memstow.api.http.schemas import pretty
from memstow.api.http.settings import Settings

FILE: Final = Path(__file__).parents[2] / "docs" / "openapi.json"

if __name__ == "__main__":
    FILE.write_text(pretty(create_app(Settings()).openapi()), encoding="utf-8")
