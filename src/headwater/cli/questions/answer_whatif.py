"""The work of `whatif`, `critical` and `reliability`, imported only when it is asked for."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from typing import Any

import typer
from rich.table import Table
from rich.text import Text

from headwater.cli.data.fed_database import database_or_state
from headwater.cli.data.options import Feed, TableOrJson
from headwater.cli.screen.display import shown
from headwater.cli.screen.report import INTERRUPTED, counted, show_error, show_text
from headwater.cli.screen.tables import show_change, terminal
from headwater.core.errors import BudgetSpent, DataError, ProgramError, StateError
from headwater.core.progress import ProgressLine
from headwater.provenance import NODES, Bounds, Fact
from headwater.questions import Answering, matching, parse_question

Row = tuple[Any, ...]


class WhatIf:
    """A question about what would be, asked of a database that files have filled, or of a checkpoint."""

    def __init__(self, file: str, feed: Feed, nodes: int | None = None, checkpoint: str | None = None) -> None:
        self._file = file
        self._feed = feed
        self._nodes = nodes or NODES
        self._checkpoint = checkpoint
        self._console = terminal()

    def answer(self, ask: Callable[[Answering], int]) -> None:
        """Read the files, ask, and end the command with the status that the answer has."""
        db = database_or_state(self._file, self._feed, self._checkpoint, self._nodes)
        try:
            status = ask(db)
        except (ProgramError, BudgetSpent, StateError) as error:
            show_error(error)
            status = 2
        except (DataError, KeyError) as error:
            show_text(str(error.args[0]))
            status = 2
        except KeyboardInterrupt:
            typer.echo("interrupted", err=True)
            status = INTERRUPTED
        raise typer.Exit(status)

    def without(self, db: Answering, facts: list[str], form: TableOrJson, most: int) -> int:
        named: dict[str, dict[Row, None]] = {}
        for text in facts:
            relation, rows = _rows(db, text)
            if not rows:
                raise DataError(f"no row of `{relation}` matches {text}")
            named.setdefault(relation, {}).update(dict.fromkeys(rows))
        changes = db.without({relation: list(rows) for relation, rows in named.items()})
        if form is TableOrJson.JSON:
            _print_json(
                {
                    name: {"inserted": changes[name].inserted.to_pylist(), "deleted": changes[name].deleted.to_pylist()}
                    for name in changes
                }
            )
            return 0
        typer.echo(f"without {counted(sum(map(len, named.values())), 'fact')}:")
        for name in changes:
            show_change(self._console, name, changes[name], most)
        return 0

    def critical(self, db: Answering, asked: str, form: TableOrJson, most: int, sets: int) -> int:
        if asked.strip().isidentifier():
            return self._ranking(db, asked.strip(), form, most)
        relation, rows = self._asked(db, asked, most)
        answers: list[dict[str, Any]] = []
        with self._working() as progress:
            for row in rows:
                progress.step(f"asking what {_atom((relation, row))} rests on")
                critical = db.critical(relation, row)
                answers.append(
                    {
                        "relation": relation,
                        "row": list(row),
                        "facts": critical.facts,
                        "witnesses": db.witnesses(relation, row, sets),
                        "cuts": critical.cuts(sets),
                    }
                )
        if form is TableOrJson.JSON:
            _print_json(answers)
            return 0 if answers else 1
        for at, answer in enumerate(answers):
            if at:
                typer.echo()
            typer.echo(_atom((relation, answer["row"])))
            self._list("cannot do without", [[fact] for fact in answer["facts"]], "no single fact")
            self._list("cannot lose together", [cut for cut in answer["cuts"] if len(cut) > 1], "")
            self._list("enough for it", answer["witnesses"], "no fact at all")
        return 0 if answers else 1

    def _ranking(self, db: Answering, relation: str, form: TableOrJson, most: int) -> int:
        with self._working() as progress:
            progress.step(f"asking what depends on `{relation}`")
            impacts = db.blast_radius(relation)
        if form is TableOrJson.JSON:
            _print_json([{"fact": each.fact, "rows": each.rows, "by_view": each.by_view} for each in impacts[:most]])
            return 0
        lines = [[_atom(each.fact), f"{each.rows:,}"] for each in impacts[:most]]
        self._table(["fact", "rows that depend on it alone"], lines)
        if len(impacts) > most:
            typer.echo(f"  ... {len(impacts) - most:,} more")
        return 0

    def reliability(self, db: Answering, atom: str, chances: list[str], form: TableOrJson, most: int) -> int:
        facts = _chances(db, chances)
        relation, rows = self._asked(db, atom, most)
        answers = []
        with self._working() as progress:
            for row in rows:
                progress.step(f"asking how probable {_atom((relation, row))} is")
                answers.append((row, db.probability(relation, row, facts)))
        if form is TableOrJson.JSON:
            _print_json([{"relation": relation, "row": list(row), **_bounds(found)} for row, found in answers])
        elif answers:
            lines = [[_atom((relation, row)), _number(found)] for row, found in answers]
            self._table(["row", "probability"], lines)
        return 0 if answers else 1

    def _working(self) -> ProgressLine:
        return ProgressLine(quiet=self._feed.quiet)

    def _asked(self, db: Answering, text: str, most: int) -> tuple[str, list[Row]]:
        """The rows asked about, at most so many; prints a note if there are none, or more."""
        relation, rows = _rows(db, text)
        if not rows:
            typer.echo(f"no row of `{relation}` matches", err=True)
        if len(rows) > most:
            typer.echo(f"note: {counted(len(rows) - most, 'more row')} like it; see --rows", err=True)
        return relation, rows[:most]

    def _list(self, title: str, sets: Sequence[Sequence[Fact]], nothing: str) -> None:
        if not sets and not nothing:
            return
        typer.echo(f"  {title}:")
        for facts in sets or [[]]:
            typer.echo("    " + (" and ".join(map(_atom, facts)) or nothing))

    def _table(self, heads: list[str], lines: list[list[str]]) -> None:
        table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
        table.add_column(Text(heads[0]))
        table.add_column(Text(heads[1]), justify="right", no_wrap=True)
        for line in lines:
            table.add_row(*map(Text, line))
        self._console.print(table)


def _rows(db: Answering, text: str) -> tuple[str, list[Row]]:
    question = parse_question(text, db)
    return question.relation, matching(question, db)


def _chances(db: Answering, given: list[str]) -> Any:
    """`0.9` for all facts, `link=0.9` for those of a relation, `link(a, b)=0.5` for one."""
    by_relation: dict[str, Any] = {}
    by_row: dict[str, dict[Row, float]] = {}
    for text in given:
        what, _, number = text.rpartition("=")
        try:
            chance = float(number)
        except ValueError:
            raise DataError(
                f"--chance {text}: {number!r} is not a number; write 0.9, link=0.9 or 'link(a, b)=0.9'"
            ) from None
        if not what.strip():
            if "=" in text:
                raise DataError(
                    f"--chance {text}: expected a relation or a fact before the `=`; for all facts write {number}"
                )
            if len(given) > 1:
                raise DataError(f"--chance {text} is for all facts; leave out the others, or name relations")
            return chance
        if "(" in what:
            relation, rows = _rows(db, what)
            if not rows:
                raise DataError(f"--chance {text}: no row of `{relation}` matches")
            by_row.setdefault(relation, {}).update(dict.fromkeys(rows, chance))
        else:
            by_relation[what.strip()] = chance
    for relation, rows_of in by_row.items():
        rest = by_relation.get(relation, 1.0)
        by_relation[relation] = {**dict.fromkeys(db.rows(relation), rest), **rows_of}
    return by_relation


_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_ .:/@-]*")


def _atom(fact: tuple[str, Sequence[Any]]) -> str:
    return f"{fact[0]}({', '.join(map(_spelt, fact[1]))})"


def _spelt(value: Any) -> str:
    """A value as it is shown; in quotes where its end could not be seen."""
    if isinstance(value, str) and not _PLAIN.fullmatch(value):
        return json.dumps(value, ensure_ascii=False)
    return shown(value)


def _number(found: float | Bounds) -> str:
    return str(found) if isinstance(found, Bounds) else f"{found:.9g}"


def _bounds(found: float | Bounds) -> dict[str, float]:
    if isinstance(found, Bounds):
        return {"low": found.low, "high": found.high}
    return {"probability": found}


def _print_json(value: Any) -> None:
    typer.echo(json.dumps(value, indent=2, ensure_ascii=False, default=str))
