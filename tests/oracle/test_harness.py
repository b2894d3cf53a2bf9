"""The proof of the proof: the oracle against brute force, the generators against their claims, the checks against
engines that are right by construction and engines that are broken on purpose."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest
from hypothesis import assume, given, settings

from tests.oracle.brute import brute
from tests.oracle.edit import edit
from tests.oracle.evaluate import Diverges, evaluate
from tests.oracle.harness import (
    Changes,
    Disagreement,
    Engine,
    Fact,
    Opener,
    check_batchings,
    check_maintenance,
    check_proofs,
    check_what_if,
    meaning,
    provable,
)
from tests.oracle.minimise import minimise, regression_test, sensible
from tests.oracle.program import Agg, Assign, Atom, Compare, Not, Program, Row, State, to_text, variables
from tests.oracle.scripts import Rows, Transaction, states
from tests.oracle.strata import strata
from tests.oracle.strategies import Case, cases, random_case, random_cases, seeds, template_case
from tests.oracle.templates import TEMPLATES
from tests.oracle.terms import Op


class Recompute:
    """An engine that is right by construction: it forgets its views and asks the oracle again."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.base: State = {}
        self.views = meaning(program, {})

    def apply(self, insert: Rows, delete: Rows) -> Changes:
        return self.become(self.edited(insert, delete))

    def edited(self, insert: Rows, delete: Rows) -> State:
        return edit(self.base, self.program.keys, insert, delete)

    def become(self, base: State) -> Changes:
        before, self.base, self.views = self.views, base, meaning(self.program, base)
        return {name: (list(rows - before[name]), list(before[name] - rows)) for name, rows in self.views.items()}

    def rows(self, relation: str) -> set[Row]:
        return self.views[relation]

    def why(self, relation: str, row: Row) -> list[Fact]:
        return [(name, fact) for name, facts in self.base.items() for fact in facts]

    def without(self, delete: Rows) -> Changes:
        kept = self.base
        foretold = self.apply({}, delete)
        self.become(kept)
        return foretold


class IgnoresDeletes(Recompute):
    def edited(self, insert: Rows, delete: Rows) -> State:
        return edit(self.base, self.program.keys, insert, {})


class IgnoresKeys(Recompute):
    def edited(self, insert: Rows, delete: Rows) -> State:
        return edit(self.base, {}, insert, delete)


class InsertsFirst(Recompute):
    def edited(self, insert: Rows, delete: Rows) -> State:
        return edit(edit(self.base, self.program.keys, insert, {}), {}, {}, delete)


class NeverForgets(Recompute):
    """Cyclic support keeps dead rows alive, as counting derivations does."""

    def become(self, base: State) -> Changes:
        before = self.views
        changes = super().become(base)
        if any(base.values()):
            self.views = {name: rows | before[name] if len(rows) > 2 else rows for name, rows in self.views.items()}
        return changes


class RepeatsChanges(Recompute):
    def become(self, base: State) -> Changes:
        return {name: (inserted * 2, deleted) for name, (inserted, deleted) in super().become(base).items()}


class ForgetsToTell(Recompute):
    def become(self, base: State) -> Changes:
        return {name: (inserted, deleted[1:]) for name, (inserted, deleted) in super().become(base).items()}


class ProvesTooLittle(Recompute):
    def why(self, relation: str, row: Row) -> list[Fact]:
        return super().why(relation, row)[:1]


class ProvesFromTheDead(Recompute):
    def why(self, relation: str, row: Row) -> list[Fact]:
        return [*super().why(relation, row), ("b0", ("nowhere",))]


class ActsOnWhatIf(Recompute):
    def without(self, delete: Rows) -> Changes:
        return self.apply({}, delete)


def check_all(case: Case, open_: Opener, seed: int) -> None:
    check_maintenance(case, open_)
    check_batchings(case, open_, seed)
    check_proofs(case, open_, seed)
    check_what_if(case, open_, seed)


@settings(max_examples=50)
@given(cases, seeds)
def test_an_engine_that_recomputes_passes(case: Case, seed: int) -> None:
    case = Case(case.reference, case.reference, case.script)
    try:
        check_all(case, Recompute, seed)
    except Diverges:
        assume(False)


@pytest.mark.parametrize(
    ("broken", "kind"),
    [
        (IgnoresDeletes, "rows"),
        (IgnoresKeys, "rows"),
        (InsertsFirst, "rows"),
        (NeverForgets, "rows"),
        (RepeatsChanges, "repeats"),
        (ForgetsToTell, "changes"),
        (ProvesTooLittle, "proof"),
        (ProvesFromTheDead, "proof"),
        (ActsOnWhatIf, "rows"),
    ],
)
def test_a_broken_engine_is_caught_and_the_case_made_small(broken: Callable[[Program], Engine], kind: str) -> None:
    def failure(case: Case) -> str | None:
        if not sensible(case):
            return None
        try:
            check_all(case, broken, seed=1)
        except Disagreement as found:
            return found.kind
        return None

    caught = next(case for seed in range(60) if failure(case := random_case(seed)) == kind)
    small = minimise(caught, failure)
    assert failure(small) == kind
    assert len(small.program.rules) <= 3
    assert len(small.script) <= 3


def test_a_failing_case_prints_as_a_test() -> None:
    case = template_case("closure", 3)
    tc = tuple(rule for rule in case.program.rules if rule.relation == "tc")
    program = Program(case.program.bases, tc)
    script = (Transaction({"e": (("a", "b"),)}), Transaction({}, {"e": (("a", "b"),)}))
    text = regression_test(Case(program, program, script), "rows")
    assert text.splitlines()[0] == "def test_rows_of_some_case() -> None:"
    assert "        Step({}, {}, {'tc': set()})," in text
    assert "        Step({'e': [('a', 'b')]}, {}, {'tc': {('a', 'b')}})," in text
    assert "        Step({}, {'e': [('a', 'b')]}, {'tc': set()})," in text
    compile(text, "case", "exec")


def small_enough_for_brute_force(program: Program) -> bool:
    goals = [goal for rule in program.rules for goal in rule.body]
    return (
        all(isinstance(goal, Atom | Not | Compare | Assign) for goal in goals)
        and not any(isinstance(goal, Assign) and not isinstance(goal.term, Op) for goal in goals)
        and not any(isinstance(goal, Compare) and not plain(goal) for goal in goals)
        and not any(isinstance(arg, Agg) for rule in program.rules for arg in rule.args)
        and all(len({name for goal in rule.body for name in variables(goal)}) <= 4 for rule in program.rules)
    )


def plain(goal: Compare) -> bool:
    return not any(hasattr(side, "function") for side in (goal.left, goal.right))


def test_the_oracle_agrees_with_brute_force() -> None:
    compared = 0
    for seed in range(700):
        case = random_case(seed)
        if small_enough_for_brute_force(case.program):
            *_, base = states(case.script, case.program.keys)
            small = {name: set(sorted(rows)[:5]) for name, rows in base.items()}
            try:
                tried = brute(case.program, small)
            except Diverges:
                continue  # it multiplies whatever there is, also what no 64 bits hold
            assert evaluate(case.program, small) == tried, to_text(case.program)
            compared += 1
    assert compared >= 25


@given(random_cases)
def test_random_programs_keep_their_promises(case: Case) -> None:
    """Safe and stratified (the oracle refuses others), typed alike in every rule, and ending on their data."""
    assert strata(case.program)
    arities = {base.name: len(base.types) for base in case.program.bases}
    for rule in case.program.rules:
        assert arities.setdefault(rule.relation, len(rule.args)) == len(rule.args)
    for base in states(case.script, case.program.keys):
        evaluate(case.program, base, size=100_000)


@pytest.mark.parametrize("name", sorted(TEMPLATES))
def test_templates_end_on_their_data_and_derive_something(name: str) -> None:
    derived = Counter[str]()
    for seed in range(12):
        case = template_case(name, seed)
        for base in states(case.script, case.reference.keys):
            views = evaluate(case.reference, base)
            derived.update({relation: len(views[relation]) for relation in case.program.outputs})
    assert set(derived) >= set(template_case(name, 0).program.outputs)
    assert sum(count > 0 for count in derived.values()) * 2 > len(derived)


def test_random_cases_cover_the_language() -> None:
    """Each feature shows up often enough among the first thousand programs to mean something."""
    seen = Counter[str]()
    for seed in range(1_000):
        program = random_case(seed).program
        goals = [goal for rule in program.rules for goal in rule.body]
        aggregates = {arg.function for rule in program.rules for arg in rule.args if isinstance(arg, Agg)}
        recursive = {name for component in strata(program) if len(component) > 1 for name in component}
        seen.update(aggregates)
        seen.update({type(goal).__name__ for goal in goals})
        seen.update({"mutual"} if recursive else ())
        seen.update({"key"} if program.keys else ())
        seen.update({"facts"} if program.facts() else ())
        seen.update({"query"} if program.queries else ())
        seen.update({"undeclared"} if not all(base.declared for base in program.bases) else ())
        seen.update({"zero arity"} if any(not rule.args for rule in program.rules) else ())
        seen.update({"provable"} if any(provable(program, name) for name in program.outputs) else ())
    features = ["min", "max", "count", "sum", "avg", "top", "mmin", "mmax", "mcount", "msum", "Atom", "Not", "Compare"]
    features += [
        "Assign",
        "Test",
        "Larger",
        "mutual",
        "key",
        "facts",
        "query",
        "undeclared",
        "zero arity",
        "provable",
        "with",
    ]
    assert {feature: seen[feature] for feature in features if seen[feature] < 20} == {}
