"""The programs that people write, with data made for them: closures, shortest paths, points-to, clustering.

A template is a function of dice. It returns what the engine gets, what the oracle gets (the same program, or one
that is known to mean the same on the queried relations and surely ends), and pools of rows to edit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from tests.oracle.dice import Dice
from tests.oracle.program import Assign, Base, Decode, Encode, Goal, Larger, Program, Row, Rule, Test
from tests.oracle.scripts import Pools
from tests.oracle.shorthand import agg, atom, head, holds, let, no, plus, program, rule
from tests.oracle.terms import Call, Items, Link, Op, Var, Wild

NODES = ("a", "b", "c", "d", "e", "f")
EDGE = {"e": ("string", "string")}
WEIGHTED = {"e": ("string", "string", "int")}


@dataclass(frozen=True, slots=True)
class Scenario:
    program: Program
    reference: Program
    pools: Pools


def same(made: Program, pools: Pools) -> Scenario:
    return Scenario(made, made, pools)


def edges(dice: Dice, most: int = 14) -> list[Row]:
    nodes = NODES[: dice.number(3, 6)]
    return [(dice.pick(nodes), dice.pick(nodes)) for _ in range(dice.number(3, most))]


def forward(dice: Dice, most: int = 12) -> list[Row]:
    """Edges of an acyclic graph: from a smaller name to a larger one."""
    pairs = [(one, other) for one in NODES for other in NODES if one < other]
    return dice.picks(pairs, 3, most)


def weighted(dice: Dice, least: int = 0, most: int = 14) -> list[Row]:
    return [(*edge, dice.number(least, 5)) for edge in edges(dice, most)]


def closure(dice: Dice) -> Scenario:
    step = dice.pick(
        (
            (atom("e", "X", "Z"), atom("tc", "Z", "Y")),
            (atom("tc", "X", "Z"), atom("e", "Z", "Y")),
            (atom("tc", "X", "Z"), atom("tc", "Z", "Y")),
        )
    )
    made = program(
        EDGE,
        rule(head("tc", "X", "Y"), atom("e", "X", "Y")),
        rule(head("tc", "X", "Y"), *step),
        rule(head("cyclic", "X"), atom("tc", "X", "X")),
        rule(head("oneway", "X", "Y"), atom("tc", "X", "Y"), no("tc", "Y", "X")),
        rule(head("reach", "X", agg("count", "Y")), atom("tc", "X", "Y")),
    )
    return same(made, {"e": edges(dice)})


def barred(dice: Dice) -> Scenario:
    """A closure that some nodes are barred from: what comes into a negated relation ends rows, and all that rest on
    them."""
    barred = no("b", dice.pick(("X", "Y")))
    once, again = ((barred,), ()) if dice.chance(60) else ((), (barred,))
    made = program(
        {**EDGE, "b": ("string",)},
        rule(head("t", "X", "Y"), atom("e", "X", "Y"), *once),
        rule(head("t", "X", "Z"), atom("t", "X", "Y"), atom("e", "Y", "Z"), *again),
    )
    return same(made, {"e": edges(dice), "b": [(node,) for node in dice.picks(NODES, 1, 3)]})


def labelled(dice: Dice) -> Scenario:
    """A closure that joins itself, by label: the table that is read is the one that grows."""
    made = program(
        {"e": ("int", "int", "int")},
        rule(head("tc", "X", "L", "Y"), atom("e", "X", "L", "Y")),
        rule(head("tc", "X", "L", "Y"), atom("tc", "X", "L", "Z"), atom("tc", "Z", "L", "Y")),
        rule(head("reach", "X", agg("count", "Y")), atom("tc", "X", "L", "Y")),
    )
    nodes = dice.number(3, 24)
    rows = [(dice.number(1, nodes), dice.number(1, 2), dice.number(1, nodes)) for _ in range(dice.number(3, 30))]
    return same(made, {"e": list(rows)})


def crowded(dice: Dice) -> Scenario:
    """Groups so large that an engine keeps their totals, and totals over these totals."""
    made = program(
        {"e": ("int", "int")},
        rule(head("out", "X", agg("sum", "Y"), agg("count", "Y")), atom("e", "X", "Y")),
        rule(head("mean", "X", agg("avg", "Y")), atom("e", "X", "Y")),
        rule(head("all", agg("sum", "S")), atom("out", "X", "S", "N")),
        rule(head("ends", "X", agg("min", "Y"), agg("sum", "Y")), atom("e", "X", "Y")),
        rule(head("ends", "X", agg("min", "Y"), agg("sum", "Y")), atom("e", "_", "X"), atom("e", "X", "Y")),
    )
    most = dice.pick((90, 160))
    return same(made, {"e": [(dice.pick((0, 0, 0, 1)), number) for number in range(dice.number(60, most))]})


def tallies(dice: Dice) -> Scenario:
    """Several rules for one head of sums, over atoms that meet in different columns."""
    bodies = [
        (atom("a", "X", "Y"), atom("b", "Y", "Z"), atom("c", "Z", "W")),
        (atom("b", "X", "Y"), atom("c", "Y", "W")),
        (atom("a", "X", "Y"), atom("a", "Y", "Z"), atom("c", "Z", "W"), no("b", "X", "Z")),
        (atom("c", "X", "W"), atom("a", "Y", "V"), atom("b", "Y", "V")),
        (atom("c", "X", "W"), atom("b", "W", "Y")),
    ]
    group = dice.pick(("X", "Y"))
    sums = (agg(dice.pick(("sum", "avg")), "W"), agg("count", dice.pick(("X", "Y"))))
    tally = [rule(head("tally", group, *sums), *body) for body in dice.shuffled(bodies)[: dice.number(2, 3)]]
    total = [rule(head("total", agg("sum", "W")), *body) for body in dice.shuffled(bodies)[: dice.number(1, 3)]]
    made = program({"a": ("int", "int"), "b": ("int", "int"), "c": ("int", "int")}, *tally, *total)

    def rows(most: int) -> list[Row]:
        return [(dice.number(0, 3), dice.number(0, most)) for _ in range(dice.number(2, 8))]

    return same(made, {"a": rows(3), "b": rows(3), "c": rows(9)})


def unpriced(dice: Dice) -> Scenario:
    """Cheapest paths where some links have no price: whatever is built on one has none either."""
    longer = (atom("e", "X", "Z", "A"), atom("path", "Z", "Y", "Q", "B"), let("C", plus("A", "B")))
    best = dice.pick(("min", "max"))
    made = program(
        WEIGHTED,
        rule(head("path", "X", "Y", "P", "C"), atom("e", "X", "Y", "C"), let("P", Items((Var("X"), Var("Y"))))),
        rule(
            head("path", "X", "Y", "P", "C"),
            *longer, let("P", Call("concatPath", (Items((Var("X"), Var("Z"))), Var("Q")))),
        ),
        rule(head("best", "X", "Y", agg(best, "C")), atom("path", "X", "Y", "_", "C")),
        rule(head("cheapest", "X", "Y", "P", "C"), atom("path", "X", "Y", "P", "C"), atom("best", "X", "Y", "C")),
        queries=(atom("cheapest", "X", "Y", "P", "C"), atom("best", "X", "Y", "C")),
    )  # fmt: skip
    made = Program((Base("e", WEIGHTED["e"], nullable=(2,)),), made.rules, made.queries)
    return same(made, {"e": [(*edge, dice.pick((None, None, 1, 2, 3))) for edge in forward(dice, 8)]})


def same_generation(dice: Dice) -> Scenario:
    made = program(
        EDGE,
        rule(head("sg", "X", "Y"), atom("e", "P", "X"), atom("e", "P", "Y")),
        rule(head("sg", "X", "Y"), atom("e", "P", "X"), atom("sg", "P", "Q"), atom("e", "Q", "Y")),
        rule(head("cousins", "X", "Y"), atom("sg", "X", "Y"), holds("X", "<", "Y")),
    )
    return same(made, {"e": edges(dice, 10)})


def shortest(dice: Dice) -> Scenario:
    best = dice.pick(("mmin", "min"))
    step = (
        (atom("d", "X", "Z", "A"), atom("d", "Z", "Y", "B"))
        if dice.chance(40)
        else (atom("e", "X", "Z", "A"), atom("d", "Z", "Y", "B"))
    )
    made = program(
        WEIGHTED,
        rule(head("d", "X", "Y", agg(best, "C")), atom("e", "X", "Y", "C")),
        rule(head("d", "X", "Y", agg(best, "C")), *step, let("C", plus("A", "B"))),
        rule(head("far", "X", agg("max", "C")), atom("d", "X", "Y", "C")),
        rule(head("total", "X", agg("sum", "C")), atom("d", "X", "Y", "C")),
    )
    return same(keyed(made) if dice.chance(30) else made, {"e": weighted(dice)})


def keyed(made: Program) -> Program:
    """The same with one weight per edge: an insert replaces the old weight."""
    bases = tuple(Base(base.name, base.types, (0, 1)) for base in made.bases)
    return Program(bases, made.rules, made.queries)


def single_source(dice: Dice) -> Scenario:
    made = program(
        {"s": ("string",), "e": ("string", "string", "float")},
        rule(head("d", "X", agg("mmin", "C")), atom("s", "X"), let("C", 0.0)),
        rule(head("d", "Y", agg("mmin", "C")), atom("d", "X", "A"), atom("e", "X", "Y", "B"), let("C", plus("A", "B"))),
    )
    weights = (0.0, 0.1, 0.2, 0.3, 1.5)
    return same(made, {"s": [("a",), ("b",)], "e": [(*edge, dice.pick(weights)) for edge in edges(dice)]})


def summed(dice: Dice) -> Scenario:
    """Costs that are made from several columns and constants, in one step or in two."""
    more = dice.pick(("A", "B", 1))
    twice = (let("D", plus("A", "B")), let("C", plus("D", more)))
    made = program(
        {"s": ("string", "int"), **WEIGHTED},
        rule(head("d", "Y", agg("min", "C")), atom("s", "Y", "C")),
        rule(
            head("d", "Y", agg("min", "C")),
            atom("d", "X", "A"), atom("e", "X", "Y", "B"),
            *(twice if dice.chance(50) else (let("C", plus(plus("A", "B"), more)),)),
        ),
    )  # fmt: skip
    return same(made, {"s": [(dice.pick(NODES), dice.number(0, 3)) for _ in range(3)], "e": weighted(dice)})


def relayed(dice: Dice) -> Scenario:
    """Two best values inside one recursion, and a plain relation there that reads only who has one."""
    made = program(
        WEIGHTED,
        rule(head("path", "X", "Y", agg("min", "C")), atom("e", "X", "Y", "C")),
        rule(
            head("path", "X", "Y", agg("min", "C")),
            atom("e", "X", "Z", "A"), atom("best", "Z", "Y", "B"), atom("open", "Z"), let("C", plus("A", "B")),
        ),
        rule(head("best", "X", "Y", agg("min", "C")), atom("path", "X", "Y", "C")),
        rule(head("open", "Y"), atom("best", "X", "Y", "_")),
    )  # fmt: skip
    return same(made, {"e": weighted(dice)})


def bottleneck(dice: Dice) -> Scenario:
    """The path whose heaviest link is lightest, and the one whose lightest link is heaviest."""
    made = program(
        WEIGHTED,
        rule(head("low", "X", "Y", agg("mmin", "C")), atom("e", "X", "Y", "C")),
        rule(
            head("low", "X", "Y", agg("mmin", "C")),
            atom("e", "X", "Z", "A"), atom("low", "Z", "Y", "B"), Larger(Var("C"), Var("A"), Var("B")),
        ),
        rule(head("wide", "X", "Y", agg("mmax", "C")), atom("e", "X", "Y", "C")),
        rule(
            head("wide", "X", "Y", agg("mmax", "C")),
            atom("wide", "X", "Z", "A"), atom("wide", "Z", "Y", "B"),
            Assign(Var("C"), Call("smaller", (Var("A"), Var("B")))),
        ),
    )  # fmt: skip
    return same(made, {"e": weighted(dice)})


def top_paths(dice: Dice) -> Scenario:
    limit = dice.number(1, 3)
    made = program(
        WEIGHTED,
        rule(head("t", "X", "Y", agg("top", "C", limit=limit)), atom("e", "X", "Y", "C")),
        rule(
            head("t", "X", "Y", agg("top", "C", limit=limit)),
            atom("e", "X", "Z", "A"), atom("t", "Z", "Y", "B"), let("C", plus("A", "B")),
        ),
    )  # fmt: skip
    return same(made, {"e": weighted(dice, most=9)})


def path_vector_rules(*bound: Goal) -> tuple[Rule, ...]:
    """002's SP1 to SP4, with more goals in SP2."""
    one, more = Link("link", (Var("S"), Var("D"), Var("C"))), Link("link", (Var("S"), Var("Z"), Var("A")))
    return (
        rule(
            head("path", "S", "D", "D", "P", "C"),
            atom("link", "S", "D", "C"), Assign(Var("P"), Call("f_concatPath", (one, Items(())))), label="SP1",
        ),
        rule(
            head("path", "S", "D", "Z", "P", "C"),
            atom("link", "S", "Z", "A"), atom("path", "Z", "D", "Y", "Q", "B"), let("C", plus("A", "B")),
            Assign(Var("P"), Call("f_concatPath", (more, Var("Q")))), *bound, label="SP2",
        ),
        rule(head("spCost", "S", "D", agg("min", "C")), atom("path", "S", "D", "Z", "P", "C"), label="SP3"),
        rule(
            head("shortestPath", "S", "D", "P", "C"),
            atom("spCost", "S", "D", "C"), atom("path", "S", "D", "Z", "P", "C"), label="SP4",
        ),
    )  # fmt: skip


LINK = {"link": ("string", "string", "int")}
ROUTES = atom("shortestPath", "S", "D", "P", "C")
SIMPLE = Test(Call("f_inPath", (Var("Q"), Var("S"))), negated=True)


def path_vector(dice: Dice) -> Scenario:
    """Simple paths as lists, every relation an output."""
    queries = (ROUTES,) if dice.chance(40) else ()
    made = program(LINK, *path_vector_rules(SIMPLE), queries=queries)
    return same(made, {"link": weighted(dice, most=8)})


def path_vector_as_printed(dice: Dice) -> Scenario:
    """No bound in the text: only the aggregate selection makes it end. With at most four nodes and weights of at
    most 3, no cheapest path costs more than 12."""
    made = program(LINK, *path_vector_rules(), queries=(ROUTES,))
    reference = program(LINK, *path_vector_rules(holds("C", "<=", 12)), queries=(ROUTES,))
    links = [(dice.pick("abcd"), dice.pick("abcd"), dice.number(1, 3)) for _ in range(dice.number(2, 8))]
    return Scenario(made, reference, {"link": [row for row in links if row[0] != row[1]] or [("a", "b", 1)]})


def carried_ways(dice: Dice) -> Scenario:
    """The cheapest way itself, and its first hop, carried along with the cost inside the recursion; many ways tie."""
    longer = Items((Var("X"),), Var("Q"))
    if dice.chance(40):
        longer = Call("f_concatPath", (Link("e", (Var("X"), Var("Z"), Var("A"))), Var("Q")))
    made = program(
        WEIGHTED,
        rule(
            head("way", "X", "Y", agg("min", "C"), agg("with", "P")),
            atom("e", "X", "Y", "C"), Assign(Var("P"), Items((Var("X"), Var("Y")))),
        ),
        rule(
            head("way", "X", "Y", agg("min", "C"), agg("with", "P")),
            atom("e", "X", "Z", "A"), atom("way", "Z", "Y", "B", "Q"), let("C", plus("A", "B")),
            Assign(Var("P"), longer),
        ),
        rule(head("hop", "X", "Y", agg("mmin", "C"), agg("with", "H")), atom("e", "X", "Y", "C"), let("H", "Y")),
        rule(
            head("hop", "X", "Y", agg("mmin", "C"), agg("with", "H")),
            atom("hop", "X", "Z", "A", "H"), atom("hop", "Z", "Y", "B", "_"), let("C", plus("A", "B")),
        ),
        rule(head("far", "X", agg("max", "C"), agg("with", "Y"), agg("with", "P")), atom("way", "X", "Y", "C", "P")),
        rule(head("agrees", "X", "Y"), atom("way", "X", "Y", "C", "_"), atom("hop", "X", "Y", "C", "_")),
        rule(head("alone", "X", "Y"), atom("way", "X", "Y", "_", "P"), no("far", "X", "_", "_", "P")),
        rule(head("total", "X", agg("sum", "C")), atom("far", "X", "C", "_", "_")),
    )  # fmt: skip
    links = [(*edge, dice.number(1, 3)) for edge in edges(dice, 12)]
    return same(keyed(made) if dice.chance(30) else made, {"e": links})


def cheapest_way_as_printed(dice: Dice) -> Scenario:
    """As `path_vector_as_printed`, with the way itself carried along with the least cost."""

    def rules(*bound: Goal) -> tuple[Rule, ...]:
        cheapest = head("cheapest", "S", "D", agg("min", "C"), agg("with", "P"))
        return (*path_vector_rules(*bound)[:2], rule(cheapest, atom("path", "S", "D", "Z", "P", "C")))

    queries = (atom("cheapest", "S", "D", "C", "P"),)
    made, reference = (program(LINK, *rules(*bound), queries=queries) for bound in ((), (holds("C", "<=", 12),)))
    return Scenario(made, reference, path_vector_as_printed(dice).pools)


def components(dice: Dice) -> Scenario:
    made = program(
        {"e": ("int", "int")},
        rule(head("near", "X", "Y"), atom("e", "X", "Y")),
        rule(head("near", "X", "Y"), atom("e", "Y", "X")),
        rule(head("comp", "X", agg("mmin", "X")), atom("near", "X", "_")),
        rule(head("comp", "Y", agg("mmin", "V")), atom("comp", "X", "V"), atom("near", "X", "Y")),
        rule(head("size", "V", agg("count", "X")), atom("comp", "X", "V")),
        rule(head("largest", agg("max", "N")), atom("size", "V", "N")),
        rule(head("giant", "V"), atom("size", "V", "N"), atom("largest", "N")),
    )
    return same(made, {"e": [(dice.number(0, 7), dice.number(0, 7)) for _ in range(dice.number(3, 12))]})


def bill_of_materials(dice: Dice) -> Scenario:
    """The price of a part is its own and that of its parts: a sum that is linear in itself, on acyclic data."""
    made = program(
        {"price": ("string", "float"), "part": ("string", "string", "int")},
        rule(head("cost", "P", "C"), atom("price", "P", "C")),
        rule(
            head("cost", "P", agg("sum", "C")),
            atom("part", "P", "S", "N"), atom("cost", "S", "B"), Assign(Var("C"), Op("*", Var("N"), Var("B"))),
        ),
        rule(head("uses", "P", "S"), atom("part", "P", "S", "_")),
        rule(head("uses", "P", "S"), atom("uses", "P", "Q"), atom("part", "Q", "S", "_")),
        rule(head("flat", "P", agg("sum", "C")), atom("uses", "P", "S"), atom("price", "S", "C")),
    )  # fmt: skip
    prices = [(node, dice.pick((0.1, 0.2, 0.3, 1.5))) for node in dice.picks(NODES, 2, 6)]
    return same(made, {"price": prices, "part": [(*edge, dice.number(1, 3)) for edge in forward(dice, 9)]})


def company_control(dice: Dice) -> Scenario:
    made = program(
        {"own": ("string", "string", "int")},
        rule(head("held", "X", "Y", agg("msum", "X", "N")), atom("own", "X", "Y", "N")),
        rule(head("held", "X", "Y", agg("msum", "Z", "N")), atom("controls", "X", "Z"), atom("own", "Z", "Y", "N")),
        rule(head("controls", "X", "Y"), atom("held", "X", "Y", "N"), holds("N", ">", 50)),
    )
    return same(made, {"own": [(*edge, dice.pick((20, 30, 40, 60))) for edge in edges(dice)]})


def employees(dice: Dice) -> Scenario:
    """004 Query 2 without time, on acyclic data."""
    made = program(
        {"dpt": ("string", "string")},
        rule(head("cnt", "E", agg("mcount", "E", 1)), atom("dpt", "_", "E")),
        rule(head("cnt", "D", agg("mcount", "E", "S")), atom("cnt", "E", "S"), atom("dpt", "D", "E")),
    )
    return same(made, {"dpt": forward(dice)})


CITATION_RANK = program(
    {"pub": ("string", "string")},
    rule(head("ref", "P", agg("count", "R")), atom("pub", "P", "R")),
    rule(head("prank", "P", "V"), atom("ref", "P", "R"), let("V", 1.0)),
    rule(
        head("prank", "P", agg("sum", "V")),
        atom("prank", "C", "W"), atom("pub", "C", "P"), atom("ref", "C", "R"),
        Assign(Var("V"), Op("/", Var("W"), Var("R"))),
    ),
)  # fmt: skip
"""004 Query 7 without time."""


def citation_rank(dice: Dice) -> Scenario:
    """On acyclic data."""
    return same(CITATION_RANK, {"pub": forward(dice)})


def lloyd_rules(*bound: Goal) -> tuple[Rule, ...]:
    """004 Query 6 without time, with more goals in the rule that moves the centers."""
    square = Op("*", Op("-", Var("V"), Var("W")), Op("-", Var("V"), Var("W")))
    return (
        rule(head("center", "J", "C", "D", "V"), atom("init", "C", "D", "V"), let("J", 0)),
        rule(
            head("dist", "J", "P", "C", agg("sum", "S")),
            atom("point", "P", "D", "V"), atom("center", "J", "C", "D", "W"), Assign(Var("S"), square),
        ),
        rule(
            head("mdist", "J", "P", agg("min", "DC")),
            atom("dist", "J", "P", "C", "S"), Encode(Var("S"), Var("C"), Var("DC")),
        ),
        rule(
            head("center", "J1", "C", "D", agg("avg", "V")),
            atom("point", "P", "D", "V"), atom("mdist", "J", "P", "DC"), Decode(Var("DC"), Wild(), Var("C")),
            let("J1", plus("J", 1)), *bound,
        ),
    )  # fmt: skip


def lloyd(dice: Dice) -> Scenario:
    """Three stages: by a bound in the rule, or because the query asks for the third."""
    schema = {"point": ("string", "int", "float"), "init": ("string", "int", "float")}
    bounded = lloyd_rules(holds("J1", "<=", 3))
    if dice.chance(40):
        asked = atom("center", 3, "C", "D", "V")
        made = program(schema, *lloyd_rules(), queries=(asked,))
        reference = program(schema, *bounded, queries=(asked,))
    else:
        asked_all = (atom("center", "J", "C", "D", "V"), atom("dist", "J", "P", "C", "S"))
        made = reference = program(schema, *bounded, queries=asked_all)
    places = (0.0, 0.1, 0.3, 1.0, 2.5, 4.0)
    dimensions = (1, 2)
    points = [(name, at, dice.pick(places)) for name in "pqrs" for at in dimensions]
    centers = [(name, at, dice.pick(places)) for name in "kmn"[: dice.number(1, 3)] for at in dimensions]
    pools = {"point": [*points, (dice.pick("pq"), 1, 9.0)], "init": centers}
    return Scenario(keyed(made), keyed(reference), pools)


def points_to(dice: Dice) -> Scenario:
    """Andersen's analysis: what flows where depends on what points where, and back."""
    pair = ("string", "string")
    made = program(
        {"addr": pair, "copy": pair, "load": pair, "store": pair},
        rule(head("pt", "P", "O"), atom("addr", "P", "O")),
        rule(head("pt", "P", "O"), atom("flow", "P", "Q"), atom("pt", "Q", "O")),
        rule(head("flow", "P", "Q"), atom("copy", "P", "Q")),
        rule(head("flow", "P", "R"), atom("load", "P", "Q"), atom("pt", "Q", "R")),
        rule(head("flow", "R", "Q"), atom("store", "P", "Q"), atom("pt", "P", "R")),
        rule(head("alias", "P", "Q"), atom("pt", "P", "O"), atom("pt", "Q", "O"), holds("P", "!=", "Q")),
    )
    return same(made, {name: edges(dice, 5) for name in ("addr", "copy", "load", "store")})


def game(dice: Dice) -> Scenario:
    """Moves won within three turns: negation upon negation."""
    made = program(
        EDGE,
        rule(head("can", "X"), atom("e", "X", "_")),
        rule(head("place", "X"), atom("e", "X", "_")),
        rule(head("place", "X"), atom("e", "_", "X")),
        rule(head("lost", "X"), atom("place", "X"), no("can", "X")),
        rule(head("won", "X"), atom("e", "X", "Y"), atom("lost", "Y")),
        rule(head("way", "X"), atom("e", "X", "Y"), no("won", "Y")),
        rule(head("losing", "X"), atom("can", "X"), no("way", "X")),
        rule(head("winning", "X"), atom("won", "X")),
        rule(head("winning", "X"), atom("e", "X", "Y"), atom("losing", "Y")),
        rule(head("open", "X"), atom("place", "X"), no("winning", "X"), no("losing", "X"), no("lost", "X")),
        rule(head("settled"), no("open", "_")),
    )
    return same(made, {"e": edges(dice, 10)})


def regions(dice: Dice) -> Scenario:
    """000 Query 3: contiguous regions of triggered sensors, their sizes, the largest ones."""
    near = Call("abs", (Op("-", Var("PX"), Var("PY")),))
    made = program(
        {"sensor": ("string", "int"), "main": ("int", "string"), "triggered": ("string",)},
        rule(head("active", "R", "X"), atom("sensor", "X", "PX"), atom("main", "R", "X"), atom("triggered", "X")),
        rule(
            head("active", "R", "Y"),
            atom("sensor", "X", "PX"), atom("sensor", "Y", "PY"), atom("triggered", "X"), atom("active", "R", "X"),
            holds(near, "<", 3),
        ),
        rule(head("sizes", "R", agg("count", "X")), atom("active", "R", "X")),
        rule(head("biggest", agg("max", "N")), atom("sizes", "R", "N")),
        rule(head("largest", "R"), atom("sizes", "R", "N"), atom("biggest", "N")),
    )  # fmt: skip
    keyed_sensor = Program((Base("sensor", ("string", "int"), (0,)), *made.bases[1:]), made.rules)
    return same(
        keyed_sensor,
        {
            "sensor": [(dice.pick(NODES), dice.number(0, 9)) for _ in range(dice.number(3, 10))],
            "main": [(dice.number(1, 3), dice.pick(NODES)) for _ in range(3)],
            "triggered": [(node,) for node in dice.picks(NODES, 2, 6)],
        },
    )


TEMPLATES: Mapping[str, Callable[[Dice], Scenario]] = {
    made.__name__: made
    for made in (
        closure,
        barred,
        labelled,
        crowded,
        tallies,
        unpriced,
        same_generation,
        shortest,
        single_source,
        summed,
        relayed,
        bottleneck,
        top_paths,
        path_vector,
        path_vector_as_printed,
        carried_ways,
        cheapest_way_as_printed,
        components,
        bill_of_materials,
        company_control,
        employees,
        citation_rank,
        lloyd,
        points_to,
        game,
        regions,
    )
}
