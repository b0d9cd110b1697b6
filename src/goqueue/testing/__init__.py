"""Test support: brokers for testing programs, and fakes for time, randomness and disks for tests of GoQueue itself."""

from goqueue.testing.broker_process import BrokerProcess
from goqueue.testing.clock import FakeClock
from goqueue.testing.crash_states import crash_states
from goqueue.testing.disk_image import Image
from goqueue.testing.entropy import SeededEntropy
from goqueue.testing.observer import RecordingObserver
from goqueue.testing.power_cut import Platter
from goqueue.testing.simulated_disk import SimulatedFileSystem

__all__ = [
    "BrokerProcess",
    "FakeClock",
    "Image",
    "Platter",
    "RecordingObserver",
    "SeededEntropy",
    "SimulatedFileSystem",
    "crash_states",
]
