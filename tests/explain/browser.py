"""A real headless Chromium, driven by Debian's chromedriver over the WebDriver protocol, which is plain HTTP."""

from __future__ import annotations

import base64
import json
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

FLAGS = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--window-size=1100,900"]
ELEMENT = "element-6066-11e4-a52e-4f735466cecf"  # the name that the protocol gives to references


def missing() -> str | None:
    """What is not installed, if anything."""
    for program in ("chromium", "chromedriver"):
        if shutil.which(program) is None:
            return f"there is no {program} (Debian: apt-get install chromium chromium-driver)"
    return None


class Browser:
    def __init__(self, address: str, session: str) -> None:
        self.address = f"{address}/session/{session}"

    def open(self, path: Path) -> None:
        _call("POST", f"{self.address}/url", {"url": path.as_uri()})

    def run(self, script: str, *arguments: Any) -> Any:
        return _call("POST", f"{self.address}/execute/sync", {"script": script, "args": list(arguments)})

    def click(self, xpath: str) -> None:
        """Clicks what a user would click: it must be there, and visible."""
        found = _call("POST", f"{self.address}/element", {"using": "xpath", "value": xpath})
        _call("POST", f"{self.address}/element/{found[ELEMENT]}/click", {})

    def type(self, css: str, text: str) -> None:
        found = _call("POST", f"{self.address}/element", {"using": "css selector", "value": css})
        _call("POST", f"{self.address}/element/{found[ELEMENT]}/value", {"text": text})

    def shown(self, text: str) -> bool:
        """Whether some element with this text is visible."""
        return bool(
            self.run(
                "return [...document.querySelectorAll('main span, main code')].some("
                "e => e.textContent.trim() === arguments[0] && e.checkVisibility())",
                text,
            )
        )

    def picture(self, path: Path) -> None:
        path.write_bytes(base64.b64decode(_call("GET", f"{self.address}/screenshot")))


@contextmanager
def browsing(folder: Path) -> Iterator[Browser]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    driver = subprocess.Popen(["chromedriver", f"--port={port}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    address = f"http://127.0.0.1:{port}"
    try:
        _wait_for(address)
        flags = [*FLAGS, f"--user-data-dir={folder}"]
        options = {"binary": shutil.which("chromium"), "args": flags}
        wanted = {"capabilities": {"alwaysMatch": {"browserName": "chrome", "goog:chromeOptions": options}}}
        session = _call("POST", f"{address}/session", wanted)["sessionId"]
        try:
            yield Browser(address, session)
        finally:
            _call("DELETE", f"{address}/session/{session}")
    finally:
        driver.terminate()
        driver.wait(timeout=20)


def _wait_for(address: str) -> None:
    for _ in range(200):
        try:
            _call("GET", f"{address}/status")
            return
        except OSError:
            time.sleep(0.1)
    raise TimeoutError("chromedriver did not answer")


def _call(method: str, address: str, body: Any = None) -> Any:
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(address, data, {"Content-Type": "application/json"}, method=method)
    try:
        with urllib.request.urlopen(request, timeout=60) as response:
            return json.load(response)["value"]
    except urllib.error.HTTPError as error:
        raise AssertionError(json.load(error)["value"]["message"]) from None
