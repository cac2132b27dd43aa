"""Scripted models for the tests of the runner."""

import asyncio
import os
import time
from dataclasses import replace

from toy import walk

from trialogue.agents.models import request_hash
from trialogue.agents.models.contract import Reply, Request
from trialogue.errors import ModelError


async def no_quota(request: Request) -> Reply:
    raise ModelError("quota", "the quota is used up")


async def flaky(request: Request) -> Reply:
    if "reach room 2" in str(request.prompt):
        raise ModelError("server", "it fell over")
    return await walk(request)


async def slow_walk(request: Request) -> Reply:
    started = time.perf_counter()
    await asyncio.sleep(0.01)
    reply = await walk(request)
    return Reply(reply.text, usage=reply.usage, seconds=time.perf_counter() - started)


async def hang_first(request: Request) -> Reply:
    return _counting(request, "hang")


async def crash_first(request: Request) -> Reply:
    return _counting(request, "crash")


def _counting(request: Request, fault: str) -> Reply:
    """Counts, but for the first episode of the process, which does ``fault``."""
    global _begun
    if str(request.prompt).count("count to three") and "> count" not in str(request.prompt):
        _begun += 1
        return Reply(fault if _begun == 1 else "count")
    return Reply("count")


_begun = 0


async def broken(request: Request) -> Reply:
    raise ModelError("server", "it fell over")


async def costly(request: Request) -> Reply:
    return replace(await walk(request), cost=0.1)


async def logged_walk(request: Request) -> Reply:
    """Tells a file what it was asked, before it answers."""
    with open(os.environ["ASKED"], "a") as log:
        log.write(f"{request_hash(request)}\n")
    await asyncio.sleep(0.05)
    return await walk(request)
