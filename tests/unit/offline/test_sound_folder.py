"""The data folder that the tests of this folder start from."""

from pathlib import Path

from tests.unit.offline.folders import EVERYTHING, checked, content_of, sound_folder


def test_the_folder_the_tests_start_from_is_clean_and_complete(tmp_path: Path) -> None:
    data = sound_folder(tmp_path)
    assert checked(data).clean
    assert content_of(data) == EVERYTHING
