"""Headless Chromium through chromedriver's HTTP interface; the standard library is enough for it."""

import base64
import json
import shutil
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

ELEMENT = "element-6066-11e4-a52e-4f735466cecf"  # the key under which WebDriver hands out an element
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--disable-dev-shm-usage", "--force-device-scale-factor=1",
)  # fmt: skip


class Browser:
    """One window; every method is one WebDriver or DevTools command."""

    def __init__(self, base: str) -> None:
        self.base = base
        self.opener = urllib.request.build_opener(
            urllib.request.ProxyHandler({})
        )  # a proxy is not for localhost

    def send(self, method: str, path: str, body: dict | None = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(
            self.base + path, data, {"Content-Type": "application/json"}, method=method
        )
        try:
            with self.opener.open(request, timeout=60) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            raise AssertionError(json.load(error)["value"]["message"]) from None

    def open(self, url: str) -> None:
        self.send("POST", "/url", {"url": url})

    def js(self, script: str, *args: Any) -> Any:
        return self.send("POST", "/execute/sync", {"script": script, "args": list(args)})

    def devtools(self, command: str, **params: Any) -> Any:
        return self.send("POST", "/goog/cdp/execute", {"cmd": command, "params": params})

    def find(self, css: str) -> str:
        return self.send("POST", "/element", {"using": "css selector", "value": css})[ELEMENT]

    def click(self, css: str) -> None:
        self.send("POST", f"/element/{self.find(css)}/click", {})

    def type(self, css: str, text: str) -> None:
        self.send("POST", f"/element/{self.find(css)}/value", {"text": text})

    def visible(self, css: str) -> list[str]:
        """The texts of the elements that a reader sees."""
        return self.js(
            "return [...document.querySelectorAll(arguments[0])]"
            ".filter(e => e.checkVisibility({visibilityProperty: true})).map(e => e.innerText)", css
        )  # fmt: skip

    def size(self, width: int, height: int = 900) -> None:
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
        self.devtools("Emulation.setDeviceMetricsOverride", **metrics)

    def scheme(self, name: str) -> None:
        features = [{"name": "prefers-color-scheme", "value": name}]
        self.devtools("Emulation.setEmulatedMedia", media="", features=features)

    def screenshot(self, path: Path, whole: bool = True) -> None:
        shot = self.devtools("Page.captureScreenshot", captureBeyondViewport=whole)
        path.write_bytes(base64.b64decode(shot["data"]))

    def errors(self) -> list[str]:
        """Warnings and errors in the console since the last call; a refusal of the policy is one."""
        entries = self.send("POST", "/se/log", {"type": "browser"})
        return [entry["message"] for entry in entries if entry["level"] in ("SEVERE", "WARNING")]

    def requests(self) -> list[str]:
        """Every address asked for since the last call."""
        entries = self.send("POST", "/se/log", {"type": "performance"})
        messages = [json.loads(entry["message"])["message"] for entry in entries]
        return [m["params"]["request"]["url"] for m in messages if m["method"] == "Network.requestWillBeSent"]


@contextmanager
def chromium(profile: Path) -> Iterator[Browser]:
    """A fresh browser with its own profile, or a skip where Debian's packages are not installed."""
    binary, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if not binary or not driver:
        pytest.skip("needs chromium and chromedriver: apt-get install chromium chromium-driver")
    log = profile / "driver.log"
    with log.open("w") as out:
        process = subprocess.Popen([driver, "--port=0"], stdout=out, stderr=subprocess.STDOUT)
    try:
        browser = Browser(f"http://127.0.0.1:{_port(process, log)}")
        session = browser.send(
            "POST", "/session", {"capabilities": {"alwaysMatch": _wishes(binary, profile)}}
        )
        browser.base += f"/session/{session['sessionId']}"
        try:
            yield browser
        finally:
            browser.send("DELETE", "")
    finally:
        process.terminate()
        process.wait(timeout=20)


def _wishes(binary: str, profile: Path) -> dict:
    return {
        "browserName": "chrome",
        "goog:chromeOptions": {"binary": binary, "args": [*FLAGS, f"--user-data-dir={profile / 'profile'}"]},
        "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"},
    }


def _port(process: subprocess.Popen, log: Path) -> int:
    """The free port that chromedriver chose, as it says itself."""
    end = time.monotonic() + 30
    while time.monotonic() < end and process.poll() is None:
        words = log.read_text().split("started successfully on port ")
        if len(words) > 1 and words[1].strip():
            return int(words[1].split()[0].rstrip("."))
        time.sleep(0.05)
    raise AssertionError(f"chromedriver did not start: {log.read_text()}")
