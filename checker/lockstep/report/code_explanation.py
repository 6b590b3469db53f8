"""Explanations of codes: those of the check as written here, those of properties as the spec has them."""

from __future__ import annotations

import re

from lockstep.conformance.finding_codes import ALL_CODES, FindingCode
from lockstep.models.model_manifest import load_manifest
from lockstep.systems.registry import SYSTEMS
from lockstep.systems.system import System
from lockstep.tla.loading.spec_project import module_texts


def codes() -> dict[str, str]:
    """Return every code with its title, in order."""
    properties = {code: name for system in SYSTEMS.values() for name, code in system.codes.items()}
    return properties | {rule.code: rule.title for rule in ALL_CODES}


def rule(code: str) -> FindingCode:
    """Return a rule by its code, or by the name of its property; raises KeyError where there is none."""
    for each in ALL_CODES:
        if each.code == code.upper():
            return each
    for system in SYSTEMS.values():
        for name, its_code in system.codes.items():
            if code.upper() in (its_code, name.upper()):
                return FindingCode(its_code, name, property_text(system, name))
    raise KeyError(code)


def property_text(system: System, name: str) -> str:
    """Return the banner of a property in the spec, its definition, and the models that break it."""
    banner_and_body = re.compile(rf"((?:^\\\* .*\n)*)(^{name} ==.*\n(?:.+\n)*)", re.MULTILINE)
    searched = ((module, text, banner_and_body.search(text)) for module, text in module_texts(system.module).items())
    module, text, found = next((each for each in searched if each[2] is not None), ("", "", None))
    if found is None:
        raise AssertionError(f"{system.spec}.tla does not define {name}")
    banner = [line.removeprefix("\\* ") for line in found[1].splitlines()]
    introduction = re.sub(r"^(INV|PROP) \w+: ", "", "\n".join(banner))
    line = text.count("\n", 0, found.start(2)) + 1
    definition = "".join(f"    {each}\n" for each in found[2].splitlines())
    return f"{introduction}\n\n{module}.tla:{line}\n\n{definition}\n{_broken_by(system, name)}"


def _broken_by(system: System, name: str) -> str:
    models = () if system.manifest is None else load_manifest(system.manifest).models
    broken = [each.name for each in models if each.violates == name and not each.witness]
    if not broken:
        return "No model breaks it."
    return "Models with a flaw that break it:\n\n" + "\n".join(f"    lockstep model {each}" for each in broken)
