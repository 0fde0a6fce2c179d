"""What changed between two states of an experiment's code, and what of it must run to be compared.

Changed are statements of functions, and arms of expressions (`a if b else c`, `a or b`, a lambda, what a
comprehension repeats), whose syntax differs or in which a name means something else: another import, a
constant with another value, a function with other parameters. They must run, with the arms they hold and
the blocks they decide on. What differs and leaves no trace of its use is refused: a default, a decorator, a
base or an attribute of a class, parameters of a method, a statement of a module that binds no name, and a
number that stands in the changed code of one state alone, as it may be a bound that nothing small comes to.
Not looked at: what the experiment can reach by no name, names of local variables, an error that both raise
and its words, the carriers of `harness.code.syntax`. What only one state can reach counts as changed in
whole.
"""

import ast
from dataclasses import dataclass, field
from difflib import SequenceMatcher

from harness.code.trees import binds, literals
from harness.vouch.units import Place, State, Unit


@dataclass
class Changes:
    """What has to run in the old state and in the new one, and why it is refused however it runs."""

    old: list[Unit] = field(default_factory=list)
    new: list[Unit] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)


def changes(experiment: str, old: State, new: State) -> Changes:
    """From one state to the other; `new` learns from where its definitions came."""
    gone, come = old.defined.keys() - new.defined.keys(), new.defined.keys() - old.defined.keys()
    for place in come:
        before = [each for each in gone if each[1] == place[1]]
        if len(before) == 1 and sum(each[1] == place[1] for each in come) == 1:
            new.moved[place] = before[0]
    found = Changes()
    now = {new.home(place): place for place in new.defined}
    reached = old.reached(experiment), {new.home(place) for place in new.reached(experiment)}
    for place in sorted(reached[0] | reached[1]):
        # What only one side can come to stands there for whatever the other side comes to.
        before, after = (place if place in side else ("", "") for side in reached)
        _definition(old, new, before, now.get(after, after), found)
    errors = {_core(unit) for unit in found.old} & {_core(unit) for unit in found.new}
    for units in (found.old, found.new):
        units[:] = [
            unit for unit in units if not (_core(unit) in errors and _core(unit).startswith("Raise("))
        ]
    before, after = ({n for unit in units for n in unit.literals} for units in (found.old, found.new))
    for module in sorted(old.loose.keys() | new.loose.keys()):
        a, b = ({s.told(module, n): n for n in s.loose.get(module, ())} for s in (old, new))
        only = [[side[text] for text in side if text not in other] for side, other in ((a, b), (b, a))]
        if any(not binds(stmt) for side in only for stmt in side):
            found.refused.append(f"{module} does something else when it is imported")
        for numbers, side in zip((before, after), only, strict=True):
            numbers |= {n for stmt in side for n in literals([*ast.walk(stmt)])}
    if before != after:
        told = ", ".join(sorted(before ^ after))
        found.refused.append(f"numbers of one side only: {told}")
    return found


def _core(unit: Unit) -> str:
    """What it says, wherever it stands."""
    return unit.text.split(" ", 2)[2]


def _definition(old: State, new: State, before: Place, after: Place, found: Changes) -> None:
    """The same function or class on both sides; of no module where one side has none."""
    if old.shape(before) == new.shape(after):
        return
    a, b = old.units(before), new.units(after)
    match = SequenceMatcher(None, [u.text for u in a], [u.text for u in b], autojunk=False)
    for word, i, j, k, m in match.get_opcodes():
        if word != "equal":
            found.old += a[i:j]
            found.new += b[k:m]
            hidden = [unit.where for unit in [*a[i:j], *b[k:m]] if unit.hidden]
            found.refused += [f"{where}: the default of a lambda" for where in hidden]
    was, now = old.facts(before), new.facts(after)
    known = {name for name, _ in was}
    for (name, what), text in now.items():
        if what != "values" and was.get((name, what), text) != text:
            found.refused.append(f"{after[0]}, {name}: its {what} changed")
        elif what == "values" and name not in known:
            found.refused.append(f"{after[0]}, {name}: values of a new class")
