"""The pages of one topic, as they stand beside each other in its tabs."""

from goqueue.gateways.console.links import link

__all__ = ["topic_tabs"]


def topic_tabs(name: str) -> list[tuple[str, str]]:
    return [
        ("Overview", link("topics", name)),
        ("Records", link("topics", name, "records")),
        ("Publish", link("topics", name, "publish")),
        ("Queue", link("topics", name, "queue")),
        ("Settings", link("topics", name, "settings")),
    ]
