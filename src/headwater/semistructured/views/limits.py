"""`limit n` as rules: the first n objects of a statement, in its order.

Every candidate gets one text that sorts as the items of `order by` do, and then by its id, so that no two are alike:
`top<n, Key>` keeps the n smallest of these texts, and the engine maintains it. Of several values of one item the first
counts. An object without a value comes last, in both directions.
"""

from __future__ import annotations

from collections.abc import Sequence

from headwater.language.syntax import Aggregate, Atom, Call, Goal, Negation, Term, Wildcard
from headwater.semistructured.views.model import ViewOrder
from headwater.semistructured.views.writer import Body, RuleWriter, compared, text

_LAST = "~~"  # behind every sort key


class LimitRules:
    """Writes the rules of limits."""

    def __init__(self, writer: RuleWriter) -> None:
        self._writer = writer

    def first(self, candidates: Sequence[Body], subject: Term, order: Sequence[ViewOrder], most: int) -> str:
        """The relation of the first `most` subjects, by relations of sort keys `(subject, kind, text, number)`."""
        writer = self._writer
        here = writer.variable("Object")
        all_of_them = writer.derive("candidates", (subject,), candidates).relation
        goals: list[Goal] = [Atom(all_of_them, (here,))]
        keys: list[Term] = []
        for each in order:
            key = writer.variable("Key")
            goals.append(Atom(self._keys(all_of_them, each), (here, key)))
            keys.append(key)
        sort_key = writer.variable("Sort")
        goals.append(compared(sort_key, "=", Call("concat", (*keys, text(" "), Call("sort_key", (here,))))))
        ranked = writer.derive("ranked", (here, sort_key), [tuple(goals)]).relation
        best = writer.relation("best")
        one = writer.variable("Sort")
        writer.rule(best, (Aggregate("top", (one,), most),), [(Atom(ranked, (Wildcard(), one)),)])
        chosen = writer.derive("chosen", (here,), [(Atom(best, (sort_key,)), Atom(ranked, (here, sort_key)))])
        return chosen.relation

    def _keys(self, candidates: str, order: ViewOrder) -> str:
        """One sort key for each candidate."""
        writer = self._writer
        here, words, amount, key = (writer.variable(name) for name in ("Object", "Text", "Number", "Key"))
        computed: Term = Call("sort_key", (amount, words))
        if order.descending:
            computed = Call("reverse_sort_key", (computed,))
        best, found = writer.relation("key"), writer.relation("keys")
        row = Atom(order.relation, (here, Wildcard(), words, amount))
        writer.rule(best, (here, Aggregate("min", (key,))), [(row, compared(key, "=", computed))])
        writer.rule(found, (here, key), [(Atom(best, (here, key)),)])
        none = Negation(Atom(best, (here, Wildcard())))
        writer.rule(found, (here, text(_LAST)), [(Atom(candidates, (here,)), none)])
        return found
