"""The console as one ASGI application, for the broker's HTTP listener to serve under /console."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from starlette.routing import Route, Router
from starlette.types import Receive, Scope, Send

from goqueue.errors import GoQueueError, InternalError
from goqueue.gateways.console.answering import Problem, problem_of, respond
from goqueue.gateways.console.assets import FOR_EVER, Assets
from goqueue.gateways.console.desk import Desk
from goqueue.gateways.console.feeding import MOST_STREAMS, Feeding
from goqueue.gateways.console.guarding import is_own
from goqueue.gateways.console.links import PREFIX
from goqueue.gateways.console.notices import NOTICES
from goqueue.gateways.console.page import Answer, Html, Live, Page, Part
from goqueue.gateways.console.pages import PARTS
from goqueue.gateways.console.rendering import Renderer
from goqueue.gateways.console.visit import Visit

__all__ = ["Console"]

HTML = b"text/html; charset=utf-8"


class Console:
    """Pages, assets and live feeds; `stop` ends what only waits."""

    def __init__(self, desk: Desk, report_bug: Callable[[BaseException], None], parts: Sequence[Part] = PARTS) -> None:
        self._desk = desk
        self._report_bug = report_bug
        self._assets = Assets()
        self._feeding = Feeding(report_bug)
        self._render = Renderer([item for part in parts for item in part.nav], self._assets.version)
        self._router = Router(self._routes(parts), redirect_slashes=False, default=self._unknown)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """A page has one address, and answers with a slash at its end as well."""
        try:
            await self._router({**scope, "path": scope["path"].rstrip("/")}, receive, send)
        except Exception as bug:
            self._report_bug(bug)
            failure = InternalError("the console failed to answer; the broker's log says why")
            await self._respond_problem(send, problem_of(failure))

    def stop(self) -> None:
        self._feeding.stop()

    def _routes(self, parts: Sequence[Part]) -> list[Route]:
        methods: dict[str, dict[str, Page]] = {}
        for page in (page for part in parts for page in part.pages):
            of_path = methods.setdefault(page.path, {})
            assert page.method not in of_path, f"{page.method} {page.path} is there twice"
            of_path[page.method] = page
        routes = [Route(PREFIX + path.rstrip("/"), _Pages(self, of_path)) for path, of_path in methods.items()]
        routes += [Route(PREFIX + live.path, _Feed(self, live)) for part in parts for live in part.live]
        routes.append(Route(PREFIX + "/static/{version}/{name:path}", _Static(self._assets)))
        return routes

    # Answers.

    async def show(self, pages: Mapping[str, Page], scope: Scope, receive: Receive, send: Send) -> None:
        body = (await receive()).get("body", b"")
        is_partial = False
        try:
            visit = Visit(self._desk, scope, body, self._render)
            is_partial = visit.is_partial
            page = pages.get("GET" if visit.method == "HEAD" else visit.method)
            if page is None:
                await self._respond_problem(send, Problem(405, "method_not_allowed", f"no {visit.method} here"))
            elif page.method == "POST" and not is_own(visit):
                await self._respond_problem(send, FOREIGN, is_partial=is_partial)
            else:
                await self._answer(await page.handler(visit), visit, send)
        except GoQueueError as refusal:
            await self._respond_problem(send, problem_of(refusal), is_partial=is_partial)

    async def feed(self, live: Live, scope: Scope, receive: Receive, send: Send) -> None:
        await receive()
        try:
            visit = Visit(self._desk, scope, b"", self._render)
            if self._feeding.has_room:
                await self._feeding.serve(live.feed, visit, receive, send)
            else:
                await self._respond_problem(send, NO_ROOM, is_partial=True)
        except GoQueueError as refusal:
            await self._respond_problem(send, problem_of(refusal), is_partial=True)

    async def _answer(self, answer: Answer, visit: Visit, send: Send) -> None:
        if not isinstance(answer, Html):
            mark = "&" if "?" in answer.to else "?"
            to = f"{answer.to}{mark}notice={answer.notice}" if answer.notice else answer.to
            # htmx follows a redirect within its target; the whole page is to change.
            headers = ((b"hx-redirect" if visit.is_partial else b"location", to.encode()),)
            await respond(send, 200 if visit.is_partial else 303, b"", HTML, headers)
            return
        around = {"here": visit.path, "notice": NOTICES.get(visit.query.get("notice", ""), "")}
        page = self._render(answer.template, {**around, **answer.values})
        await respond(send, answer.status, page.encode(), HTML)

    async def _respond_problem(self, send: Send, problem: Problem, *, is_partial: bool = False) -> None:
        template = "problem_part.html" if is_partial else "problem.html"
        page = self._render(template, {"here": "", "notice": "", "problem": problem})
        await respond(send, problem.status, page.encode(), HTML)

    async def _unknown(self, scope: Scope, _: Receive, send: Send) -> None:
        problem = Problem(404, "unknown_page", "there is no such page", hint="the navigation leads to all there are")
        await self._respond_problem(send, problem)


FOREIGN = Problem(
    403,
    "foreign_request",
    "this did not come from a page of the console, so nothing was changed",
    hint="open the console at the address that the broker listens on, and do it there",
)
NO_ROOM = Problem(503, "server_busy", f"{MOST_STREAMS} pages are watching already")


class _Pages:
    """The pages of one path, by method."""

    def __init__(self, console: Console, pages: Mapping[str, Page]) -> None:
        self._console = console
        self._pages = pages

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._console.show(self._pages, scope, receive, send)


class _Feed:
    def __init__(self, console: Console, live: Live) -> None:
        self._console = console
        self._live = live

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._console.feed(self._live, scope, receive, send)


class _Static:
    def __init__(self, assets: Assets) -> None:
        self._assets = assets

    async def __call__(self, scope: Scope, _: Receive, send: Send) -> None:
        params: Any = scope["path_params"]
        asset = self._assets.get(params["name"])
        if asset is None:
            await respond(send, 404, b"there is no such file", b"text/plain; charset=utf-8")
            return
        is_current = params["version"] == self._assets.version
        caching = FOR_EVER if is_current else b"no-cache"
        await respond(send, 200, asset.content, asset.media_type, ((b"cache-control", caching),))
