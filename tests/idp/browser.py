"""A browser as far as signing in needs one: it follows redirects, keeps cookies and sends forms."""

import re
from collections.abc import Mapping
from html import unescape
from http.client import HTTPMessage
from http.cookiejar import CookieJar
from typing import IO
from urllib.error import HTTPError
from urllib.parse import urlencode
from urllib.request import HTTPCookieProcessor, HTTPRedirectHandler, ProxyHandler, Request, build_opener

import msgspec

__all__ = ["Browser", "Page"]

PATIENCE = 20.0
"""Seconds for each request."""
_FORM = re.compile(r'<form[^>]*action="([^"]*)"[^>]*>(.*?)</form>', re.DOTALL)
_FIELD = re.compile(r'name="([^"]*)" value="([^"]*)"')


class Page(msgspec.Struct, frozen=True):
    """Where the redirects led, and what is there. The status is a redirect's if it leads to where none is wanted."""

    url: str
    status: int
    text: str

    @property
    def form(self) -> tuple[str, dict[str, str]]:
        """Where the page's only form goes, and what is filled in."""
        [(action, fields)] = _FORM.findall(self.text)
        return unescape(action), {name: unescape(value) for name, value in _FIELD.findall(fields)}


class _Redirects(HTTPRedirectHandler):
    """Follows redirects, but not to `end`."""

    def __init__(self, end: str | None) -> None:
        self._end = end

    def redirect_request(  # noqa: PLR0917 -- the handler's own parameters
        self, req: Request, fp: IO[bytes], code: int, msg: str, headers: HTTPMessage, newurl: str
    ) -> Request | None:
        if self._end is not None and newurl.startswith(self._end):
            return None
        return super().redirect_request(req, fp, code, msg, headers, newurl)


class Browser:
    """Blocks while it waits. Whoever's callback runs in the event loop of the test visits in a thread
    (`await asyncio.to_thread(browser.visit, url)`).
    """

    def __init__(self) -> None:
        self._cookies = HTTPCookieProcessor(CookieJar())

    def visit(
        self, url: str, form: Mapping[str, str] | None = None, *, end: str | None = None, authorization: str = ""
    ) -> Page:
        """The page at `url`, to which `form` is posted; a redirect to what begins with `end` is not followed."""
        opener = build_opener(ProxyHandler({}), self._cookies, _Redirects(end))
        body = None if form is None else urlencode(form).encode()
        headers = {"authorization": authorization} if authorization else {}
        try:
            answer = opener.open(Request(url, body, headers), timeout=PATIENCE)
        except HTTPError as error:
            answer = error
        with answer:
            where = answer.headers.get("location") or answer.url
            return Page(where, answer.status or 0, answer.read().decode(errors="replace"))
