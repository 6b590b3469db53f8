"""A compiled spec is kept, and made again where the kept one is damaged."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from lockstep.tla.loading import spec_project as module
from lockstep.tla.loading.load_spec import load_spec
from lockstep.tla.loading.spec_cache import cache_folder, read_cached, write_cached
from lockstep.tla.spec import Spec
from tests.support.places import SPECS

MODULES = SPECS / "tla"


def load(cache: Path) -> Spec:
    return load_spec(MODULES / "DieHard.tla", MODULES / "DieHard.cfg", cache_dir=cache)


@pytest.fixture(scope="module")
def cached(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, bytes, str]:
    """The file of a compiled spec, its content, and the spec's source."""
    folder = tmp_path_factory.mktemp("cache")
    source = load(folder).source
    (file,) = folder.glob("*.py")
    return file, file.read_bytes(), source


DAMAGES = {
    "empty": lambda content: b"",
    "cut": lambda content: content[: len(content) // 2],
    "another letter": lambda content: content.replace(b"def ", b"dfe ", 1),
    "another value": lambda content: content[:-60] + content[-60:].replace(b"_t.big", b"_s.big"),
    "zeros": lambda content: bytes(len(content)),
    "of an older version, without a checksum": lambda content: content.partition(b"\n")[2],
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_file_is_replaced(damage: str, cached: tuple[Path, bytes, str]) -> None:
    file, content, source = cached
    damaged = DAMAGES[damage](content)
    assert damaged != content
    file.write_bytes(damaged)
    assert load(file.parent).source == source
    assert file.read_bytes() == content


def test_a_whole_file_that_cannot_be_loaded_is_replaced(cached: tuple[Path, bytes, str]) -> None:
    file, content, source = cached
    write_cached(file, b"this is no Python")
    assert load(file.parent).source == source
    assert file.read_bytes() == content


def test_a_whole_file_is_what_is_loaded(cached: tuple[Path, bytes, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module.sany, "export", lambda *_, **__: pytest.fail("compiled again"))
    assert load(cached[0].parent).source == cached[2]


def test_the_code_of_a_spec_lies_beside_it_and_is_made_again_where_it_is_damaged(
    cached: tuple[Path, bytes, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = cached[0].parent
    load(folder)
    (file,) = folder.glob("*.code")
    content = file.read_bytes()
    for damaged in (b"", content[:-100], content.replace(b"TypeOK", b"TypeKO")):
        assert damaged != content
        file.write_bytes(damaged)
        assert load(folder).evaluate("TypeOK", load(folder).state({"big": 0, "small": 0})) is True
        assert file.read_bytes() == content
    write_cached(file, b"no code")
    assert load(folder).source == cached[2]
    assert file.read_bytes() == content
    monkeypatch.setattr("lockstep.tla.loading.load_spec.code_of", lambda _: pytest.fail("translated again"))
    load(folder)


def test_a_project_is_parsed_once_for_all_its_configurations(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    load(tmp_path)
    other = tmp_path / "Other.cfg"
    other.write_text((MODULES / "DieHard.cfg").read_text() + "\\* as before\n")
    monkeypatch.setattr(module.sany, "export", lambda *_, **__: pytest.fail("parsed again"))
    assert load_spec(MODULES / "DieHard.tla", other, cache_dir=tmp_path).name == "DieHard"
    assert len(list(tmp_path.glob("*.xml.z"))) == 1


def test_a_changed_module_is_parsed_again(tmp_path: Path) -> None:
    spec = tmp_path / "DieHard.tla"
    text = (MODULES / "DieHard.tla").read_text()
    for each in (text, text.replace("====", "Added == 7\n====")):
        spec.write_text(each)
        found = load_spec(spec, MODULES / "DieHard.cfg", cache_dir=tmp_path / "cache")
    assert found.evaluate("Added") == 7


def test_a_damaged_parse_is_made_again(tmp_path: Path) -> None:
    source = load(tmp_path).source
    (kept,) = tmp_path.glob("*.xml.z")
    whole = kept.read_bytes()
    (tmp_path / next(tmp_path.glob("*.py")).name).unlink()
    kept.write_bytes(whole[: len(whole) // 2])
    assert load(tmp_path).source == source
    assert kept.read_bytes() == whole


def test_a_spec_is_compiled_though_the_cache_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    assert load(tmp_path / "file" / "cache").name == "DieHard"


def test_the_cache_is_where_the_user_s_system_keeps_caches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder() == tmp_path / "lockstep"


def test_a_file_that_a_killed_process_has_half_written_is_removed(tmp_path: Path) -> None:
    old, new = tmp_path / "old.tmp", tmp_path / "new.tmp"
    for part in (old, new):
        part.write_text("half")
    os.utime(old, (time.time() - 7200,) * 2)
    write_cached(tmp_path / "whole.py", b"text\n")
    assert sorted(each.name for each in tmp_path.iterdir()) == ["new.tmp", "whole.py"]
    assert read_cached(tmp_path / "whole.py") == b"text\n"
