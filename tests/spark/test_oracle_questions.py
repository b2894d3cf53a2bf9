"""Questions about the state in a checkpoint: proofs rest on rows that are there, in the words of the program, and what
rows depend on is what one process finds over the same rows."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given

import headwater as hw
from headwater.language.datalog.printer import print_rule
from headwater.language.syntax import Aggregate, Term, Variable, Wildcard
from headwater.provenance.witness.proof import Proof, Reason
from headwater.spark.questions import asking
from tests.engine.holding import pairs
from tests.exchange.sharded import NotPlaced
from tests.oracle.dice import Dice
from tests.oracle.evaluate import Diverges
from tests.oracle.harness import Changes, Disagreement, Fact, check_proofs, check_what_if, in_order
from tests.oracle.program import Program, Row, to_text
from tests.oracle.scripts import Rows
from tests.oracle.strategies import Case, list_case, null_case, random_case, seeds, template_case
from tests.oracle.timed import Clock, TimedCase, timed_text
from tests.oracle.timed_cases import timed_case
from tests.spark.kept import Kept
from tests.spark.test_oracle_state import transactions
from tests.thresholds import no_room
from tests.time.holding import expected, hold

LAYOUTS = [("exchange", 2), ("exchange", 4), ("decomposed", 2), ("decomposed", 4), ("single", 1)]


class Asked(Kept):
    """A checkpoint that is asked, with a database of the same rows beside it."""

    def __init__(self, program: Program, folder: Path, shards: int, kind: str, dice: random.Random) -> None:
        self.beside = hw.Database(hw.compile(to_text(program)))
        super().__init__(program, folder, shards, kind, dice)

    def apply(self, insert: Rows, delete: Rows, now: int | None = None) -> Changes:
        self.beside.apply(*({name: list(rows) for name, rows in side.items()} for side in (insert, delete)))
        return super().apply(insert, delete, now)

    def why(self, relation: str, row: Row) -> list[Fact]:
        proof = asking.why(self.path, relation, row)
        check_words(proof, self.beside)
        return proof.facts

    def without(self, delete: Rows) -> Changes:
        foretold = asking.without(self.path, {name: list(rows) for name, rows in delete.items()})
        return {name: tuple(_tuples(side) for side in (one.inserted, one.deleted)) for name, one in foretold.items()}


def _tuples(table: Any) -> list[Row]:
    columns = [[_frozen(value) for value in column.to_pylist()] for column in table.columns]
    return list(zip(*columns, strict=True)) if columns else [()] * table.num_rows


def _frozen(value: Any) -> Any:
    return tuple(map(_frozen, value)) if isinstance(value, list) else value


def check_words(proof: Proof, beside: hw.Database) -> None:
    """A proof speaks of the program's relations and rules, and its rows are those that one process has.

    Of a relation that is queried in part, one process shows that part alone. A sum inside a recursion stands in a proof
    with the value that was enough, which may have grown since.
    """
    model = beside.program.rewritten
    narrowed = {query.atom.relation for query in model.queries if not all(map(_is_open, query.atom.args))}
    narrowed |= {rule.head.relation for rule in model.rules if any(map(_grows, rule.head.args))}
    labels = {rule.label or print_rule(rule.origin or rule) for rule in model.rules}
    relations = {relation.name for relation in beside.program.checked.relations}
    for node in proof.nodes():
        if node.reason is Reason.BINDING:
            continue
        if node.relation not in relations:
            raise Disagreement("words", f"{node.relation} is no relation of the program:\n{proof}")
        if node.reason in (Reason.RULE, Reason.AGGREGATE) and node.rule not in labels:
            raise Disagreement("words", f"{node.rule} is no rule of the program:\n{proof}")
        whole = node.relation in beside.program.outputs and node.relation not in narrowed
        if node.reason is not Reason.ABSENT and whole and node.row not in beside.rows(node.relation):
            raise Disagreement("rows", f"{node.relation}{node.row} is not there:\n{proof}")


def _is_open(arg: Term) -> bool:
    return isinstance(arg, Variable | Wildcard)


def _grows(arg: Term | Aggregate) -> bool:
    return isinstance(arg, Aggregate) and arg.function in ("msum", "mcount")


@contextmanager
def cramped(seed: int) -> Iterator[None]:
    """Snapshots, logs and compaction as often as the seed says."""
    dice = random.Random(seed)
    with no_room(seed) if dice.random() < 0.3 else nullcontext(), pytest.MonkeyPatch.context() as patch:
        patch.setattr("headwater.spark.state.snapshot_policy._MOST_LOGS", dice.choice([1, 2, 4, 1000]))
        patch.setattr("headwater.spark.state.snapshot_policy._FEW_ROWS", dice.choice([5, 50, 10**9]))
        yield


def ask(case: Case, kind: str, shards: int, seed: int, check: Any) -> bool:
    """Whether the program runs so, and the oracle can say what it means."""
    with TemporaryDirectory() as folder, cramped(seed):
        try:
            check(case, lambda program: Asked(program, Path(folder), shards, kind, random.Random(seed)))
        except (NotPlaced, Diverges):
            return False
    return True


def proofs(case: Case, open_: Any) -> None:
    check_proofs(case, open_, 0, most=3)


def dependencies(case: Case, open_: Any) -> None:
    """What a row depends on, from the checkpoint and from all rows in one process."""
    engine = open_(case.program)
    for step in case.script[:3]:
        engine.apply(step.insert, step.delete)
    dice, beside, path = Dice(1), engine.beside, engine.path
    for relation in case.program.outputs:
        for row in dice.shuffled(in_order(beside.rows(relation)))[:3]:
            try:
                sets = _as_sets(beside.witnesses(relation, row, None))
                chance = beside.probability(relation, row, 0.7)
            except hw.BudgetSpent:
                continue
            assert _as_sets(asking.witnesses(path, relation, row, None)) == sets, (relation, row)
            facts = asking.critical(path, relation, row).facts
            assert _as_sets([facts]) == _as_sets([beside.critical(relation, row).facts]), (relation, row)
            assert asking.probability(path, relation, row, 0.7) == pytest.approx(chance), (relation, row)
    loaded = asking.database(path)
    assert {name: loaded.rows(name) for name in loaded.program.outputs} == {
        name: beside.rows(name) for name in beside.program.outputs
    }


def what_if(case: Case, open_: Any) -> None:
    check_what_if(case, open_, 0)


def _as_sets(sets: list[list[Fact]]) -> set[frozenset[str]]:
    return {frozenset(map(repr, one)) for one in sets}


@pytest.mark.parametrize(("kind", "shards"), LAYOUTS)
@pairs(14)
@given(seed=seeds)
def test_oracle_proofs_of_random_programs(seed: int, kind: str, shards: int) -> None:
    make = (random_case, random_case, null_case, list_case)[seed % 4]
    ask(make(seed), kind, shards, seed, proofs)


@pytest.mark.parametrize(
    ("name", "kind", "shards"),
    [
        ("closure", "exchange", 4),
        ("path_vector", "exchange", 2),
        ("same_generation", "exchange", 4),
        ("shortest", "exchange", 4),
        ("top_paths", "exchange", 2),
        ("company_control", "decomposed", 2),
        ("path_vector", "decomposed", 4),
    ],
)
def test_oracle_proofs_of_known_programs(name: str, kind: str, shards: int) -> None:
    assert any(ask(template_case(name, seed), kind, shards, seed, proofs) for seed in range(3))


@pytest.mark.parametrize(("kind", "shards"), [("exchange", 2), ("decomposed", 2), ("single", 1)])
@pairs(7)
@given(seed=seeds)
def test_agree_dependencies(seed: int, kind: str, shards: int) -> None:
    ask(random_case(seed), kind, shards, seed, dependencies)


@pytest.mark.parametrize(("kind", "shards"), [("exchange", 2), ("decomposed", 2)])
@pairs(4)
@given(seed=seeds)
def test_oracle_what_if(seed: int, kind: str, shards: int) -> None:
    ask(random_case(seed), kind, shards, seed, what_if)


def over_time(case: TimedCase, kind: str, shards: int, seed: int) -> None:
    """Proofs rest on rows that are alive, and a database of the state has its rows, its clock and their ends."""
    with TemporaryDirectory() as folder, cramped(seed):
        try:
            outputs = tuple(case.program.outputs)
            kept = Kept.of_text(timed_text(case), outputs, Path(folder), shards, kind, seed)
        except NotPlaced:
            return
        clock, beside = Clock(case), hw.Database(hw.compile(timed_text(case)))
        for step in transactions(case):
            clock.apply(step)
            kept.apply(dict(step.insert), dict(step.delete), step.advance)
            beside.apply(*({name: list(rows) for name, rows in side.items()} for side in (step.insert, step.delete)))
            if step.advance is not None and (beside.now is None or step.advance > beside.now):
                beside.advance(step.advance)
        after = expected(case, clock)
        loaded = asking.database(folder)
        assert loaded.now == beside.now
        for name in outputs:
            assert loaded.rows(name) == after[name]
            for row in in_order(after[name])[:3]:
                assert loaded.valid_until(name, row) == beside.valid_until(name, row)
                proof = asking.why(folder, name, row)
                check_words(proof, beside)
                assert all(fact in beside.rows(relation) for relation, fact in proof.facts), proof


@pytest.mark.parametrize(("kind", "shards"), [("exchange", 3), ("decomposed", 2), ("single", 1)])
@pairs(4)
@given(seed=seeds)
def test_oracle_proofs_over_time(seed: int, kind: str, shards: int) -> None:
    hold(lambda case: over_time(case, kind, shards, seed), timed_case(seed))


def asked_of(text: str, outputs: tuple[str, ...], folder: Path, layout: tuple[str, int], *steps: Rows) -> str:
    """The checkpoint of a program whose base rows come in these steps."""
    kind, shards = layout
    kept = Kept.of_text(text, outputs, folder, shards, kind)
    for step in steps:
        kept.apply(step, {})
    return kept.path


@pytest.mark.parametrize("layout", [("single", 1), ("exchange", 2)])
def test_a_row_that_lost_its_place_to_a_better_one_has_no_proof(tmp_path: Path, layout: tuple[str, int]) -> None:
    text = """
        relation link(x: string, y: string, c: int).
        cost(X, Y, min<C>) :- link(X, Y, C).
        cost(X, Z, min<C>) :- cost(X, Y, A), link(Y, Z, B), C = A + B.
    """
    path = asked_of(text, ("cost",), tmp_path, layout, {"link": [("a", "b", 5)]}, {"link": [("a", "b", 3)]})
    assert asking.why(path, "cost", ("a", "b", 3)).facts == [("link", ("a", "b", 3))]
    with pytest.raises(hw.DataError, match="is not there"):
        asking.why(path, "cost", ("a", "b", 5))


def test_a_proof_may_rest_on_as_many_rows_as_are_allowed(tmp_path: Path) -> None:
    text = """
        relation edge(x: int, y: int).
        path(X, Y) :- edge(X, Y).
        path(X, Z) :- edge(X, Y), path(Y, Z).
    """
    path = asked_of(text, ("path",), tmp_path, ("single", 1), {"edge": [(1, 2), (2, 3), (3, 4)]})
    assert len(asking.why(path, "path", (1, 4), most=6).facts) == 3  # three paths and three edges
    with pytest.raises(hw.BudgetSpent, match="more than 5 stored rows"):
        asking.why(path, "path", (1, 4), most=5)


@pytest.mark.parametrize("layout", [("single", 1), ("exchange", 2)])
def test_a_proof_goes_through_relations_without_columns(tmp_path: Path, layout: tuple[str, int]) -> None:
    text = """
        relation go(). relation a(x: int).
        on() :- go(), a(_).
        v(X) :- a(X), on().
    """
    path = asked_of(text, ("v", "on"), tmp_path, layout, {"go": [()], "a": [(1,)]})
    assert asking.why(path, "v", (1,)).facts == [("a", (1,)), ("go", ())]
