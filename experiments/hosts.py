"""Where environments live: in a thread of this process, in a process of their own, or in a Ray actor.

An episode asks its environment through an :class:`EnvHost`, which is the same for all three. Agents, models and the
store stay in the main process, so that the records are equal wherever the environments are. Every call has a time
limit; a host that does not answer is given up, and with it the process in which it hangs.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import pickle
import queue
import threading
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any, Literal, Protocol

from trialogue.envs import make
from trialogue.envs.contract import Info, Policy, TextEnv
from trialogue.errors import EnvError, MissingExtra

Where = Literal["threads", "processes", "ray"]


@dataclass(frozen=True)
class Opened:
    """What ``reset`` said, and what an agent is told beside it. ``expert`` is None where there is none."""

    observation: str
    info: Info
    env: str
    templates: tuple[str, ...]
    expert: Policy | None


@dataclass(frozen=True)
class Stepped:
    """What ``step`` said."""

    observation: str
    reward: float
    terminated: bool
    info: Info


class EnvServer:
    """One environment, as a host asks it. ``remote``: its answers cross a process boundary."""

    def __init__(self, env: TextEnv, remote: bool = False) -> None:
        self._env = env
        self._remote = remote

    def open(self, task: str, seed: int) -> Opened:
        observation, info = self._env.reset(seed=seed, options={"task": task})
        expert = self._env.expert()
        if self._remote and not (expert is None or _pickles(expert)):
            expert = None
        told: Any = info
        return Opened(observation, told, self._env.name, self._env.action_space.templates, expert)

    def step(self, action: str) -> Stepped:
        observation, reward, terminated, _, info = self._env.step(action)
        told: Any = info
        return Stepped(observation, float(reward), terminated, told)

    def close(self) -> None:
        self._env.close()


class Place(Protocol):
    """Something that answers the methods of :class:`EnvServer`, and can be ended while it does not answer."""

    def ask(self, method: str, *args: Any) -> Any:
        """Blocks. Raises EnvError for whatever the environment raised, and when it is gone."""
        ...

    def kill(self) -> None: ...


class EnvHost:
    """A place, asked from the event loop. ``seconds`` bounds one call; None: as long as it takes.

    The calls of one host are made one after the other in a thread of its own, which engines that are bound to a
    thread need. The thread is a daemon: one that hangs holds up neither the run nor the end of the process.
    """

    def __init__(self, place: Callable[[], Place], seconds: float | None = None) -> None:
        self._seconds = seconds
        self._jobs: queue.SimpleQueue[tuple[Callable[[], Any], Future[Any]] | None] = queue.SimpleQueue()
        self._place: Place | None = None
        self._make = place
        threading.Thread(target=self._serve, name="env-host", daemon=True).start()

    async def open(self, task: str, seed: int) -> Opened:
        opened: Opened = await self._ask(f"reset of {task}", "open", task, seed)
        return opened

    async def step(self, action: str) -> Stepped:
        stepped: Stepped = await self._ask(f"step({action!r})", "step", action)
        return stepped

    def close(self) -> None:
        """Lets the environment go, after what it is doing now; does not wait for it."""
        self._jobs.put((lambda: self._place and self._place.ask("close"), Future()))
        self._jobs.put(None)

    def kill(self) -> None:
        """Ends the environment now, whatever it is doing. One in a thread can only be left alone."""
        if self._place is not None:
            self._place.kill()
        self._jobs.put(None)

    async def _ask(self, doing: str, method: str, *args: Any) -> Any:
        done: Future[Any] = Future()
        self._jobs.put((lambda: self._made().ask(method, *args), done))
        try:
            async with asyncio.timeout(self._seconds):
                return await asyncio.wrap_future(done)
        except TimeoutError:
            raise EnvError(f"timeout in {doing}: no answer within {self._seconds:g} s") from None
        except EnvError as error:
            raise EnvError(f"{error} (in {doing})") from error

    def _made(self) -> Place:
        if self._place is None:
            self._place = self._make()
        return self._place

    def _serve(self) -> None:
        while (job := self._jobs.get()) is not None:
            call, done = job
            if not done.set_running_or_notify_cancel():
                continue
            try:
                answer = call()
            except BaseException as error:  # handed to whoever waits
                done.set_exception(error)
            else:
                done.set_result(answer)


class Here:
    """An environment in this process."""

    def __init__(self, make_env: Callable[[], TextEnv]) -> None:
        with _env_errors():
            self._server = EnvServer(make_env())

    def ask(self, method: str, *args: Any) -> Any:
        with _env_errors():
            return getattr(self._server, method)(*args)

    def kill(self) -> None:
        """Nothing in this process can be ended from outside."""


class InProcess:
    """An environment in a process of its own, started anew (``spawn``): it shares nothing with this one."""

    def __init__(self, env: str, settings: Mapping[str, Any]) -> None:
        context = multiprocessing.get_context("spawn")
        self._connection, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs, env, dict(settings)), daemon=True)
        self._process.start()
        theirs.close()

    def ask(self, method: str, *args: Any) -> Any:
        try:
            self._connection.send((method, args))
            answer, error = self._connection.recv()
        except (EOFError, OSError) as broken:
            self._process.join(timeout=5)
            raise EnvError(f"the process of the environment ended (exit code {self._process.exitcode})") from broken
        if error:
            raise EnvError(error)
        if method == "close":
            self._process.join(timeout=5)
        return answer

    def kill(self) -> None:
        self._process.kill()


class InRay:
    """An environment in a Ray actor; Ray's scheduler says where. Needs the extra ``ray``."""

    def __init__(self, env: str, settings: Mapping[str, Any]) -> None:
        self._ray = _started_ray()
        # Without num_cpus, Ray places an actor on a free core but does not keep it: more episodes than cores can go on.
        self._actor = self._ray.remote(max_restarts=0)(_Actor).remote(env, dict(settings))

    def ask(self, method: str, *args: Any) -> Any:
        try:
            answer, error = self._ray.get(self._actor.ask.remote(method, args))
        except self._ray.exceptions.RayError as broken:
            raise EnvError(f"the actor of the environment ended: {broken}") from broken
        if error:
            raise EnvError(error)
        if method == "close":
            self._ray.kill(self._actor)
        return answer

    def kill(self) -> None:
        self._ray.kill(self._actor)


def place_of(where: Where, env: str, settings: Mapping[str, Any]) -> Callable[[], Place]:
    """Makes the environment ``env`` at ``where``. Raises MissingExtra."""
    if where == "processes":
        return lambda: InProcess(env, settings)
    if where == "ray":
        _started_ray()
        return lambda: InRay(env, settings)
    return lambda: Here(lambda: make(env, **settings))


class _Actor:
    def __init__(self, env: str, settings: Mapping[str, Any]) -> None:
        self._env, self._settings = env, settings
        self._server: EnvServer | None = None

    def ask(self, method: str, args: Sequence[Any]) -> tuple[Any, str]:
        try:
            if self._server is None:
                self._server = EnvServer(make(self._env, **self._settings), remote=True)
            return getattr(self._server, method)(*args), ""
        except Exception as error:  # told to the other side
            return None, _told(error)


def _serve(connection: Connection, env: str, settings: Mapping[str, Any]) -> None:
    """The other process: answers until it is told to close, or the one that asks is gone."""
    actor = _Actor(env, settings)
    with suppress(EOFError, KeyboardInterrupt):
        while True:
            method, args = connection.recv()
            connection.send(actor.ask(method, args))
            if method == "close":
                return


@contextmanager
def _env_errors() -> Iterator[None]:
    """Whatever an environment raises, as EnvError."""
    try:
        yield
    except EnvError:
        raise
    except Exception as error:
        raise EnvError(_told(error)) from error


def _told(error: Exception) -> str:
    if isinstance(error, EnvError):
        return str(error)
    return "".join(traceback.format_exception_only(error)).strip()


def _pickles(value: object) -> bool:
    try:
        pickle.dumps(value)
    except Exception:  # pickling runs the object's own code, which may raise anything
        return False
    return True


def _started_ray() -> Any:
    try:
        import ray
    except ImportError:
        raise MissingExtra("environments in Ray", "ray", "ray") from None
    if not ray.is_initialized():
        ray.init(include_dashboard=False, log_to_driver=False, configure_logging=False)
    return ray
