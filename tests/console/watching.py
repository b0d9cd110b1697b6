"""Watches a page: what it complains about, and whom it asks."""

from urllib.parse import urlsplit

from playwright.sync_api import ConsoleMessage, Page, Request

__all__ = ["Watch"]


class Watch:
    """From the first request of a page on."""

    def __init__(self, page: Page, host: str) -> None:
        self._host = host
        self.complaints: list[str] = []
        self.foreign: list[str] = []
        self.dialogs: list[str] = []
        self.tolerated: tuple[str, ...] = ()
        page.on("console", self._said)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("request", self._asked)
        page.on("dialog", self._asked_user)

    def tolerate(self, *signs: str) -> None:
        """Complaints with one of these in them are meant, such as the status of a refusal."""
        self.tolerated += signs

    def check(self) -> None:
        left = [one for one in self.complaints if not any(sign in one for sign in self.tolerated)]
        assert left == []
        assert self.foreign == []
        assert self.dialogs == []

    def _said(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self.complaints.append(message.text)

    def _asked(self, request: Request) -> None:
        url = urlsplit(request.url)
        if url.scheme not in ("data", "blob") and url.netloc != self._host:
            self.foreign.append(request.url)

    def _asked_user(self, dialog) -> None:
        self.dialogs.append(dialog.message)
        dialog.dismiss()
