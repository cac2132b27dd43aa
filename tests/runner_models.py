"""Scripted models for the tests of the runner."""

import asyncio
import time

from toy import walk

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
