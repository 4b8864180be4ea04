"""A real browser for tests of the page: Debian's Chromium, driven by playwright."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import pytest

from tests.waiting import wait_for

ROOT: Final = Path(__file__).parents[3]
_ARGUMENTS: Final = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
_AXE: Final = ROOT / "api" / "page" / "node_modules" / "axe-core" / "axe.min.js"


@contextmanager
def browser() -> Iterator[Any]:
    """A browser; the test is skipped where there is none."""
    # The shell draws the same with half of the work.
    program = shutil.which("chromium-headless-shell") or shutil.which("chromium")
    if program is None:
        pytest.skip("Chromium is not installed (Debian: apt-get install chromium-headless-shell)")
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with api.sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=program, args=_ARGUMENTS)
        try:
            yield running
        finally:
            running.close()


class Look:
    """One page in the browser, and everything that it complained about or asked for."""

    def __init__(
        self,
        running: Any,
        *,
        dark: bool = False,
        wide: int = 1440,
        tall: int = 900,
        refusals: tuple[int, ...] = (),
    ) -> None:
        """`refusals`: statuses that the page is answered with, of which the browser complains by itself."""
        scheme = "dark" if dark else "light"
        self.context = running.new_context(viewport={"width": wide, "height": tall}, color_scheme=scheme)
        self.page = self.context.new_page()
        self.complaints: list[str] = []
        self.requests: list[str] = []
        output = tuple(
            f"Failed to load resource: the server responded with a status of {refusal} "
            for refusal in refusals
        )
        self.page.on(
            "console",
            lambda message: None if message.text.startswith(output) else self.complaints.append(message.text),
        )
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))

    def open(self, address: str) -> "Look":
        """Open the address, and wait until something is shown."""
        self.page.goto(address)
        return self.wait(
            "document.querySelector('.plan, .start h1, .page h1') && !document.querySelector('progress')"
        )

    def show(self, page: bytes, folder: Path, fragment: str = "") -> "Look":
        """Open a page of its own from a file."""
        path = folder / f"{abs(hash(page))}.html"
        path.write_bytes(page)
        return self.open(path.as_uri() + fragment)

    def wait(self, condition: str) -> "Look":
        """Wait until this holds in the page, and then for the next frame."""
        # Polled from here: the page's policy forbids what playwright would run in it.
        try:
            wait_for(lambda: self.page.evaluate(f"Boolean({condition})"), condition)
        except AssertionError as late:
            shown = self.page.evaluate("location.href + ': ' + document.body.innerText.slice(0, 2000)")
            raise AssertionError(f"{late}; shown was {shown}; complaints: {self.complaints}") from None
        self.page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
        return self

    def text(self, selector: str) -> str:
        """The text of the first such element."""
        result: str = self.page.evaluate(f"document.querySelector({selector!r})?.innerText ?? ''")
        return " ".join(result.split())

    @property
    def verdict(self) -> str:
        """The sentence."""
        return self.text("h1")

    def violations(self, preload: bool = True) -> list[str]:
        """What axe finds against the accessibility of the page.

        To look at sheets of shadow trees, `preload` makes style elements, of which the policy complains.
        """
        if not _AXE.exists():
            pytest.skip("axe-core is not installed (make page-check installs it)")
        self.page.evaluate(_AXE.read_text())
        # While a colour changes, its contrast is that of neither end.
        violations = self.page.evaluate(
            "(preload) => Promise.allSettled(document.getAnimations().map((animation) => animation.finished))"
            ".then(() => axe.run(document, {resultTypes: ['violations'], preload}))"
            ".then((result) => result.violations)",
            preload,
        )
        return [f"{rule['id']}: {[node['html'][:120] for node in rule['nodes'][:3]]}" for rule in violations]

    def close(self) -> None:
        """Close it; nothing may have gone wrong."""
        foreign = [
            url
            for url in self.requests
            if not url.startswith(("file:", "data:", "blob:", "http://127.0.0.1"))
        ]
        self.context.close()
        assert foreign == []
        assert self.complaints == []
