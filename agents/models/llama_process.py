"""The process that holds llama.cpp's HTTP server (``xllamacpp``): run as a script by ``llama_server``, never imported.

It reads one line of JSON (the settings) from standard input, answers with one line of JSON on standard output
(``{"url": ...}`` or ``{"error": ...}``), and serves until standard input ends, which it does when its parent is gone.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any


def main() -> None:
    answer = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # whatever native code prints must not be taken for the answer
    try:
        server = _server(json.loads(sys.stdin.readline()))
        told = {"url": server.listening_address}
    except Exception as error:  # told to the parent, which raises
        told = {"error": str(error)}
    print(json.dumps(told), file=answer, flush=True)
    sys.stdin.read()
    os._exit(0)  # the server's destructor waits for requests on their way, and now and then never returns


def _server(settings: dict[str, Any]) -> Any:
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = settings["weights"]
    params.model_alias = {settings["alias"]}
    params.api_keys = [settings["key"]]
    params.port = 0
    params.verbosity = -1
    params.warmup = False
    params.ui = False
    params.use_jinja = True  # chat templates that offer tools are written in it
    params.endpoint_slots = False
    params.n_parallel = settings["parallel"]
    params.n_ctx = settings["context"] * settings["parallel"]  # llama.cpp's figure is for all slots together
    params.fit_params = False  # the context is as set, never made smaller to fit
    params.ctx_shift = False  # a prompt that is too long is an error, never cut
    params.n_threads_http = settings["parallel"] + 2
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = settings["threads"]
    params.cache_prompt = settings["cache_prompt"]
    params.cache_ram_mib = 0  # a second cache in memory: with prompts that share their beginning it is never used
    kv_cache = getattr(xllamacpp.ggml_type, f"GGML_TYPE_{settings['kv_cache'].upper()}")
    params.cache_type_k = params.cache_type_v = kv_cache
    if settings["adapter"] is not None:
        lora = xllamacpp.CommonAdapterLoraInfo()
        lora.path, lora.scale = settings["adapter"], settings["adapter_scale"]
        params.lora_adapters = [lora]
    return xllamacpp.Server(params)


if __name__ == "__main__":
    main()
