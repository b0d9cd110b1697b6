"""The console: pages for people, served by the broker itself.

How a page is added:

1. A file in `pages/`: handlers are `async def name(visit: Visit) -> Answer` over the same use cases that the HTTP API
   calls, and `PART = Part(pages=…, live=…, nav=…)` says at which paths they stand. Paths are relative to `/console`.
2. Its line in `PARTS` of `pages/__init__.py`, which is also the order of the navigation.
3. A template in `templates/` that extends `layout.html` and uses the macros of `components.html`.
4. Its path in `tests/console/places.py`: every test of all pages (opens without errors, accessibility, phone width,
   dark and light) and every screenshot takes its pages from there.

What everybody relies on: whatever changes something is a POST, which is refused unless it comes from the console's own
pages; errors of the engine become a page, or a fragment where htmx asked; templates escape everything; there is no
inline script and no inline style, and the policy of the responses forbids both.
"""
