"""Random timed cases: the programs of the other cases over streams, with rows that come, are renewed, end and go."""

from __future__ import annotations

from dataclasses import replace

from tests.oracle.dice import Dice
from tests.oracle.program import Agg, Atom, Base, Not, Program, Row, mentioned, reads
from tests.oracle.random_programs import random_program
from tests.oracle.scripts import Pools, row_pools
from tests.oracle.strata import dependencies, reachable
from tests.oracle.templates import TEMPLATES
from tests.oracle.timed import Life, Step, TimedCase, steady


def timed_case(seed: int, *, facts: bool = True) -> TimedCase:
    """With `facts`, one whose program may state rows that live by the clock."""
    dice = Dice(seed)
    while True:
        case = _case(dice)
        if any(life.kind != "static" for life in case.lives.values()):
            return case if facts else replace(case, facts={})


def _case(dice: Dice) -> TimedCase:
    if dice.chance(35):
        scenario = TEMPLATES[dice.pick(sorted(TEMPLATES))](dice)
        if scenario.program == scenario.reference:
            return _over_time(dice, scenario.program, scenario.pools)
    program = random_program(dice)
    return _over_time(dice, program, row_pools(dice, program.bases))


def _over_time(dice: Dice, program: Program, pools: Pools) -> TimedCase:
    used = mentioned(program)
    stated = {rule.relation for rule in program.rules if not rule.body}
    bases = tuple(
        _keyed(dice, replace(base, declared=True), base.name in stated) for base in program.bases if base.name in used
    )
    program = replace(program, bases=bases)
    aggregates = [arg.function for rule in program.rules for arg in rule.args if isinstance(arg, Agg)]
    negates = any(isinstance(goal, Not) for rule in program.rules for goal in rule.body)
    timed = (
        dice.chance(50)
        and not stated & {base.name for base in bases}
        and all(any(isinstance(goal, Atom) for goal in rule.body) for rule in program.rules if rule.body)
        and not (negates and aggregates)
    )
    lives: dict[str, Life] = {}
    for base in bases:
        late = dice.number(0, 4) if dice.chance(20) else None
        if base.name in stated or (not timed and dice.chance(15)):
            lives[base.name] = Life("static")
        elif not timed and dice.chance(15):
            lives[base.name] = Life("ttl", dice.number(1, 6))
        else:
            lives[base.name] = Life("stream", dice.number(1, 8) if dice.chance(75) else None, late)
    window = None
    if program.queries and dice.chance(60) and all(_rests_on_stream(program, lives, one) for one in program.outputs):
        size = dice.number(2, 8)
        window = (size, dice.number(1, size) if dice.chance(50) else None)
    alone = all(steady(program, name) for name in program.derived)
    asks = dice.chance(50)
    case = TimedCase(program, lives, (), window, timed, timed and alone and asks)
    case = replace(case, facts=_facts(dice, case, pools))
    return replace(case, script=_script(dice, case, pools))


def _keyed(dice: Dice, base: Base, stated: bool) -> Base:
    """Now and then with a key, so that rows of one time take each other's place."""
    fits = base.key is None and len(base.types) > 1 and not stated
    return replace(base, key=(0,)) if fits and dice.chance(20) else base


def _facts(dice: Dice, case: TimedCase, pools: Pools) -> dict[str, tuple[Row, ...]]:
    """Rows that the program states and the script may renew, of streams and of relations with a ttl.

    A fact that has the key of a row refuses it, which is an error: so there are none where there is a key.
    """
    found: dict[str, tuple[Row, ...]] = {}
    for name, life in case.lives.items():
        if life.kind != "static" and name not in case.program.keys and pools[name] and dice.chance(30):
            rows = dice.picks(pools[name], 1, 2)
            timed = [(dice.number(0, 3), *row) for row in rows] if life.kind == "stream" else rows
            found[name] = tuple(dict.fromkeys(timed))
    return found


def _rests_on_stream(program: Program, lives: dict[str, Life], relation: str) -> bool:
    below = {relation, *reachable(dependencies(program))[relation]}
    read = reads(replace(program, rules=tuple(rule for rule in program.rules if rule.relation in below)))
    return any(lives[name].kind == "stream" for name in read & lives.keys())


def _script(dice: Dice, case: TimedCase, pools: Pools) -> tuple[Step, ...]:
    now = dice.number(0, 3)
    steps = [Step(_rows(dice, case, pools, now, 70), advance=now)]
    for _ in range(dice.number(2, 8)):
        before = now
        match dice.number(0, 9):
            case 0 | 1:
                now += dice.number(0, 9)
                steps.append(Step(advance=now))
            case 2:
                steps.append(Step(delete=_rows(dice, case, pools, now, 30)))
            case _:
                now += dice.number(0, 3)
                insert, delete = _rows(dice, case, pools, now, 25), _rows(dice, case, pools, now, 8)
                steps.append(Step(insert, delete, now if dice.chance(30) else None))
        known = [row[0] for name, rows in steps[-1].insert.items() if case.lives[name].kind == "stream" for row in rows]
        now = max([before, *known, *([steps[-1].advance] if steps[-1].advance is not None else [])])
    return tuple(steps)


def _rows(dice: Dice, case: TimedCase, pools: Pools, now: int, share: int) -> dict[str, tuple[Row, ...]]:
    found: dict[str, tuple[Row, ...]] = {}
    for name, rows in pools.items():
        if name not in case.lives:
            continue
        chosen = [row for row in rows if dice.chance(share)]
        if case.lives[name].kind == "stream":
            chosen = [(max(0, now - (dice.number(0, 5) if dice.chance(30) else 0)), *row) for row in chosen]
        if chosen:
            found[name] = tuple(chosen)
    return found
