"""Draw the states of a dispatcher and the actions between them, as a small model of DLedger's spec has them.

    python -m tests.scripts.dispatcher_picture > docs/pictures/dispatcher.svg

The model is explored whole. Each arrow is a change of `type` of some dispatcher in it, and bears the actions that make
that change. Only the places of boxes and labels, and the sentence in each box, are written here.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping, Set
from html import escape

import lockstep
from lockstep.tla.exploration import Edge, Exploration
from lockstep.tla.search_options import SearchOptions
from lockstep.tla.values.kinds import Fcn, Value
from tests.support.places import ROOT

#: Two nodes, two terms, two entries; messages are lost and RPCs time out. The smallest model with all changes.
CONSTANTS = {"MaxTerm": 2, "MaxLog": 2, "MaxMessages": 1, "Environment": frozenset({"Loss", "TimeOuts"})}

#: The left upper corner of each state's box, and what its request says to the follower.
BOXES = {
    "COMPARE": (30, 150, "Do you hold my entry", "at compareIndex?"),
    "TRUNCATE": (620, 30, "End your log", "with this entry."),
    "APPEND": (620, 290, "Store this entry. COMMIT:", "it is committed up to here."),
}
WIDTH, HEIGHT = 230, 84

#: For each change of state, its arrow and where the first of its actions is written.
ARROWS = {
    ("COMPARE", "COMPARE"): ("M90 150C70 95 170 95 150 150", 165, 66),
    ("COMPARE", "TRUNCATE"): ("M260 175C380 150 480 90 616 70", 330, 118),
    ("COMPARE", "APPEND"): ("M260 215C380 240 480 300 616 325", 420, 250),
    ("TRUNCATE", "TRUNCATE"): ("M850 55C900 40 900 100 850 90", 896, 76),
    ("TRUNCATE", "COMPARE"): ("M620 105C500 140 400 185 264 192", 452, 172),
    ("TRUNCATE", "APPEND"): ("M735 114V286", 745, 205),
    ("APPEND", "APPEND"): ("M850 315C900 300 900 360 850 350", 896, 312),
    ("APPEND", "COMPARE"): ("M620 355C440 360 200 340 145 238", 60, 300),
}

#: Actions of the network, which no dispatcher takes.
NETWORK = ("Lose", "Duplicate")

Changes = Mapping[tuple[str, str], Set[str]]


def explored() -> Exploration:
    """Visit every state of the model."""
    models = ROOT / "spec/dledger/models"
    spec = lockstep.load_spec(
        models / "MCRules.tla",
        models / "green/ordered.cfg",
        search_path=[ROOT / "spec/dledger", ROOT / "spec/common"],
        constants=CONSTANTS,
    )
    return lockstep.explore(spec, SearchOptions(keep_edges=True, check_deadlock=False))


def changes(found: Exploration) -> Changes:
    """Return, for each state of a dispatcher and the next, the actions that lead from one to the other."""
    actions = defaultdict(set)
    for edge in found.edges:
        for before, after in _types(found, edge):
            actions[before, after].add(edge.action)
    return actions


def _types(found: Exploration, edge: Edge) -> Iterator[tuple[str, str]]:
    """Yield the type of the leader's dispatcher that a step is about, before and after."""
    node, peer = edge.args.get("n"), edge.args.get("peer")
    if isinstance(message := edge.args.get("m"), Fcn):
        peer = message.d["src"]
    if edge.action in NETWORK or node is None or peer is None:
        return
    server, later = (found.states[each].node.d[node].d for each in (edge.source, edge.target))
    if server["role"] == "LEADER" and peer in server["dispatchers"].d:
        yield _type(server, peer), _type(later, peer)


def _type(server: Mapping[Value, Value], peer: Value) -> str:
    dispatcher = server["dispatchers"].d[peer]
    return str(dispatcher.d["type"])


def drawn(actions: Changes) -> str:
    """Draw the changes as SVG.

    Raises:
        KeyError: for a change that no arrow stands for.
    """
    lines = [
        '<svg xmlns="http://www.w3.org/2000/svg" width="1060" height="400" viewBox="0 0 1060 400" '
        'font-family="sans-serif" font-size="14">',
        '<rect width="100%" height="100%" fill="#fff"/>',
        '<defs><marker id="a" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" markerHeight="7" orient="auto">'
        '<path d="M0 0L10 5L0 10z" fill="#345"/></marker></defs>',
    ]
    for state, (x, y, *sentence) in BOXES.items():
        lines.append(f'<rect x="{x}" y="{y}" width="{WIDTH}" height="{HEIGHT}" rx="6" fill="#dbe6f5" stroke="#345"/>')
        middle = x + WIDTH // 2
        lines.append(f'<text x="{middle}" y="{y + 26}" text-anchor="middle" font-weight="bold">{state}</text>')
        lines += [
            f'<text x="{middle}" y="{y + 48 + 18 * row}" text-anchor="middle">{escape(text)}</text>'
            for row, text in enumerate(sentence)
        ]
    for change in sorted(actions):
        path, x, y = ARROWS[change]
        lines.append(f'<path d="{path}" stroke="#345" stroke-width="1.6" fill="none" marker-end="url(#a)"/>')
        lines += [
            f'<text x="{x}" y="{y + 15 * row}" font-size="12" fill="#345">{escape(action)}</text>'
            for row, action in enumerate(sorted(actions[change]))
        ]
    return "\n".join([*lines, "</svg>", ""])


def main() -> int:
    """Print the picture."""
    sys.stdout.write(drawn(changes(explored())))
    return 0


if __name__ == "__main__":
    sys.exit(main())
