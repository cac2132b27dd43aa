"""Runs a function for a limited time.

The function runs in a thread of its own, so that tools can share state with the process. When its time is up, an
exception is raised inside that thread, which ends whatever runs Python code, endless loops included. A call that waits
inside C code (a socket, ``time.sleep``) cannot be interrupted so: it is left behind in a daemon thread, ends when the
wait does, and its result is thrown away. A tool that may wait should have a time-out of its own.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Mapping
from typing import Any


class TimeUp(Exception):
    """The call took longer than its limit."""


class _Ended(BaseException):
    """Raised inside the thread of a call whose time is up."""


def run_for(seconds: float, function: Callable[..., Any], arguments: Mapping[str, Any]) -> Any:
    """``function(**arguments)``, and whatever it raises; TimeUp after ``seconds``."""
    call = _Call(function, arguments)
    call.start()
    call.join(seconds)
    if call.is_alive():
        call.end()
        raise TimeUp
    if call.error is not None:
        raise call.error
    return call.result


class _Call(threading.Thread):
    def __init__(self, function: Callable[..., Any], arguments: Mapping[str, Any]) -> None:
        super().__init__(name="tool call", daemon=True)
        self._function, self._arguments = function, dict(arguments)
        self.result: Any = None
        self.error: Exception | None = None

    def run(self) -> None:
        try:
            self.result = self._function(**self._arguments)
        except Exception as error:  # handed on to the caller
            self.error = error
        except _Ended:
            self.error = TimeUp()
        except BaseException as error:  # sys.exit() in a tool ends the tool only
            self.error = RuntimeError(f"ended by {type(error).__name__}")

    def end(self) -> None:
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(self.ident or 0), ctypes.py_object(_Ended))
        self.join(0.2)
