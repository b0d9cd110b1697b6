"""Types of the names that are loaded when they are first used."""

from goqueue.client.sync import Admin, Consumer, Job, Message, Producer, Topic, TopicConfig, Worker

__all__ = ["Admin", "Consumer", "Job", "Message", "Producer", "Topic", "TopicConfig", "Worker", "__version__"]

__version__: str
