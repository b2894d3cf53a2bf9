"""Which delta rules run as one compiled loop, from starting rows to head rows.

Most of the time of a closure, of shortest paths and of components goes into such loops (`fused_set`, `fused_best`,
`fused_frontier`). What they do is what `Runner`, `select` and `Store.merge` do in steps; whether a delta
rule qualifies is decided here, once, when it is prepared.
"""

from __future__ import annotations

from headwater.core.types import Type
from headwater.engine.best.selection import is_single
from headwater.engine.codes.symbols import Symbols
from headwater.engine.rules.fused_best import FusedBest
from headwater.engine.rules.fused_frontier import FusedFrontier
from headwater.engine.rules.fused_set import FusedCopy, FusedPull, FusedSet, FusedTail, Owns
from headwater.engine.rules.probe import CONSTANT, Probe
from headwater.engine.store.frontier import is_listed
from headwater.engine.store.store import Store
from headwater.language.syntax import Binary, Call, Constant, Term, Variable
from headwater.plan.model import DeltaRule, FlatRule, Join, Let, Literal, Owned, Source, Var
from headwater.program.terms import names

Fused = FusedCopy | FusedSet | FusedBest | FusedFrontier


def fuse_tail(delta_rule: DeltaRule, rule: FlatRule, stores: dict[str, Store], symbols: Symbols) -> FusedTail | None:
    """The compiled form of a delta rule's last join, if it has one."""
    head = stores[rule.table]
    if delta_rule.atom is None or len(rule.atoms) < 3 or head.table.picks or not rule.head:
        return None
    join = delta_rule.steps[-1]
    if not isinstance(join, Join) or join.any or join.pattern.equal:
        return None
    if len(join.pattern.key) == stores[join.pattern.table].width:
        return None
    for source, kind in zip(rule.head, head.table.types, strict=True):
        if isinstance(source, Var) and rule.types[source.name] is not kind:
            return None
    return FusedTail(delta_rule, rule, stores, symbols)


def fuse_pull(
    delta_rule: DeltaRule, rule: FlatRule, stores: dict[str, Store], symbols: Symbols, columns: tuple[int, ...]
) -> FusedPull | None:
    """The compiled form of a pull, if it has one."""
    head = stores[rule.table]
    if head.table.picks or len(columns) != head.width or len(rule.atoms) != 2 or len(delta_rule.steps) != 2:
        return None
    first, second = delta_rule.steps
    start = delta_rule.start
    if start is None or start.key or start.equal or len(start.binds) != head.width:
        return None
    if not isinstance(first, Join) or not isinstance(second, Join) or first.pattern.equal:
        return None
    if len(second.pattern.key) != stores[second.pattern.table].width:
        return None
    known = {name for _, name in start.binds}
    if any(isinstance(source, Var) and source.name not in known for _, source in first.pattern.key):
        return None
    return FusedPull(delta_rule, rule, stores, symbols)


def fuse(
    delta_rule: DeltaRule, rule: FlatRule, stores: dict[str, Store], symbols: Symbols, owns: Owns, *, holds_nulls: bool
) -> Fused | None:
    """The compiled form of a delta rule, if it has one."""
    if delta_rule.atom is not None and delta_rule.start is not None and len(rule.atoms) == 1:
        return _fuse_copy(delta_rule, rule, stores, symbols, owns)
    joins = [step for step in delta_rule.steps if isinstance(step, Join)]
    if len(joins) != 1 or delta_rule.atom is None or delta_rule.start is None or len(rule.atoms) != 2 or not rule.head:
        return None
    (join,) = joins
    if join.any or join.pattern.equal or len(join.pattern.key) == stores[join.pattern.table].width:
        return None
    if any(isinstance(source, Var) and not _starts(delta_rule, source) for _, source in join.pattern.key):
        return None
    head = stores[rule.table]
    probe = Probe(delta_rule, join, stores, symbols)
    copied = {**probe.lefts, **probe.rights}
    for source, kind in zip(rule.head, head.table.types, strict=True):
        if isinstance(source, Var) and rule.types[source.name] is not kind:
            return None
    if not head.table.picks:
        plain = len(delta_rule.steps) == 1 and all(isinstance(one, Literal) or one.name in copied for one in rule.head)
        return FusedSet(probe, rule, head, symbols) if plain else None
    listed = is_listed(head.table)
    if not (listed or is_single(head)):
        return None
    (pick,) = head.table.picks
    lets = {step.variable: step.term for step in delta_rule.steps if isinstance(step, Let)}
    if len(lets) != len(delta_rule.steps) - 1:
        return None
    groups = [rule.head[at] for at in pick.group]
    if not all(isinstance(one, Literal) or one.name in copied for one in groups):
        return None
    value = rule.head[pick.value]
    needed = _needed(value, lets)
    if listed:
        assert head.table.lease is not None
        until = rule.head[head.table.lease]
        lease = _smallest(until, lets, probe, symbols) or _copied(until, lets, probe, symbols)
        latest = pick.value == head.table.lease
        addends = [] if latest else _addends(value, lets, probe, rule, head.table.types[pick.value], symbols)
        if not lease or addends is None or any(name not in needed | _needed(until, lets) for name in lets):
            return None
        if not FusedFrontier.can(addends, lease):
            return None
        return FusedFrontier(probe, rule, head, addends, lease, symbols, nulls=holds_nulls)
    if any(name not in needed for name in lets):
        return None  # what nobody asks for may have no value, and then there is no row
    addends = _addends(value, lets, probe, rule, head.table.types[pick.value], symbols)
    if not addends:
        return None
    return FusedBest(probe, rule, head, addends, symbols, holds_nulls=holds_nulls)


def _fuse_copy(
    delta_rule: DeltaRule, rule: FlatRule, stores: dict[str, Store], symbols: Symbols, owns: Owns
) -> FusedCopy | None:
    head = stores[rule.table]
    if head.table.picks or not rule.head:
        return None
    match delta_rule.steps:
        case ():
            owned = None
        case (Owned(source=Var()) as owned,):
            pass
        case _:
            return None
    for source, kind in zip(rule.head, head.table.types, strict=True):
        if isinstance(source, Var) and rule.types[source.name] is not kind:
            return None
    return FusedCopy(delta_rule, rule, stores, symbols, owned, owns)


def _starts(delta_rule: DeltaRule, source: Var) -> bool:
    assert delta_rule.start is not None
    return any(name == source.name for _, name in delta_rule.start.binds)


def _needed(source: Source, lets: dict[str, Term]) -> set[str]:
    """The computed variables that a head value is made from."""
    found: set[str] = set()
    pending = [source.name] if isinstance(source, Var) else []
    while pending:
        name = pending.pop()
        if name in lets and name not in found:
            found.add(name)
            pending.extend(names(lets[name]))
    return found


def _smallest(source: Source, lets: dict[str, Term], probe: Probe, symbols: Symbols) -> list[tuple[int, int]] | None:
    """A lease as the smallest of columns; None if it is anything else."""
    term = lets.get(source.name) if isinstance(source, Var) else None
    match term:
        case Call(function="smaller" | "smallest", args=args) if all(isinstance(arg, Variable) for arg in args):
            columns = [arg.name for arg in args if isinstance(arg, Variable)]
            if any(name in lets for name in columns):
                return None
            return [probe.place(Var(name), Type.INT, symbols) for name in columns]
        case _:
            return None


def _copied(source: Source, lets: dict[str, Term], probe: Probe, symbols: Symbols) -> list[tuple[int, int]] | None:
    """A lease as it is; None if it is computed."""
    if isinstance(source, Var) and source.name in lets:
        return None
    return [probe.place(source, Type.INT, symbols)]


def _addends(
    source: Source, lets: dict[str, Term], probe: Probe, rule: FlatRule, kind: Type, symbols: Symbols
) -> list[tuple[int, int]] | None:
    """A head value as a sum of columns and constants; None if it is anything else."""
    if isinstance(source, Literal) or source.name not in lets:
        return [probe.place(source, kind, symbols)]
    if kind is not Type.INT:
        return None
    found: list[tuple[int, int]] = []
    pending: list[Term] = [lets[source.name]]
    while pending:
        match pending.pop():
            case Variable(name=name) if name in lets:
                pending.append(lets[name])
            case Variable(name=name) if rule.types[name] is Type.INT and name not in rule.nullable:
                found.append(probe.place(Var(name), kind, symbols))
            case Constant(value=int(value), type=Type.INT):
                found.append((CONSTANT, value))
            case Binary(op="+", left=left, right=right):
                pending.extend((left, right))
            case _:
                return None
    return found
