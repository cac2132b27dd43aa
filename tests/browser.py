"""A headless Chromium for tests of pages, spoken to over pipes (Chrome DevTools Protocol): no further package."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


@dataclass(frozen=True)
class Seen:
    """``width`` of the document and of the window, in CSS pixels; ``faults`` of the console and of the network."""

    width: int
    window: int
    faults: tuple[str, ...]
    text: str


class Browser:
    """One tab. Use as a context manager."""

    def __enter__(self) -> Browser:
        assert CHROMIUM is not None
        self._profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        theirs_in, self._out = os.pipe()
        self._in, theirs_out = os.pipe()
        arguments = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars"]
        command = [CHROMIUM, *arguments, f"--user-data-dir={self._profile.name}", "--remote-debugging-pipe"]
        # Chromium reads commands from descriptor 3 and answers on 4. (A shell can only put those of one digit there.)
        move = (
            "import os, sys\n"
            "a, b = (os.dup(int(given)) for given in sys.argv[1:3])\n"
            "os.dup2(a, 3), os.dup2(b, 4), os.set_inheritable(3, True), os.set_inheritable(4, True)\n"
            "os.execv(sys.argv[3], sys.argv[3:])"
        )
        started = [sys.executable, "-c", move, str(theirs_in), str(theirs_out), *command, "about:blank"]
        self._process = subprocess.Popen(started, pass_fds=(theirs_in, theirs_out), stderr=subprocess.DEVNULL)
        os.close(theirs_in)
        os.close(theirs_out)
        self._buffer, self._number, self._faults = b"", 0, list[str]()
        self._loaded, self._session = False, None
        targets = self._call("Target.getTargets")["targetInfos"]
        page = next(target["targetId"] for target in targets if target["type"] == "page")
        self._session = self._call("Target.attachToTarget", targetId=page, flatten=True)["sessionId"]
        for domain in ("Page", "Log", "Runtime", "Network"):
            self._call(f"{domain}.enable")
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._out)
        self._process.terminate()
        self._process.wait(timeout=20)
        os.close(self._in)
        self._profile.cleanup()

    def look(self, address: str, width: int, screenshot: Path | None = None, *, dark: bool = False) -> Seen:
        """The page at ``address`` in a window ``width`` pixels wide; with ``screenshot``, all of it as PNG."""
        self._faults.clear()
        self._loaded = False
        self._call("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self._call("Emulation.setEmulatedMedia", features=[scheme])
        self._call("Page.navigate", url=address)
        until = time.monotonic() + 60
        while not self._loaded and time.monotonic() < until:
            self._receive()
        seen = Seen(
            self._value("document.documentElement.scrollWidth"),
            self._value("window.innerWidth"),
            tuple(self._faults),
            self._value("document.body.innerText"),
        )
        if screenshot is not None:
            picture = self._call("Page.captureScreenshot", format="png", captureBeyondViewport=True)
            screenshot.write_bytes(base64.b64decode(picture["data"]))
        return seen

    def title(self) -> str:
        return str(self._value("document.title"))

    def _value(self, expression: str) -> Any:
        return self._call("Runtime.evaluate", expression=expression, returnByValue=True)["result"]["value"]

    def _call(self, method: str, **parameters: Any) -> Any:
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if self._session is not None:
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._receive()
            if answer.get("id") == self._number:
                assert "error" not in answer, answer
                return answer["result"]

    def _receive(self) -> dict[str, Any]:
        """The next message. Keeps what events tell of faults."""
        while b"\0" not in self._buffer:
            chunk = os.read(self._in, 1 << 20)
            assert chunk, "the browser ended"
            self._buffer += chunk
        raw, _, self._buffer = self._buffer.partition(b"\0")
        message: dict[str, Any] = json.loads(raw)
        told = message.get("params", {})
        match message.get("method"):
            case "Page.loadEventFired":
                self._loaded = True
            case "Log.entryAdded" if told["entry"]["level"] in ("error", "warning"):
                self._faults.append(told["entry"]["text"])
            case "Runtime.exceptionThrown":
                self._faults.append(told["exceptionDetails"]["text"])
            case "Runtime.consoleAPICalled" if told["type"] in ("error", "warning"):
                self._faults.append(str(told["args"]))
            case "Network.loadingFailed":
                self._faults.append(told["errorText"])
        return message
