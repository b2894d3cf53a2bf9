"""The program: rules, strata, relations as a graph, findings; and a text that is checked, not run."""

from __future__ import annotations

import asyncio
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from headwater.core.errors import ProgramError
from headwater.core.render import as_json
from headwater.core.source import Source
from headwater.language.datalog.include import read_nothing
from headwater.language.datalog.printer import as_written, print_rule
from headwater.language.reading import read_text
from headwater.language.terms import body_atoms
from headwater.pipeline import CompiledProgram, compile_tree, uncollected
from headwater.program.recursion.strata import strata
from headwater.serve.http.answering import Refused, ask, body_of, endpoint, live_of, reply

_LONGEST = 200_000


@endpoint
async def program(request: Request) -> Response:
    compiled: CompiledProgram = live_of(request).program
    return reply({"name": live_of(request).name, "text": compiled.text, **_described(compiled)})


@endpoint
async def plan(request: Request) -> Response:
    return reply({"plan": await ask(request, lambda db: db.plan())})


@endpoint
async def check(request: Request) -> Response:
    """What `headwater check` would say of a text. It is not run, and files that it includes are not read."""
    asked = await body_of(request)
    text = asked.get("text")
    if not isinstance(text, str) or len(text) > _LONGEST:
        raise Refused(400, f'"text" is the program, at most {_LONGEST:,} letters')
    return reply(await asyncio.to_thread(_checked, text))


def _checked(text: str) -> dict[str, Any]:
    try:
        with uncollected():
            compiled = compile_tree(read_text(Source("page", text), None, read_nothing))
    except ProgramError as problem:
        return {"valid": False, "diagnostics": [as_json(each) for each in problem.diagnostics]}
    return {"valid": True, **_described(compiled)}


def _described(compiled: CompiledProgram) -> dict[str, Any]:
    checked = compiled.checked
    level: dict[str, int] = {}
    listed = []
    for number, stratum in enumerate(strata(checked), 1):
        level |= dict.fromkeys(stratum.relations, number)
        listed.append({"number": number, "relations": stratum.relations, "recursive": stratum.recursive})
    rules = []
    for rule in checked.rules:
        written = rule.origin or rule
        rules.append(
            {
                "text": print_rule(written),
                "head": rule.head.relation,
                "stratum": level.get(rule.head.relation, 0),
                "body": [{"relation": atom.relation, "negated": negated} for atom, negated in body_atoms(rule)],
            }
        )
    return {
        "relations": [
            {
                "name": relation.name,
                "derived": relation.derived,
                "output": relation.name in compiled.outputs,
                "stratum": level.get(relation.name, 0),
                "columns": [
                    {"name": column.name, "type": column.type.value if column.type else None}
                    for column in relation.visible
                ],
            }
            for relation in checked.relations
        ],
        "rules": rules,
        "strata": listed,
        "queries": [as_written(query) for query in checked.queries],
        "diagnostics": [as_json(each) for each in compiled.warnings],
    }
