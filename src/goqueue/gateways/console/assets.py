"""Scripts, styles and fonts: read once, and kept by browsers until their contents change."""

import hashlib
from pathlib import Path

import msgspec

__all__ = ["Asset", "Assets"]

FOLDER = Path(__file__).parent / "static"
MEDIA_TYPES = {
    ".css": b"text/css; charset=utf-8",
    ".js": b"text/javascript; charset=utf-8",
    ".svg": b"image/svg+xml",
    ".woff2": b"font/woff2",
    ".txt": b"text/plain; charset=utf-8",
    ".md": b"text/plain; charset=utf-8",
}
FOR_EVER = b"public, max-age=31536000, immutable"


class Asset(msgspec.Struct, frozen=True):
    content: bytes
    media_type: bytes


class Assets:
    """All of them, by name; `version` follows from what is in them, and is a part of their paths."""

    def __init__(self) -> None:
        self._assets = {
            str(file.relative_to(FOLDER)): Asset(file.read_bytes(), MEDIA_TYPES[file.suffix])
            for file in sorted(FOLDER.rglob("*"))
            if file.suffix in MEDIA_TYPES
        }
        digest = hashlib.sha256()
        for name, asset in self._assets.items():
            digest.update(name.encode() + b"\0" + asset.content)
        self.version = digest.hexdigest()[:12]

    def get(self, name: str) -> Asset | None:
        return self._assets.get(name)

    def names(self) -> list[str]:
        return list(self._assets)
