"""Pages in a real browser: nothing wider than the window, nothing that the console complains of."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import uvicorn
from browser import CHROMIUM, Browser
from web_samples import SCRIPT, play

from trialogue.experiments.web.document import write_report
from trialogue.experiments.web.server import make_app

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed: pages are not looked at in a browser"),
]
PAGES = ("/", "/?q=room&ending=stuck", "/episode/20", "/episode/19?prompts=1", "/episode/39", "/episode/20/prompt/1")
PAIR = "/compare?a=19&b=23"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with Browser() as one:
        yield one


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return play(tmp_path_factory.mktemp("web") / "hostile.sqlite")


@pytest.fixture(scope="module")
def address(store: Path) -> Iterator[str]:
    server = uvicorn.Server(uvicorn.Config(make_app(store, "Ada"), port=0, log_level="warning", lifespan="off"))
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        thread.join(0.05)
    yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    server.should_exit = True
    thread.join()


@pytest.mark.parametrize("width", [1280, 400])
@pytest.mark.parametrize("page", [*PAGES, PAIR])
def test_pages_fit_their_window_and_have_no_faults(browser: Browser, address: str, page: str, width: int) -> None:
    seen = browser.look(address + page, width)
    assert seen.faults == ()
    assert seen.width <= seen.window == width


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [1280, 400])
def test_a_report_fits_its_window_and_has_no_faults(
    browser: Browser, store: Path, tmp_path: Path, width: int, dark: bool
) -> None:
    [report] = write_report([str(store)], tmp_path / "report.html")
    seen = browser.look(report.as_uri(), width, tmp_path / "report.png", dark=dark)
    assert seen.faults == ()
    assert seen.width <= seen.window == width
    assert (tmp_path / "report.png").stat().st_size > 10_000


def test_a_script_in_a_text_is_seen_and_does_not_run(browser: Browser, address: str) -> None:
    seen = browser.look(f"{address}/episode/20", 1280)
    assert SCRIPT in seen.text
    assert browser.title() == "Episode 20: test/3"


def test_a_fault_would_be_seen(browser: Browser, tmp_path: Path) -> None:
    page = tmp_path / "faulty.html"
    page.write_text("<body style='width: 900px'><script>console.error('no')</script><img src='missing.png'></body>")
    seen = browser.look(page.as_uri(), 400)
    assert seen.width > seen.window
    assert len(seen.faults) >= 2
