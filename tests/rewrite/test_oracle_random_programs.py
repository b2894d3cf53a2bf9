"""Random programs, rewritten with all rules, mean what the oracle says they mean."""

from __future__ import annotations

from hypothesis import given, reject, settings

from headwater.program.model import Program
from headwater.rewrite.localise import meets_at_one_location
from headwater.rewrite.rules import NETWORK_RULES, RULES, rewrite
from tests.oracle.evaluate import Diverges
from tests.oracle.harness import meaning
from tests.oracle.program import to_text
from tests.oracle.scripts import states
from tests.oracle.strategies import Case, cases, seeds, template_case
from tests.rewrite.naive import answers, evaluate
from tests.rewrite.spec_cases import compiled


def check_answers(case: Case, program: Program) -> None:
    """The last state of the script is enough: rewrites know nothing of changes."""
    if any(base.nullable for base in case.program.bases):
        reject()  # the evaluator of rewritten programs knows no nulls
    *_, base = states(case.script, case.reference.keys)
    try:
        expected = meaning(case.reference, base)
    except Diverges:
        reject()
    assert answers(program, evaluate(program, base, rounds=300, rows=20_000)) == {
        name: expected[name] for name in case.program.outputs
    }


@settings(max_examples=120, deadline=None)
@given(cases)
def test_oracle_rewritten(case: Case) -> None:
    check_answers(case, rewrite(compiled(to_text(case.program))))


@settings(max_examples=120, deadline=None)
@given(cases)
def test_oracle_rewritten_for_several_shards(case: Case) -> None:
    program = rewrite(compiled(to_text(case.program)), rules=RULES + NETWORK_RULES)
    relations = {relation.name: relation for relation in program.relations}
    assert all(meets_at_one_location(rule, relations) for rule in program.rules)
    check_answers(case, program)


@settings(max_examples=25, deadline=None)
@given(seeds)
def test_oracle_path_vectors_need_their_selection(seed: int) -> None:
    """The programs of the papers as printed settle on graphs with cycles only because of it."""
    case = template_case("path_vector_as_printed", seed)
    program = rewrite(compiled(to_text(case.program)))
    assert any(relation.selections for relation in program.relations)
    check_answers(case, program)
