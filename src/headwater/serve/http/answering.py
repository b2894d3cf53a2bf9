"""From a request to an answer: its parameters, its body, the question in the database's thread, errors as JSON."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import Future
from functools import wraps
from typing import Any, TypeVar

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from headwater.core.errors import BudgetSpent, DataError, HeadwaterError, ProgramError, UnknownRelation
from headwater.core.render import as_json
from headwater.database import Database
from headwater.serve.http.encoding import as_text
from headwater.serve.live import Live

Answer = TypeVar("Answer")
Endpoint = Callable[[Request], Awaitable[Response]]
_CODE = re.compile(r"^error\[(HW\d+)\]: ")


class Refused(Exception):
    """A request that cannot be answered as it is, with the status to say so."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


def reply(value: Any, status: int = 200) -> Response:
    return Response(as_text(value), status, media_type="application/json")


def failure(status: int, message: str, **more: Any) -> Response:
    code = _CODE.match(message)
    text = message if code is None else message[code.end() :]
    return reply({"error": {"code": code and code[1], "message": text, **more}}, status)


def endpoint(answer: Endpoint) -> Endpoint:
    """The same, with every error that a user can make as an answer."""

    @wraps(answer)
    async def answered(request: Request) -> Response:
        try:
            return await answer(request)
        except Refused as problem:
            return failure(problem.status, str(problem))
        except ClientDisconnect:
            return failure(413, "the request is too long, or was cut off")
        except UnknownRelation as problem:
            return failure(404, str(problem.args[0]))
        except ProgramError as problem:
            return failure(422, str(problem), diagnostics=[as_json(each) for each in problem.diagnostics])
        except (DataError, BudgetSpent, HeadwaterError) as problem:
            return failure(422, str(problem))
        except (KeyError, ValueError, OverflowError, RecursionError) as problem:
            return failure(400, str(problem.args[0]) if problem.args else type(problem).__name__)

    return answered


def live_of(request: Request) -> Live:
    live: Live = request.app.state.live
    return live


async def ask(request: Request, question: Callable[[Database], Answer]) -> Answer:
    """Ask the database, when it is this request's turn."""
    return await finished(live_of(request).ask(question))


async def finished(future: Future[Answer]) -> Answer:
    return await asyncio.wrap_future(future)


async def body_of(request: Request) -> Mapping[str, Any]:
    data = await request.body()
    try:
        found = json.loads(data)
    except (ValueError, RecursionError) as problem:
        raise Refused(400, f"the body is not JSON: {problem}") from None
    if not isinstance(found, Mapping):
        raise Refused(400, "the body must be a JSON object")
    return found


def number(request: Request, name: str, default: int, least: int, most: int) -> int:
    """A whole number among the parameters of a request."""
    text = request.query_params.get(name)
    if text is None:
        return default
    if not re.fullmatch(r"-?\d{1,15}", text) or not least <= int(text) <= most:
        raise Refused(400, f"{name} is a whole number from {least:,} to {most:,}, not {text[:50]!r}")
    return int(text)


def whole(value: Any, name: str, default: int, least: int, most: int) -> int:
    """The same in a body."""
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise Refused(400, f"{name} is a whole number from {least:,} to {most:,}")
    return value
