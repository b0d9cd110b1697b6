"""A short run of the fuzzer, so that it is known to work when it is wanted for a long one."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

FUZZER = Path(__file__).with_name("fuzz_codec.py")


@pytest.mark.skipif(shutil.which("gcc") is None, reason="the sanitizer build needs gcc")
def test_two_hundred_thousand_bent_inputs_neither_crash_the_codec_nor_make_it_contradict_itself():
    command = [sys.executable, str(FUZZER), "--inputs", "200000", "--seed", "7"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "OK: 200,000 inputs" in done.stdout
