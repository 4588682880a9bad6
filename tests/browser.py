"""A page in a real browser: what it shows, what it says on its console, and whom it asks."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest


@dataclass(frozen=True)
class Visit:
    """What a browser did with a page: its document afterwards, console lines, addresses asked for."""

    dom: str
    console: list[str]
    requests: list[str]


FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--enable-logging=stderr",
    "--virtual-time-budget=4000",
    "--dump-dom",
    "--host-resolver-rules=MAP * ~NOTFOUND",
)


def visit(path: Path, directory: Path, query: str = "") -> Visit:
    """Open a page in chromium, where no host can be found; ``query`` comes behind the address."""
    browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if browser is None:
        if os.environ.get("COALLOC_REQUIRE_BROWSER") == "1":
            pytest.fail("COALLOC_REQUIRE_BROWSER=1, but there is no chromium")
        pytest.skip("there is no chromium")
    log = directory / "net.json"
    flags = [*FLAGS, f"--user-data-dir={directory / 'profile'}", f"--log-net-log={log}"]
    done = subprocess.run(
        [browser, *flags, path.as_uri() + query], capture_output=True, text=True, timeout=120, check=True
    )
    console = [line for line in done.stderr.splitlines() if ":CONSOLE" in line]
    return Visit(done.stdout, console, page_requests(log))


def page_requests(log: Path) -> list[str]:
    """Return the addresses that the page asked for; the browser's own requests have no origin."""
    parameters = [event.get("params", {}) for event in json.loads(log.read_text())["events"]]
    asked = [p for p in parameters if "url" in p and p.get("initiator", "not an origin") != "not an origin"]
    return sorted({p["url"] for p in asked if not p["url"].startswith(("file:", "data:", "blob:"))})
