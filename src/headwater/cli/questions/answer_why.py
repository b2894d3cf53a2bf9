"""The work of `headwater why`, imported only when it is asked for."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

import typer

from headwater.cli.data.bounds import guard_of
from headwater.cli.data.fed_database import database_or_state
from headwater.cli.data.options import Feed
from headwater.cli.questions.why import ProofFormat
from headwater.cli.screen.report import counted, ends_on_error, show_error, show_text
from headwater.core.errors import BudgetSpent, DataError, ProgramError, StateError
from headwater.provenance import Proof, WhyNot
from headwater.questions import Answering, Question, matching, parse_question

if TYPE_CHECKING:
    from headwater.semistructured.output.view import DocumentView


class Explaining:
    """Answers why a row is there, or why it is not."""

    def __init__(self, form: ProofFormat, most: int, *, absent: bool) -> None:
        self._form = form
        self._most = most
        self._absent = absent

    def run(self, file: str, atom: str, feed: Feed, checkpoint: str | None) -> None:
        db = database_or_state(file, feed, checkpoint)
        raise typer.Exit(self._answer(lambda: self._look(parse_question(atom, db), db)))

    def run_documents(self, file: str, oid: str, feed: Feed, keys: list[str]) -> None:
        """Answer for an object of views over documents."""
        from headwater.cli.documents.run_documents import maintained, report_set_aside

        with ends_on_error("interrupted"):
            docs, views = maintained(file, feed, keys, guard_of(feed.guard, feed.memory))
        report_set_aside(docs)
        raise typer.Exit(self._answer(lambda: self._look_in_views(oid, views)))

    def _answer(self, look: Callable[[], tuple[list[Proof], WhyNot | str | None]]) -> int:
        try:
            found, missing = look()
        except ProgramError as error:
            show_error(error)
            return 2
        except (BudgetSpent, StateError) as error:
            show_error(error)
            return 2
        except (DataError, KeyError) as error:
            show_text(str(error.args[0]))
            return 2
        for at, proof in enumerate(found[: self._most]):
            if at and self._form is ProofFormat.TREE:
                typer.echo()
            typer.echo(self._proof_text(proof))
        if len(found) > self._most:
            typer.echo(f"note: {counted(len(found) - self._most, 'more row')} like it; see --rows", err=True)
        if missing is not None:
            self._show_missing(missing)
        return int(bool(found) is self._absent)

    def _look(self, question: Question, db: Answering) -> tuple[list[Proof], WhyNot | str | None]:
        """The proofs of the rows asked about; or, if there is none, what is known about that."""
        name = question.relation
        if not question.is_exact:
            rows = matching(question, db)
            if not rows:
                return [], f"no row of `{name}` matches"
            shown = [db.why(name, row) for row in rows[: self._most]]
            return shown + [shown[-1]] * (len(rows) - len(shown)), None
        row = tuple(question.arguments)
        try:
            return [db.why(name, row)], None
        except DataError:
            return [], db.why_not(name, row)

    def _look_in_views(self, oid: str, views: Sequence[DocumentView]) -> tuple[list[Proof], WhyNot | str | None]:
        """The proofs of an object in each view that has it; or, if none has, why it is not in the first that could."""
        found: list[Proof] = []
        for view in views:
            with suppress(DataError):
                found.append(view.why(oid))
        if found:
            return found, None
        *others, last = views
        for view in others:
            with suppress(DataError):
                return [], view.why_not(oid)
        return [], last.why_not(oid)

    def _proof_text(self, proof: Proof) -> str:
        match self._form:
            case ProofFormat.TREE:
                return str(proof)
            case ProofFormat.JSON:
                return proof.to_json()
            case ProofFormat.DOT:
                return proof.to_dot()
            case ProofFormat.MERMAID:
                return proof.to_mermaid()

    def _show_missing(self, missing: WhyNot | str) -> None:
        if isinstance(missing, str):
            typer.echo(missing, err=True)
        elif self._form is ProofFormat.JSON:
            typer.echo(json.dumps(dataclasses.asdict(missing), indent=2, ensure_ascii=False, default=str))
        else:
            typer.echo(str(missing), err=self._form is not ProofFormat.TREE)
