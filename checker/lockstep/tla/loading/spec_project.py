"""The files of a project: its modules and its configuration, parsed by SANY."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from lockstep.base.package_data import common_dir
from lockstep.base.text_files import text_of
from lockstep.tla.compile.program import Program
from lockstep.tla.loading.spec_cache import cache_folder, read_cached, write_cached
from lockstep.tla.syntax import sany
from lockstep.tla.syntax.cfg import Cfg, parse_cfg
from lockstep.tla.syntax.instances import resolve_instances
from lockstep.tla.syntax.sany_xml import bind_captured, read_tree
from lockstep.tla.syntax.tree import SyntaxTree
from lockstep.tla.values.kinds import Value
from lockstep.tlc import unicode_symbols
from lockstep.tlc.java import find_tla2tools
from lockstep.tlc.module_files import project_files


@dataclass(frozen=True)
class Parsed:
    """A parsed specification that is not compiled: its syntax tree with the configuration, and its text.

    Attributes:
        directories: where modules are looked for.
    """

    program: Program
    modules: dict[str, str]
    directories: list[Path]


def parse_spec(
    tla_path: str | Path,
    cfg_path: str | Path | None = None,
    *,
    constants: Mapping[str, Value] | None = None,
    search_path: Iterable[str | Path] = (),
    jar: str | Path | None = None,
) -> Parsed:
    """Parse a specification with SANY.

    Arguments and exceptions are those of :func:`lockstep.tla.loading.load_spec.load_spec`.
    """
    root = Path(tla_path)
    directories = directories_of(root, search_path)
    _, cfg = read_cfg(cfg_path, dict(constants or {}))
    modules = project_modules(root, directories)
    xml = exported(root, modules, directories, cache_folder(), jar=jar)
    return Parsed(program_of(read_tree(xml), cfg), modules, directories)


def module_texts(tla_path: str | Path, search_path: Iterable[str | Path] = ()) -> dict[str, str]:
    """Return the text of each module of a project, by name: the root's, and those that it mentions.

    Arguments: `search_path`, further folders with modules.

    Raises:
        OSError: if a file cannot be read.
    """
    root = Path(tla_path)
    return project_modules(root, directories_of(root, search_path))


def directories_of(root: Path, search_path: Iterable[str | Path]) -> list[Path]:
    """List the folders of modules: that of the root, its parent, further folders, and spec/common."""
    return [root.resolve().parent, root.resolve().parent.parent, *map(Path, search_path), common_dir()]


def read_cfg(cfg_path: str | Path | None, given: dict[str, Value]) -> tuple[str, Cfg]:
    """Read the text of a configuration and what it says, with the given constants besides or instead of its own."""
    text = text_of(cfg_path) if cfg_path is not None else ""
    cfg = parse_cfg(text, str(cfg_path))
    for name, value in given.items():
        cfg.substitutions.pop(name, None)
        cfg.constants[name] = value
    return text, cfg


def project_modules(root: Path, directories: list[Path]) -> dict[str, str]:
    """Read the text of each module of a project, by name; see :func:`lockstep.tlc.module_files.project_files`.

    This decides only what the hash covers, and whose text explanations can quote.
    """
    return {name: each.text for name, each in project_files(root, directories).items()}


#: The other files that the XML of a project depends on: the rewriting of modules, and modules that the jar may lack.
_READ_WITH_THEM = (
    Path(unicode_symbols.__file__),
    *sorted(Path(unicode_symbols.__file__).parent.glob("standard/*.tla")),
)


def exported(
    root: Path,
    modules: dict[str, str],
    directories: list[Path],
    folder: Path,
    *,
    java: str | None = None,
    jar: str | Path | None = None,
) -> bytes:
    """Return the XML of a project by SANY, which is cached, compressed, in a folder for all its configurations."""
    tools = find_tla2tools(None if jar is None else Path(jar)).stat()
    digest = hashlib.sha256(f"{tools.st_size} {tools.st_mtime_ns}".encode())
    for file in _READ_WITH_THEM:
        digest.update(file.read_bytes())
    for name, text in sorted({**modules, "": root.stem}.items()):
        digest.update(f"{len(name)}:{name}{len(text)}:{text}".encode())
    file = folder / f"{root.stem}-{digest.hexdigest()[:32]}.xml.z"
    known = read_cached(file)
    if known is not None:
        with suppress(zlib.error):
            return zlib.decompress(known)
    xml = sany.export(root, java=java, jar=jar, search_path=directories[1:])
    write_cached(file, zlib.compress(xml))
    return xml


def program_of(tree: SyntaxTree, cfg: Cfg) -> Program:
    """Resolve the INSTANCEs of a tree and apply a configuration to it."""
    bind_captured(tree)
    resolve_instances(tree, cfg)
    return Program(tree, cfg)
