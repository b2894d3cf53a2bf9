"""The work of `headwater why`, imported only when it is asked for."""

from __future__ import annotations

import dataclasses
import json

import typer

from headwater.cli.data.fed_database import database_or_state
from headwater.cli.data.options import Feed
from headwater.cli.questions.why import ProofFormat
from headwater.cli.screen.report import counted, show_error
from headwater.core.errors import BudgetSpent, DataError, ProgramError, StateError
from headwater.provenance import Proof, WhyNot
from headwater.questions import Answering, Question, matching, parse_question


class Explaining:
    """Answers why a row is there, or why it is not."""

    def __init__(self, form: ProofFormat, most: int, *, absent: bool) -> None:
        self._form = form
        self._most = most
        self._absent = absent

    def run(self, file: str, atom: str, feed: Feed, checkpoint: str | None) -> None:
        raise typer.Exit(self._answer(atom, database_or_state(file, feed, checkpoint)))

    def _answer(self, atom: str, db: Answering) -> int:
        try:
            question = parse_question(atom, db)
            found, missing = self._look(question, db)
        except ProgramError as error:
            show_error(error)
            return 2
        except (BudgetSpent, StateError) as error:
            show_error(error)
            return 2
        except (DataError, KeyError) as error:
            typer.echo(f"error: {error.args[0]}", err=True)
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
