"""Write a doubled recursion with one recursive goal (003 section 4.5.3, the other way round).

    reach(X, Y) :- edge(X, Y).
    reach(X, Y) :- reach(X, Z), reach(Z, Y).        becomes    reach(X, Y) :- reach(X, Z), edge(Z, Y).

The doubled form finds every way once for each node on it, the linear form once for each step that ends it: on a random
graph of 400 nodes and 1,000 edges that is 39,198,653 and 310,147 derivations. Shards follow a linear recursion without
exchanging rows, because it hands a column on. Only where shards must exchange rows, and ways are long, do the fewer
rounds of the doubled form pay (a chain of 400 nodes: 9 instead of 311 rounds); leave this rewrite out by name there.

Guarantees: the same rows (see `closure`). Where values of a way are summed, they must not be floats; if the data
shows that they are, the program runs without this (`CompiledProgram.fitted`).

Does not fire for a step that joins several relations, which would be joined again with every way; for rows with a
key; for rules that say their join order; or where fewer rows could be kept afterwards (`aggregate_selection`).
Rows with a time: as `leading_side`.
`leading_side` comes first: it knows from which side to write a recursion of which one side is asked for.
"""

from __future__ import annotations

from dataclasses import replace

from headwater.language.syntax import Rule
from headwater.language.terms import positive_atoms
from headwater.program.model import Program, Relation
from headwater.program.recursion.cycles import cycles
from headwater.rewrite.demand.closure import Side, find_closure
from headwater.rewrite.demand.leading_side import written_from


def linear_recursion(program: Program) -> Program:
    for name in [next(iter(cycle.relations)) for cycle in cycles(program) if len(cycle.relations) == 1]:
        rules = [rule for rule in program.rules if rule.head.relation == name]
        closure = find_closure(name, rules)
        if closure is None or closure.side is not Side.DOUBLED or not all(map(_is_plain, closure.steps)):
            continue
        after = written_from(program, name, closure, Side.LEFT)
        if after is not program:
            marked = (_marked(relation) if relation.name == name else relation for relation in after.relations)
            program = replace(after, relations=tuple(marked))
    return program


def _is_plain(step: Rule) -> bool:
    return len(list(positive_atoms(step))) == 1


def _marked(relation: Relation) -> Relation:
    return replace(relation, made_linear=True)
