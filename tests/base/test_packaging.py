"""The contents of a checkout, of a built wheel and of the source distribution."""

import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest

from lockstep.base import package_data as paths
from tests.support.places import ROOT


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the source distribution, and the wheel that is built from it."""
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.fixture(scope="module")
def wheel(built: Path) -> Path:
    (found,) = built.glob("*.whl")
    return found


@pytest.fixture(scope="module")
def unpacked(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("unpacked")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    return folder


def test_the_spec_of_a_checkout_is_the_folder_spec_at_the_top() -> None:
    assert paths.spec_dir() == ROOT / "spec"
    assert (paths.common_dir() / "Quorum.tla").is_file()


def test_the_error_of_a_missing_spec_names_both_places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "checker" / "lockstep"
    monkeypatch.setattr(paths, "__file__", str(package / "base" / "paths.py"))
    with pytest.raises(paths.SpecNotFoundError) as caught:
        paths.spec_dir()
    assert str(package / "_spec") in str(caught.value)
    assert str(tmp_path / "spec") in str(caught.value)


def test_a_folder_without_modules_is_not_taken_for_the_spec(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "checker" / "lockstep"
    (package / "_spec").mkdir(parents=True)
    (tmp_path / "spec" / "common").mkdir(parents=True)
    (tmp_path / "spec" / "common" / "Quorum.tla").touch()
    monkeypatch.setattr(paths, "__file__", str(package / "base" / "paths.py"))
    assert paths.spec_dir() == tmp_path / "spec"


def test_the_wheel_holds_the_spec_and_both_packages_with_their_type_markers(unpacked: Path) -> None:
    def modules(folder: Path) -> set[str]:
        return {str(file.relative_to(folder)) for file in folder.rglob("*.tla")}

    assert "common/Quorum.tla" in modules(unpacked / "lockstep" / "_spec")
    assert modules(unpacked / "lockstep" / "_spec") == modules(ROOT / "spec")
    for package in ("lockstep", "raftref"):
        assert (unpacked / package / "__init__.py").is_file()
        assert (unpacked / package / "py.typed").is_file()


def test_the_wheel_holds_the_exercises_and_the_chapters_of_the_course(unpacked: Path) -> None:
    def files(folder: Path) -> set[str]:
        return {str(file.relative_to(folder)) for file in folder.rglob("*") if file.is_file()}

    assert "1/exercise.toml" in files(unpacked / "lockstep" / "_course")
    chapters = {file.name for file in (ROOT / "docs" / "course").glob("[0-9]_*.md")}
    assert len(chapters) == 8
    assert files(unpacked / "lockstep" / "_course") == files(paths.course_dir()) | chapters


def test_the_wheel_holds_what_pages_are_made_of(unpacked: Path) -> None:
    inside = Path("lockstep", "report", "page", "static")
    names = {file.name for file in (ROOT / "checker" / inside).iterdir()}
    assert {"page.html", "page.css", "page.js", "play.html", "play.css", "play.js"} <= names
    assert {file.name for file in (unpacked / inside).iterdir()} == names


def test_the_wheel_holds_nothing_but_the_two_packages_and_its_metadata(unpacked: Path) -> None:
    top = {entry.name for entry in unpacked.iterdir() if not entry.name.endswith(".dist-info")}
    assert top == {"lockstep", "raftref"}
    assert not list(unpacked.rglob("__pycache__"))


def test_imported_from_the_wheel_the_spec_is_found_inside_it(unpacked: Path, tmp_path: Path) -> None:
    code = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "import lockstep, raftref\n"
        "from lockstep.base.package_data import course_dir, spec_dir\n"
        "print(lockstep.__file__, raftref.__file__, spec_dir(), course_dir(), sep='\\n')"
    )
    # Isolated and elsewhere, so that nothing but the unpacked wheel can be what is imported.
    command = [sys.executable, "-I", "-c", code, str(unpacked)]
    printed = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    found = [Path(line) for line in printed.splitlines()]
    home = unpacked.resolve()
    assert found == [
        home / "lockstep" / "__init__.py",
        home / "raftref" / "__init__.py",
        home / "lockstep" / "_spec",
        home / "lockstep" / "_course",
    ]


# ---- Installed ----


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs of a new environment with the wheel in it; the packages that it needs are those of the tests."""
    place = tmp_path_factory.mktemp("installed")
    venv.create(place, with_pip=False)
    python = place / "bin" / "python"
    (site,) = place.glob("lib/python3*/site-packages")
    # A path in a .pth file is added without the .pth files that lie there: the checkout itself cannot be imported.
    (site / "needed.pth").write_text(f"{sysconfig.get_path('purelib')}\n", encoding="utf-8")
    command = [sys.executable, "-m", "pip", "--python", str(python), "install", "--no-deps", "--no-index", str(wheel)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    return place / "bin"


def run(installed: Path, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the installed `lockstep` in a folder that is not the checkout."""
    command = [str(installed / "lockstep"), *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300)


def test_an_installed_wheel_reports_the_version_of_the_project(installed: Path, tmp_path: Path) -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    assert run(installed, tmp_path, "--version").stdout.split()[-1] == version


def test_an_installed_wheel_simulates_a_cluster_and_checks_its_trace(installed: Path, tmp_path: Path) -> None:
    written = run(installed, tmp_path, "simulate", "--seed", "7", "-o", "out")
    assert written.returncode == 0, written.stderr
    checked = run(installed, tmp_path, "check", written.stdout.strip())
    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert "holds" in checked.stdout


def test_an_installed_wheel_explores_a_model_with_tlc(installed: Path, tmp_path: Path) -> None:
    explored = run(installed, tmp_path, "model", "ordered")
    assert explored.returncode == 0, explored.stdout + explored.stderr
    assert "683" in explored.stdout


def test_the_source_distribution_holds_the_tests_and_no_results_of_builds(built: Path) -> None:
    (archive,) = built.glob("*.tar.gz")
    with tarfile.open(archive) as opened:
        names = {name.partition("/")[2] for name in opened.getnames()}
    assert {"tests/conftest.py", "spec/common/Quorum.tla", "Makefile", "requirements.lock", "LICENSE"} <= names
    assert not [
        name for name in names if name.startswith((".venv", ".cache", "build/", "dist/")) or "__pycache__" in name
    ]
