"""Loading a specification: from the cache, or by SANY and the compiler."""

from __future__ import annotations

import functools
import gc
import hashlib
import itertools
import marshal
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib.util import MAGIC_NUMBER
from pathlib import Path
from types import CodeType

from lockstep.base.errors import NOT_TRANSLATED
from lockstep.tla.compile.compile_error import CompileError
from lockstep.tla.compile.generated_module import COMPILER_VERSION
from lockstep.tla.compile.module_text import generate
from lockstep.tla.loading.pluscal import untranslated
from lockstep.tla.loading.spec_cache import cache_folder, read_cached, write_cached
from lockstep.tla.loading.spec_project import directories_of, exported, program_of, project_modules, read_cfg
from lockstep.tla.spec import Spec, code_of, stages_of
from lockstep.tla.syntax import sany
from lockstep.tla.syntax.interning import interned
from lockstep.tla.syntax.sany_xml import read_tree
from lockstep.tla.values.kinds import Fcn, ModelValue, Value, format_value, sort_key
from lockstep.tlc.java import named_jar


def load_spec(
    tla_path: str | Path,
    cfg_path: str | Path | None = None,
    *,
    constants: Mapping[str, Value] | None = None,
    cache_dir: str | Path | None = None,
    search_path: Iterable[str | Path] = (),
    footprints: Iterable[str] = (),
    start: str | None = None,
    java: str | None = None,
    jar: str | Path | None = None,
    has_probes: bool = False,
) -> Spec:
    """Load a specification: from the cache, or by SANY and the compiler.

    Args:
        cfg_path: TLC's configuration; none if None, and then Init and Next are found by name.
        constants: values for constants, besides or instead of the configuration's.
        cache_dir: the folder of compiled specs; the user's own if None, see :mod:`lockstep.tla.loading.spec_cache`.
        search_path: further directories with modules, after the root module's own and its parent, before spec/common.
        footprints: the definitions, where there are such, that :meth:`Spec.footprint` knows.
        start: the definition of the states to begin in, if these are not the initial ones.
        jar: ``tla2tools.jar``; a spec that another jar parsed is not taken from the cache.
        has_probes: whether its expressions are to have probes, see :mod:`lockstep.tla.values.probed_values`.

    Returns:
        The specification. Once cached, loading it needs no Java.

    Raises:
        SanyError: if SANY refuses a module.
        ToolMissing: if SANY is needed and there is no Java that is new enough, or no jar; if a jar that is named is
            none.
        ToolDied: if SANY does not finish in its time.
        CfgError: if the configuration cannot be read.
        CompileError: if something needed is outside the supported language.
        OSError: if a file cannot be read.
    """
    root = Path(tla_path)
    directories = directories_of(root, search_path)
    given = dict(constants or {})
    cfg_text, cfg = read_cfg(cfg_path, given)
    cfg.start = start
    modules = project_modules(root, directories)
    wanted = sorted(footprints)
    spec_hash = _hash(modules, root.stem, cfg_text, given, (wanted, start, has_probes))
    cached = _cache_file(cache_dir, root.stem, spec_hash, None if jar is None else Path(jar))
    if (known := _cached(cached)) is not None:
        known.cfg_file = cfg.file
        return known
    try:
        xml = exported(root, modules, directories, cached.parent, java=java, jar=jar)
        with _no_garbage_collection():
            tree = read_tree(xml)
            names = interned(tree, _text_of(modules, jar), [*cfg.names, *_names_in(given.values())])
            program = program_of(tree, cfg)
            if cfg_path is not None:
                program.refuse_unvalued()
            source = generate(
                program, modules, spec_hash=spec_hash, footprints=wanted, names=names, has_probes=has_probes
            )
    except (CompileError, sany.SanyError) as error:
        raise _of_pluscal(error, root, modules[root.stem]) from error
    write_cached(cached, source.encode())
    made = _made(cached, source)
    made.cfg_file = cfg.file
    return made


def store_compiled(spec: Spec, cache_dir: Path) -> None:
    """Write a spec into another folder of compiled specs, from which load_spec loads it where there is no Java."""
    write_cached(_file_of(cache_dir, spec.name, spec.spec_hash), spec.source.encode())


@contextmanager
def _no_garbage_collection() -> Iterator[None]:
    """Suspend the collection of garbage: a compilation makes little, and would spend a sixth of its time on it."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


def _of_pluscal(error: CompileError | sany.SanyError, root: Path, text: str) -> CompileError | sany.SanyError:
    """Return an error as it is, or its cause: names are missing since the algorithm is not translated."""
    line = untranslated(text)
    if line is None or (isinstance(error, CompileError) and not error.code):
        return error
    said = f"{root}:{line}: {NOT_TRANSLATED} the PlusCal algorithm is not translated (pcal.trans {root.name})"
    return CompileError(said, code=NOT_TRANSLATED)


def _text_of(modules: dict[str, str], jar: str | Path | None) -> Callable[[str], str | None]:
    """Return the function of a module's name that returns its text, of the project or a standard one."""

    def text_of(name: str) -> str | None:
        return modules[name] if name in modules else sany.standard_module(name, jar)

    return text_of


def _names_in(values: Iterable[Value]) -> Iterator[str]:
    """Yield the model values and strings in values, as a configuration would list them."""
    for value in values:
        if isinstance(value, ModelValue):
            yield value.name
        elif isinstance(value, str):
            yield value
        elif isinstance(value, frozenset):
            yield from _names_in(sorted(value, key=sort_key))
        elif isinstance(value, tuple):
            yield from _names_in(value)
        elif isinstance(value, Fcn):
            yield from _names_in(itertools.chain(value.d, value.d.values()))


def _hash(modules: dict[str, str], root: str, cfg_text: str, constants: dict[str, Value], options: object) -> str:
    digest = hashlib.sha256()
    given = sorted((name, format_value(value)) for name, value in constants.items())
    for part in (COMPILER_VERSION, _own_code(), root, cfg_text, repr(given), repr(options)):
        digest.update(f"{len(part)}:{part}".encode())
    for name in sorted(modules):
        digest.update(f"{name}:{len(modules[name])}:{modules[name]}".encode())
    return digest.hexdigest()


@functools.cache
def _own_code() -> str:
    """Return a digest of the compiler itself: a changed compiler must not read an old cache."""
    digest = hashlib.sha256()
    for file in sorted(Path(__file__).parents[1].rglob("*.py")):
        digest.update(file.read_bytes())
    return digest.hexdigest()


def _cache_file(folder: str | Path | None, name: str, spec_hash: str, jar: Path | None) -> Path:
    """Name the file of a specification; one for each jar that is named, since that is to be used."""
    key, named = spec_hash, named_jar(jar)
    if named is not None:
        tools = named.stat()
        key = hashlib.sha256(f"{spec_hash} {tools.st_size} {tools.st_mtime_ns}".encode()).hexdigest()
    return _file_of(cache_folder() if folder is None else Path(folder), name, key)


def _file_of(folder: Path, name: str, key: str) -> Path:
    return folder / f"{name}-{key[:32]}.py"


def _cached(path: Path) -> Spec | None:
    """Load a specification from the cache; None where it is not there, or cannot be loaded for whatever reason."""
    source = read_cached(path)
    if source is None:
        return None
    try:
        return _made(path, source.decode())
    except Exception:  # It is compiled again, which shows what is wrong if it is not the file.
        return None


def _made(path: Path, source: str) -> Spec:
    """Make a specification of a source that is stored in a file, with its compiled code beside it."""
    stages = functools.partial(_code, path, source, "stages", stages_of)
    return Spec(source, _code(path, source, "code", code_of), stages)


def _code(path: Path, source: str, part: str, translate: Callable[[str], CodeType]) -> CodeType:
    """Return this Python's code of a part of a source, from the file beside it if that is of the same source."""
    beside = path.with_suffix(f".{MAGIC_NUMBER.hex()}.{part}")
    digest = hashlib.sha256(source.encode()).digest()
    stored = read_cached(beside)
    if stored is not None and stored.startswith(digest):
        with suppress(EOFError, TypeError, ValueError):
            known: CodeType = marshal.loads(stored[len(digest) :])
            return known
    code = translate(source)
    write_cached(beside, digest + marshal.dumps(code))
    return code
