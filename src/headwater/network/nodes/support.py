"""Which rows could support each other through the network, and would outlive what they were derived from.

002 counts derivations and deletes a row when none is left. Where a row can help to derive itself, by way of other
nodes, such rows keep each other alive for ever: on a ring of nodes that tell each other who is reachable, nobody ever
finds out that a node has left. The paper's own programs carry paths, and a path is never derived from a longer one.

A box is *counted* if that is plain from the rules: every recursion through it makes a list longer and asks whether
the list has the new node already (else two nodes can go on lengthening a dead path for ever), or there is no
recursion. All other boxes carry *proofs* (see `proofs`).
"""

from __future__ import annotations

from collections.abc import Iterator

from headwater.core.graph import components
from headwater.language.syntax import (
    Aggregate,
    Assign,
    Atom,
    Call,
    Comparison,
    Condition,
    ListTerm,
    Rule,
    Term,
    Variable,
)
from headwater.language.terms import body_atoms, goal_names, names
from headwater.network.nodes.boxes import BoxedProgram
from headwater.program.model import Relation

_LONGER = frozenset({"concatPath", "append", "prepend", "concat", "cons"})
_ASKING = frozenset({"inPath", "member"})


def recursions(program: BoxedProgram) -> list[frozenset[str]]:
    """The relations of each recursion through the network."""
    after: dict[str, list[str]] = {relation.name: [] for relation in program.model.relations}
    for rule in program.model.rules:
        for atom, _ in body_atoms(rule):
            after[atom.relation].append(rule.head.relation)
    for box in program.boxes:
        after[box.outbox].append(box.inbox)
    found = []
    for part in components(after):
        members = frozenset(part)
        if any(box.outbox in members and box.inbox in members for box in program.boxes):
            found.append(members)
    return found


def carrying(program: BoxedProgram) -> frozenset[str]:
    """The relations whose rows must carry proofs when they are sent."""
    return _through(program, [members for members in recursions(program) if not _lengthens(program, members)])


def recursive(program: BoxedProgram) -> frozenset[str]:
    """The relations whose rows are sent in a recursion."""
    return _through(program, recursions(program))


def _through(program: BoxedProgram, found: list[frozenset[str]]) -> frozenset[str]:
    return frozenset(
        box.relation for box in program.boxes for members in found if box.outbox in members and box.inbox in members
    )


def _lengthens(program: BoxedProgram, members: frozenset[str]) -> bool:
    """Whether one can choose a list of each relation that no rule shortens, and that every way round makes longer."""
    relations = {relation.name: relation for relation in program.model.relations if relation.name in members}
    start = min(relations)
    return any(_works(program, relations, {start: column}) for column in _lists(relations[start]))


def _lists(relation: Relation) -> Iterator[int]:
    for at, column in enumerate(relation.columns):
        if column.type is not None and column.type.is_list:
            yield at


def _works(program: BoxedProgram, relations: dict[str, Relation], chosen: dict[str, int]) -> bool:
    same: dict[str, list[str]] = {name: [] for name in relations}  # from a body to a head with an equal list
    for box in program.boxes:
        if box.outbox in relations and box.inbox in relations:
            same[box.outbox].append(box.inbox)
    changed = True
    while changed:
        changed = False
        for box in program.boxes:
            for one, other in ((box.outbox, box.inbox), (box.inbox, box.outbox)):
                if one in chosen and other in relations and other not in chosen:
                    chosen[other], changed = chosen[one], True
        for rule in program.model.rules:
            if rule.head.relation in relations:
                for atom in _inside(rule, relations):
                    changed |= _spread(rule, atom, chosen)
    if chosen.keys() != relations.keys():
        return False
    for rule in program.model.rules:
        if rule.head.relation not in relations:
            continue
        head = rule.head.args[chosen[rule.head.relation]]
        for atom in _inside(rule, relations):
            body = atom.args[chosen[atom.relation]]
            if not isinstance(body, Variable):
                return False
            if set(names(head)) == {body.name}:
                same[atom.relation].append(rule.head.relation)
            elif not (_is_longer(rule, head, body.name) and _asks(rule, head, body.name)):
                return False
    return all(len(part) == 1 and part[0] not in same[part[0]] for part in components(same))


def _inside(rule: Rule, relations: dict[str, Relation]) -> list[Atom]:
    return [atom for atom, negated in body_atoms(rule) if not negated and atom.relation in relations]


def _spread(rule: Rule, atom: Atom, chosen: dict[str, int]) -> bool:
    """Learn which column of the body the head's list comes from, or the other way round."""
    name = rule.head.relation
    if name in chosen and atom.relation not in chosen:
        sources = _sources(rule, rule.head.args[chosen[name]])
        for at, arg in enumerate(atom.args):
            if isinstance(arg, Variable) and arg.name in sources:
                chosen[atom.relation] = at
                return True
    if atom.relation in chosen and name not in chosen:
        source = atom.args[chosen[atom.relation]]
        for at, made in enumerate(rule.head.args):
            if isinstance(source, Variable) and source.name in _sources(rule, made):
                chosen[name] = at
                return True
    return False


def _sources(rule: Rule, arg: Term | Aggregate) -> set[str]:
    """The lists that a head's argument is, or is made longer from."""
    found = set(names(arg))
    for goal in rule.body:
        if isinstance(goal, Assign) and goal.variable.name in found:
            found |= set(_longer_from(goal.term))
    return found


def _longer_from(term: Term) -> Iterator[str]:
    """The variables whose lists a term makes longer."""
    match term:
        case Call(function=function, args=args) if function in _LONGER:
            longer = any(isinstance(arg, ListTerm) and arg.items for arg in args) or function in ("append", "prepend")
            if longer:
                yield from (arg.name for arg in args if isinstance(arg, Variable))
        case _:
            return


def _is_longer(rule: Rule, head: Term | Aggregate, body: str) -> bool:
    return body in _sources(rule, head) - set(names(head))


def _asks(rule: Rule, head: Term | Aggregate, body: str) -> bool:
    """Whether a condition of the rule asks what the list has in it."""
    lists = {body, *names(head)}
    computed = {
        goal.variable.name
        for goal in rule.body
        if isinstance(goal, Assign) and _calls(goal.term) and lists & set(names(goal.term))
    }
    for goal in rule.body:
        if isinstance(goal, Condition) and goal.call.function in _ASKING and lists & set(names(goal.call)):
            return True
        if isinstance(goal, Comparison):
            if computed & goal_names(goal):
                return True
            if any(_calls(side) and lists & set(names(side)) for side in (goal.left, goal.right)):
                return True
    return False


def _calls(term: Term) -> bool:
    return isinstance(term, Call) and term.function in _ASKING
