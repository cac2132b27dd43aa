"""Fetches one file over HTTP: resumable (Range, RFC 9110 section 14), and never half-written under its own name.

What has come so far lies in ``NAME.part``, and in ``NAME.part.tag`` what tells the server's version of it (its ETag, or
Last-Modified), so that the rest of another version is never appended.
"""

from __future__ import annotations

import hashlib
import http.client
import os
import re
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path

from trialogue import __version__
from trialogue.errors import DataError, UsageError

BLOCK = 1 << 16
TIMEOUT_S = 30.0
TRIES = 3
PAUSE_S = 1.0

Progress = Callable[[str, int, int | None], None]
"""Told the file's name, the bytes there, and the bytes in all (None where the server does not say)."""


def fetch(url: str, target: Path, *, sha256: str = "", progress: Progress | None = None) -> None:
    """Fetches ``url`` to ``target``, going on from what an earlier try left. Does nothing when it is there already.

    Raises DataError that names the address and the reason: no such file there, no connection, cut off after TRIES
    tries, or another checksum than ``sha256`` (hexadecimal; "" where none is known).
    """
    if not url.startswith(("http://", "https://")):
        raise UsageError(f"expected an address that begins with http:// or https://; got {url!r}")
    if target.is_file():
        return
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        part = _Part(target)
        part.fill(url, progress or (lambda *_: None))
        part.finish(url, sha256)
    except OSError as error:
        raise DataError(f"cannot write {target}: {error}") from error


class _Part:
    """The unfinished file beside its place."""

    def __init__(self, target: Path) -> None:
        self.target = target
        self.path = target.with_name(target.name + ".part")
        self.tag_path = target.with_name(target.name + ".part.tag")

    def fill(self, url: str, progress: Progress) -> None:
        """Tries until everything is there; a try that got further than any before does not count."""
        left, furthest = TRIES, self._size()
        while left:
            problem = self._try(url, progress)
            if not problem:
                return
            left, furthest = (TRIES, self._size()) if self._size() > furthest else (left - 1, furthest)
            time.sleep(PAUSE_S)
        raise DataError(
            f"{url}: {problem}; {self._size()} bytes are kept in {self.path.name}, the same command goes on from there"
        )

    def finish(self, url: str, sha256: str) -> None:
        """Gives the file its name, if it is what it should be; what is not is thrown away."""
        found = ""
        if sha256:
            with self.path.open("rb") as file:
                found = hashlib.file_digest(file, "sha256").hexdigest()
        self.tag_path.unlink(missing_ok=True)
        if found != sha256.lower():
            self.path.unlink()
            raise DataError(f"{url}: expected the SHA-256 {sha256}, got {found}; the file was thrown away")
        os.replace(self.path, self.target)

    def _try(self, url: str, progress: Progress) -> str:
        """One request; "" when everything is there, else what went wrong, where trying again may help."""
        try:
            with urllib.request.urlopen(self._request(url), timeout=TIMEOUT_S) as response:  # noqa: S310
                return self._take(response, progress)
        except urllib.error.HTTPError as error:
            return self._refused(url, error)
        except (http.client.HTTPException, urllib.error.URLError, TimeoutError, ConnectionError) as error:
            return f"no connection ({getattr(error, 'reason', error)})"

    def _request(self, url: str) -> urllib.request.Request:
        headers = {"User-Agent": f"trialogue/{__version__}", "Accept-Encoding": "identity"}
        tag = self.tag_path.read_text("utf-8") if self.tag_path.is_file() else ""
        if not tag:
            # Without it nobody can tell whether the rest would fit.
            self.path.unlink(missing_ok=True)
        elif self._size():
            headers |= {"Range": f"bytes={self._size()}-", "If-Range": tag}
        return urllib.request.Request(url, headers=headers)  # noqa: S310

    def _take(self, response: http.client.HTTPResponse, progress: Progress) -> str:
        start = self._size() if response.status == http.HTTPStatus.PARTIAL_CONTENT else 0
        begins = re.match(r"bytes (\d+)-", response.headers.get("Content-Range", ""))
        if start and begins and int(begins.group(1)) != start:
            self.path.unlink()
            return f"the server sent bytes from {begins.group(1)} on, not from {start}"
        length = response.headers.get("Content-Length")
        total = start + int(length) if length and length.isdecimal() else None
        # A weak tag does not promise equal bytes, and If-Range may not carry it.
        etag = response.headers.get("ETag", "")
        self.tag_path.write_text(
            response.headers.get("Last-Modified", "") if etag.startswith("W/") or not etag else etag, encoding="utf-8"
        )
        done = start
        with self.path.open("ab" if start else "wb") as file:
            while block := response.read(BLOCK):
                file.write(block)
                done += len(block)
                progress(self.target.name, done, total)
        return "" if total in (None, done) else f"the connection was cut at {done} of {total} bytes"

    def _refused(self, url: str, error: urllib.error.HTTPError) -> str:
        status = f"the server answers {error.code} {error.reason}"
        if error.code == http.HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
            if error.headers.get("Content-Range") == f"bytes */{self._size()}":
                return ""
            self.path.unlink(missing_ok=True)
            return status
        if error.code in (408, 429) or error.code >= 500:
            return status
        raise DataError(f"{url}: {status}") from error

    def _size(self) -> int:
        return self.path.stat().st_size if self.path.is_file() else 0
