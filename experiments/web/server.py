"""The viewer: a web server for this machine alone that shows one store, and writes nothing but people's labels."""

from __future__ import annotations

import socket
from collections.abc import Awaitable, Callable
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlencode

from trialogue.errors import MissingExtra, TrialogueError, UsageError
from trialogue.experiments.failure_tags import KINDS
from trialogue.experiments.labels import NOTHING, add_label, hint, remove_label
from trialogue.experiments.web.filters import Filter
from trialogue.experiments.web.listing import Listing
from trialogue.experiments.web.reader import Reader
from trialogue.experiments.web.render import render, require, style
from trialogue.experiments.web.trajectory import pair, trajectory

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response

FEATURE, EXTRA = "trialogue view", "view"
HOST = "127.0.0.1"
MOST_BYTES = 20_000  # of a posted form

HEADERS = {
    # Scripts are forbidden altogether: whatever a model or an environment wrote stays text.
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; img-src data:; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cache-Control": "no-store",
}

Endpoint = Callable[["Viewer", "Request", Reader], "Response"]


def serve(path: Path, address: str, *, port: int, who: str, ready: Callable[[str], None]) -> None:
    """Serves until it is interrupted. ``ready`` is told the full address once the port is ours.

    ``port`` 0 takes any that is free. Raises UsageError when it is taken, MissingExtra without the extra ``view``.
    """
    try:
        import uvicorn
    except ImportError as error:
        raise MissingExtra(FEATURE, "uvicorn", EXTRA) from error
    Reader.open(path).close()  # a store that cannot be read is refused before anything is served
    app = make_app(path, who)
    with _listen(port) as listening:
        ready(f"http://{HOST}:{listening.getsockname()[1]}/{address}")
        uvicorn.Server(uvicorn.Config(app, log_level="warning", lifespan="off")).run(sockets=[listening])


def _listen(port: int) -> socket.socket:
    listening = socket.socket()
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((HOST, port))
    except (OSError, OverflowError) as error:
        listening.close()
        raise UsageError(f"port {port} cannot be used: {error}; name another with --port, or 0 for any") from error
    listening.listen()
    return listening


def make_app(path: Path, who: str = "") -> Starlette:
    """The application that shows the store at ``path``; with ``who``, that person may label episodes."""
    try:
        from starlette.applications import Starlette
        from starlette.middleware import Middleware
        from starlette.middleware.trustedhost import TrustedHostMiddleware
        from starlette.routing import Route
    except ImportError as error:
        raise MissingExtra(FEATURE, "starlette", EXTRA) from error
    require(FEATURE, EXTRA)
    viewer = Viewer(path, who)
    routes = [
        Route("/", _answered(viewer, Viewer.list_page)),
        Route("/episode/{episode}", _answered(viewer, Viewer.episode_page)),
        Route("/episode/{episode}/prompt/{call}", _answered(viewer, Viewer.prompt_page)),
        Route("/episode/{episode}/label", _labelled(viewer), methods=["POST"]),
        Route("/compare", _answered(viewer, Viewer.compare_page)),
        Route("/style.css", _style_sheet),
    ]
    # A page elsewhere that gives itself a name for this address must not read the store through its visitor.
    hosts = Middleware(TrustedHostMiddleware, allowed_hosts=[HOST, "localhost"])
    return Starlette(routes=routes, middleware=[hosts])


class Viewer:
    """The pages of one store; each opens it afresh, so that what a run has written meanwhile is there."""

    def __init__(self, path: Path, who: str = "") -> None:
        self.path = path
        self.who = who
        self._listing = Listing(path)

    def list_page(self, request: Request, reader: Reader) -> Response:
        chosen = Filter.parse(request.query_params)
        page = self._listing.page(reader, chosen)
        # Who labels is not to see the tags before: they would be agreed with.
        choices = {**reader.choices(), "won": ["yes", "no"], "tag": list(KINDS)}
        return self._page("list.html", reader, chosen=chosen, page=page, choices=choices, kinds=KINDS, who=self.who)

    def episode_page(self, request: Request, reader: Reader) -> Response:
        episode = _number(request.path_params["episode"])
        chosen = Filter.parse(request.query_params)
        told = trajectory(reader, episode, prompts="prompts" in request.query_params)
        labels = reader.labels_of(episode)
        before, after, place, total = self._listing.neighbours(reader, chosen, episode)
        return self._page(
            "episode.html",
            reader,
            told=told,
            chosen=chosen,
            rivals=reader.rivals(episode),
            labels=labels,
            who=self.who,
            blind=bool(self.who) and all(label["who"] != self.who for label in labels),
            nothing=NOTHING,
            hint=hint(request.query_params.get("said", "")),
            prompts="prompts" in request.query_params,
            before=before,
            after=after,
            place=place,
            total=total,
            kinds=KINDS,
        )

    def prompt_page(self, request: Request, reader: Reader) -> Response:
        episode, call = (_number(request.path_params[key]) for key in ("episode", "call"))
        head = reader.head(episode)
        prompts, replies = reader.prompts(episode), reader.replies(episode)
        if call not in prompts:
            raise UsageError(f"episode {episode} has no model call {call}; it has {len(prompts)}, from 0")
        shared = reader.shared_characters(episode, call)
        return self._page(
            "prompt.html",
            reader,
            head=head,
            call=call,
            old=prompts[call][:shared],
            new=prompts[call][shared:],
            reply=replies[call][1],
            before=max((c for c in prompts if c < call), default=None),
            after=min((c for c in prompts if c > call), default=None),
        )

    def compare_page(self, request: Request, reader: Reader) -> Response:
        a, b = (_number(request.query_params.get(key, "")) for key in ("a", "b"))
        left, right = trajectory(reader, a), trajectory(reader, b)
        alike = all(left.head[key] == right.head[key] for key in ("task", "seed", "trial"))
        return self._page(
            "compare.html", reader, left=left, right=right, pairing=pair(left, right), alike=alike, chosen=Filter()
        )

    def _page(self, template: str, reader: Reader, status: int = 200, **values: Any) -> Response:
        name = reader.meta("name")
        return _html(render(template, feature=FEATURE, extra=EXTRA, store=self.path.name, name=name, **values), status)


def _answered(viewer: Viewer, endpoint: Endpoint) -> Callable[[Request], Response]:
    """An endpoint with the store open, run in a thread of its own; errors raised on purpose become a page."""

    @wraps(endpoint)
    def answer(request: Request) -> Response:
        try:
            with Reader.open(viewer.path) as reader:
                return endpoint(viewer, request, reader)
        except TrialogueError as error:
            status = 404 if isinstance(error, UsageError) else 500
            return _message(str(error), status)

    return answer


def _labelled(viewer: Viewer) -> Callable[[Request], Awaitable[Response]]:
    """Adds the posted label, or takes it back, and shows the episode again."""
    from starlette.concurrency import run_in_threadpool
    from starlette.responses import RedirectResponse

    async def answer(request: Request) -> Response:
        # Pages elsewhere can post here too; a browser says where a post comes from.
        origin = request.headers.get("origin")
        if origin is not None and origin != f"{request.url.scheme}://{request.headers['host']}":
            return _message("labels are only taken from pages of this viewer", 403)
        if not viewer.who:
            return _message("nobody was named who labels: start it with --who NAME", 403)
        body = b""
        async for chunk in request.stream():
            body += chunk
            if len(body) > MOST_BYTES:
                return _message(f"a label and its note have at most {MOST_BYTES} bytes", 413)
        form = {key: values[0] for key, values in parse_qs(body.decode("utf-8", "replace")).items()}
        label = form.get("label", "").strip()
        try:
            episode = _number(request.path_params["episode"])
            chosen = Filter.parse(request.query_params)
            if "remove" in form:
                await run_in_threadpool(remove_label, viewer.path, episode, label, viewer.who)
            else:
                await run_in_threadpool(add_label, viewer.path, episode, label, viewer.who, form.get("note", ""))
        except UsageError as error:
            return _message(str(error), 400)
        said = "" if "remove" in form or not hint(label) else urlencode({"said": label})
        return RedirectResponse(f"/episode/{episode}" + "&".join(filter(None, [chosen.address(), said])), 303)

    return answer


def _style_sheet(request: Request) -> Response:
    from starlette.responses import Response

    return Response(style(), media_type="text/css", headers=HEADERS)


def _message(text: str, status: int) -> Response:
    return _html(render("message.html", feature=FEATURE, extra=EXTRA, message=text), status)


def _html(text: str, status: int = 200) -> Response:
    from starlette.responses import HTMLResponse

    return HTMLResponse(text, status, headers=HEADERS)


def _number(text: str) -> int:
    """Of an episode or a call. Longer ones than any store has would overflow SQLite's integers."""
    if not (text.isascii() and text.isdecimal() and len(text) <= 15):
        raise UsageError(f"expected a number, as in /episode/17 or /compare?a=17&b=42, got {text!r}")
    return int(text)
