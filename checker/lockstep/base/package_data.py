"""The folders of files that `lockstep` reads beside its own code: specs, recordings, exercises."""

from pathlib import Path


class SpecNotFoundError(FileNotFoundError):
    """No folder with the TLA+ modules is where a checkout or an installed wheel keeps it."""


def spec_dir() -> Path:
    """Find the folder that holds the TLA+ modules.

    An installed wheel carries it inside the package, as `lockstep/_spec`; in a checkout, which is also what
    an editable install uses, it is `spec` beside the source roots.

    Returns:
        The absolute path of a folder with `common`, which holds at least one `.tla` file, and a folder for each system.

    Raises:
        SpecNotFoundError: Neither place has one; the message names both.
    """
    package = _package()
    return _first_with_modules(package / "_spec", package.parent.parent / "spec")


def common_dir() -> Path:
    """Return the folder of the modules that specs of several systems share; every search for a module ends there."""
    return spec_dir() / "common"


def traces_dir() -> Path:
    """Find the folder that holds the recordings and their manifest: `_traces` in a wheel, `traces` in a checkout.

    Raises:
        FileNotFoundError: Neither place has a manifest.
    """
    package = _package()
    for folder in (package / "_traces", package.parent.parent / "traces"):
        if (folder / "manifest.toml").is_file():
            return folder
    raise FileNotFoundError("no recordings (traces/manifest.toml): work in a complete checkout")


def course_dir() -> Path:
    """Find the folder of the course's exercises: `_course` in a wheel, `docs/course/exercises` in a checkout.

    Raises:
        FileNotFoundError: Neither place has an exercise.
    """
    package = _package()
    for folder in (package / "_course", package.parent.parent / "docs" / "course" / "exercises"):
        if any(folder.glob("*/exercise.toml")):
            return folder
    raise FileNotFoundError("no exercises (docs/course/exercises): work in a complete checkout")


def chapter_file(name: str) -> Path:
    """Return the file of a chapter of the course: with the exercises in a wheel, beside their folder in a checkout.

    Raises:
        FileNotFoundError: Neither place has a chapter of that name.
    """
    folders = (course_dir(), course_dir().parent)
    found = next((folder / name for folder in folders if (folder / name).is_file()), None)
    if found is None:
        raise FileNotFoundError(f"no chapter {name} of the course: work in a complete checkout")
    return found


def _package() -> Path:
    """Return the folder of the package `lockstep`."""
    return Path(__file__).resolve().parents[1]


def _first_with_modules(*folders: Path) -> Path:
    for folder in folders:
        if any((folder / "common").glob("*.tla")):
            return folder
    places = " nor in ".join(str(folder) for folder in folders)
    raise SpecNotFoundError(
        f"no TLA+ modules (common/*.tla) in {places}: install the wheel again, or work in a complete checkout"
    )
