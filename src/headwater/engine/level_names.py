"""How a level is called in messages: its rules as written, its cycle of relations, rows as text."""

from __future__ import annotations

from headwater.engine.fitting import shown
from headwater.engine.strand import Context
from headwater.engine.values import decode
from headwater.language.printer import print_rule
from headwater.plan.model import Level, Plan


class LevelNames:
    def __init__(self, level: Level, plan: Plan, context: Context) -> None:
        self._level = level
        self._plan = plan
        self._context = context

    def rule(self, rule: int) -> str:
        """A flat rule as it was written."""
        return print_rule(self._plan.program_rules[self._plan.rules[rule].origin])

    def explain(self, bound: str, rule: int | None) -> str:
        """The guard's message: bound, rule, cycle, and the newest rows as samples."""
        names = [name for name in self._level.tables if not self._context.stores[name].table.bag]
        lines = [
            f"error[HW901]: the recursion through {', '.join(f'`{n}`' for n in names)} made {bound} and was stopped"
        ]
        if rule is not None and rule >= 0:
            flat = self._plan.rules[rule]
            lines.append(f"  rule: {self.rule(rule)}")
            samples = self._samples(flat.table)
            if samples:
                lines.append(f"  newest rows of `{flat.table}`: {'; '.join(samples)}")
        lines.append("  note: the transaction was rolled back; the database is as it was before it")
        lines.append(
            "  hint: bound the values that grow (`C < 100`, `!inPath(P, X)`), aggregate them (`min<C>`), "
            "or raise the bound with `guard=`"
        )
        return "\n".join(lines)

    def _samples(self, table: str, count: int = 3) -> list[str]:
        store = self._context.stores[table]
        rows = store.alive()[-count:]
        columns = [
            decode(store.data[rows, at], kind, self._context.symbols, nullable=at in store.table.nullable)
            for at, kind in enumerate(store.table.types)
        ]
        return [shown(row, 120) for row in zip(*columns, strict=True)]
