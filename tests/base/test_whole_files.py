from __future__ import annotations

import re
from pathlib import Path

import pytest

from lockstep.base.whole_files import writing_whole


def test_a_file_has_what_was_written_once_the_block_is_left_and_until_then_what_it_had(tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    path.write_text("before")
    with writing_whole(path) as file:
        file.write(b"after")
        file.flush()
        assert path.read_text() == "before"
    assert (path.read_text(), list(tmp_path.iterdir())) == ("after", [path])


@pytest.mark.parametrize("why", [KeyboardInterrupt, ValueError])
def test_an_interrupted_write_leaves_the_file_as_it_was(tmp_path: Path, why: type[BaseException]) -> None:
    path = tmp_path / "page.html"
    path.write_text("before")
    with pytest.raises(why), writing_whole(path) as file:
        file.write(b"aft")
        raise why
    assert (path.read_text(), list(tmp_path.iterdir())) == ("before", [path])


def test_a_symbolic_link_is_followed_and_stays_a_link(tmp_path: Path) -> None:
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_text("before")
    link.symlink_to(target)
    with writing_whole(link) as file:
        file.write(b"after")
    assert (link.is_symlink(), target.read_text()) == (True, "after")


def test_a_path_that_is_no_regular_file_is_written_in_place() -> None:
    with writing_whole(Path("/dev/null")) as file:
        file.write(b"after")
    assert not Path("/dev/null").is_file()


def test_an_error_names_the_file_that_was_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "no such folder" / "page.html"
    with pytest.raises(FileNotFoundError, match=re.escape(f"'{path}'")), writing_whole(path):
        pass
