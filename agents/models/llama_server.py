"""llama.cpp's HTTP server inside this process (``xllamacpp``), on a loopback address with a random key."""

from __future__ import annotations

import importlib.util
import logging
import os
import secrets
import threading
import weakref
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trialogue.agents.models.settings import LocalSettings
from trialogue.errors import DataError, MissingExtra

logger = logging.getLogger(__name__)

CLOSING_S = 15.0


def require_xllamacpp() -> None:
    if importlib.util.find_spec("xllamacpp") is None:
        raise MissingExtra("a local model", "xllamacpp", "local")


def threads_of(settings: LocalSettings) -> int:
    """Computing threads: as set, else the cores that this process may use but one.

    llama.cpp's threads wait for each other by spinning: one thread that shares its core with other work (the
    environments of a run) holds up all, and tokens then take up to ten times as long as with one thread less.
    """
    return settings.threads or max(1, len(_affinity()) - 1)


@dataclass(frozen=True)
class Address:
    url: str
    key: str


class LlamaServer:
    """A running server. ``close`` stops it and frees its memory; do so only when no request is on its way.

    llama.cpp now and then misses that it shall stop, and its destructor then never returns: after ``CLOSING_S`` seconds
    ``close`` goes on without it and logs what stays in memory.

    The native object lives in a frame of a daemon thread. It can therefore be freed at a moment of our choice, and at
    interpreter exit it is not freed at all: its destructor would hold the interpreter until every request ended.
    """

    def __init__(self, weights: Path, adapter: Path | None, alias: str, settings: LocalSettings) -> None:
        require_xllamacpp()
        self._box = _Box()
        key = secrets.token_hex(16)
        params = _parameters(weights, adapter, alias, key, settings)
        self._thread = threading.Thread(target=_serve, args=(params, self._box), name="llama-server", daemon=True)
        self._thread.start()
        self._box.ready.wait()
        if self._box.error is not None:
            files = f"{weights} with the adapter {adapter}" if adapter else str(weights)
            raise DataError(
                f"llama.cpp could not load {files} ({self._box.error}). Is the file complete, is its architecture "
                "known to the installed xllamacpp, and is there memory for context x parallel tokens?"
            )
        self.address = Address(self._box.url, key)
        weakref.finalize(self, self._box.stop.set).atexit = False

    def close(self) -> None:
        self._box.stop.set()
        self._thread.join(CLOSING_S)
        if self._thread.is_alive():
            logger.warning(
                "llama.cpp did not stop within %g s; its memory stays taken until this process ends", CLOSING_S
            )


class _Box:
    """What the owning thread and the rest say to each other."""

    def __init__(self) -> None:
        self.ready = threading.Event()
        self.stop = threading.Event()
        self.url = ""
        self.error: Exception | None = None


def _serve(params: Any, box: _Box) -> None:
    from xllamacpp import Server

    try:
        server = Server(params)
        box.url = server.listening_address
    except Exception as error:  # handed to the thread that waits, which raises
        box.error = error
        return
    finally:
        box.ready.set()
    box.stop.wait()
    del server


def _parameters(weights: Path, adapter: Path | None, alias: str, key: str, settings: LocalSettings) -> Any:
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = str(weights)
    params.model_alias = {alias}
    params.api_keys = [key]
    params.port = 0
    params.verbosity = -1
    params.warmup = False
    params.ui = False
    params.use_jinja = True  # chat templates that offer tools are written in it
    params.endpoint_slots = False
    params.n_parallel = settings.parallel
    params.n_ctx = settings.context * settings.parallel  # llama.cpp's figure is for all slots together
    params.fit_params = False  # the context is as set, never made smaller to fit
    params.ctx_shift = False  # a prompt that is too long is an error, never cut
    params.n_threads_http = settings.parallel + 2
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads_of(settings)
    params.cache_prompt = settings.cache_prompt
    params.cache_ram_mib = 0  # a second cache in memory: with prompts that share their beginning it is never used
    params.cache_type_k = params.cache_type_v = getattr(xllamacpp.ggml_type, f"GGML_TYPE_{settings.kv_cache.upper()}")
    if adapter is not None:
        lora = xllamacpp.CommonAdapterLoraInfo()
        lora.path, lora.scale = str(adapter), settings.adapter_scale
        params.lora_adapters = [lora]
    return params


def _affinity() -> set[int]:
    if hasattr(os, "sched_getaffinity"):
        return os.sched_getaffinity(0)
    return set(range(os.cpu_count() or 1))
