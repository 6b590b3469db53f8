"""lockstep prove."""

from __future__ import annotations

import json
from dataclasses import asdict

import click

from lockstep.base.verdict import Verdict, worst
from lockstep.cli.options import FORMAT
from lockstep.models.proofs.lemmas import DEFAULT_TIMEOUT_MS, MAX_TIMEOUT_MS, ProofVerdict


@click.command()
@click.argument("names", nargs=-1)
@click.option(
    "--timeout",
    type=click.IntRange(1, MAX_TIMEOUT_MS),
    default=DEFAULT_TIMEOUT_MS,
    show_default=True,
    help="Milliseconds for each query to z3.",
)
@FORMAT
def command(names: tuple[str, ...], timeout: int, form: str) -> int:
    """Prove lemmas with z3, for all integers: the quorum rules, and the order of the indexes.

    Each lemma has controls: similar claims that are false. A proof counts only if all of them are refuted.
    """
    from lockstep.models.proofs.lemmas import run_proofs
    from lockstep.systems.registry import lemmas

    known = lemmas()
    unknown = [name for name in names if name not in known]
    if unknown:
        raise click.BadParameter(f"no lemma {unknown[0]!r}; there are: {', '.join(known)}", param_hint="NAMES")
    proofs = run_proofs(known, names or None, timeout_ms=timeout)
    if form == "json":
        click.echo(json.dumps([asdict(proof) for proof in proofs], indent=2, default=str))
    else:
        for proof in proofs:
            click.echo(f"{proof.name}: {proof.verdict} ({proof.seconds:.1f} s)\n    {proof.statement}")
            for control in proof.controls:
                click.echo(f"    control, to be refuted: {control.statement}: {control.verdict}")
            if proof.reason:
                click.echo(f"    {proof.reason}")
    words = {ProofVerdict.PROVED: Verdict.HOLDS, ProofVerdict.REFUTED: Verdict.VIOLATED}
    return worst([words.get(proof.verdict, Verdict.INCONCLUSIVE) for proof in proofs]).exit_code
