"""Every address of the interface: one table, from which the application and its OpenAPI description are made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from headwater import __version__
from headwater.serve.http import asking, describing, documents, reading, watching
from headwater.serve.http.answering import Endpoint

_PAGING = MappingProxyType(
    {
        "offset": "The first row, from 0.",
        "limit": "Rows of the page, at most 1,000.",
        "sort": "Columns, separated by commas; `-` in front of one sorts downwards.",
        "where": "An atom such as `fastest(lisbon, To, Path, Ms)`; variables match anything.",
        "find": "A text that a column holds, in capitals or not.",
        "at": "The rows as they were after this transaction.",
        "at_least": "The oldest transaction that will do; by default large views may be some seconds old.",
        "seen": "The last transaction that the reader knows of: an answer made for another reader since then will do.",
        "format": "`json` or `arrow` (an Arrow IPC stream).",
    }
)
_ROW = '`{"relation": "reachable", "row": ["a", "c"]}` or `{"atom": "reachable(a, c)"}`'


@dataclass(frozen=True, slots=True)
class Address:
    """An address: `takes` are its parameters, or, of a POST, what its body holds."""

    method: str
    path: str
    answer: Endpoint
    does: str
    takes: Mapping[str, str] | str = field(default_factory=dict)


ADDRESSES = (
    Address("GET", "/api/health", watching.health, "Whether the server answers, and what it serves."),
    Address("GET", "/api/metrics", watching.metrics, "Counters in Prometheus' text format."),
    Address("GET", "/api/program", describing.program, "Text, rules, strata, relations and findings."),
    Address("GET", "/api/plan", describing.plan, "The plan that runs now, as text."),
    Address("POST", "/api/check", describing.check, "Findings of another text; it is not run.", '`{"text": "..."}`'),
    Address("GET", "/api/relations", reading.relations, "Relations with columns, types and sizes."),
    Address("GET", "/api/relations/{name}/rows", reading.rows, "A page of rows.", _PAGING),
    Address(
        "GET", "/api/relations/{name}/difference", reading.difference, "What came and went, net.",
        {"since": "Changes behind this transaction.", "until": "Up to this one.", "limit": "Rows, each way."},
    ),
    Address(
        "GET", "/api/relations/{name}/graph", reading.graph, "Rows as edges of a graph.",
        {
            "from": "The column with one end.", "to": "The column with the other.",
            "around": "A node: only what is near it.", "hops": "How near.", "limit": "Nodes, at most.",
        },
    ),
    Address("GET", "/api/documents", documents.collections, "Names of documents and views over them, with counts."),
    Address(
        "GET", "/api/documents/{name}", documents.documents, "A page of documents.",
        {"offset": "The first document, from 0.", "limit": "Documents of the page, at most 200."},
    ),
    Address(
        "GET", "/api/changes", watching.changes, "Changes as server-sent events.",
        {
            "view": "A relation (repeatable); by default all.", "after": "Go on behind this transaction.",
            "every": "1: an event for each transaction, with all its rows up to 10,000.",
        },
    ),
    Address(
        "GET", "/api/transactions", watching.transactions, "The last transactions, newest first.",
        {"limit": "At most 500."},
    ),
    Address("GET", "/api/profile", watching.profile, "Where the time goes, by rule."),
    Address("POST", "/api/why", asking.why, "The proof of a row.", _ROW),
    Address("POST", "/api/why_not", asking.why_not, "Where each rule fails that could derive a row.", _ROW),
    Address("POST", "/api/critical", asking.critical, "Facts that a row cannot do without; sets that suffice.", _ROW),
    Address("POST", "/api/valid_until", asking.valid_until, "When a row ends.", _ROW),
    Address(
        "POST", "/api/what_if", asking.what_if, "What views would lose and gain; nothing is changed.",
        '`{"delete": {"link": [["a", "b"]]}, "insert": {}, "limit": 200}`',
    ),
    Address(
        "POST", "/api/blast_radius", asking.blast_radius, "Facts by the rows that are there only because of each.",
        '`{"relation": "link", "limit": 100}`',
    ),
    Address(
        "POST", "/api/ask", asking.ask_view, "The answers to a query with parameters.",
        '`{"view": "fastest", "given": {"From": "lisbon"}}`',
    ),
    Address(
        "POST", "/api/apply", asking.apply, "One transaction; refused unless the server is writable.",
        '`{"insert": {"link": [["a", "b"]]}, "delete": {}, "title": "new cable"}`',
    ),
)  # fmt: skip


def openapi() -> dict[str, Any]:
    """The interface in the OpenAPI format."""
    paths: dict[str, Any] = {}
    for each in ADDRESSES:
        about: dict[str, Any] = {
            "summary": each.does,
            "operationId": each.answer.__name__,
            "responses": {
                "200": {"description": "The answer."},
                "400": {"description": "The request is not understood."},
                "401": {"description": "The token is wrong or missing."},
                "422": {"description": "The program or the data does not allow it; `error` says why."},
            },
        }
        names = [part[1:-1] for part in each.path.split("/") if part.startswith("{")]
        about["parameters"] = [
            {"name": name, "in": "path", "required": True, "schema": {"type": "string"}} for name in names
        ]
        if isinstance(each.takes, str):
            body = {"application/json": {"schema": {"type": "object"}}}
            about["requestBody"] = {"description": each.takes, "required": True, "content": body}
        else:
            about["parameters"] += [
                {"name": name, "in": "query", "description": text, "schema": {"type": "string"}}
                for name, text in each.takes.items()
            ]
        paths.setdefault(each.path, {})[each.method.lower()] = about
    return {
        "openapi": "3.1.0",
        "info": {"title": "Headwater", "version": __version__},
        "components": {"securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}},
        "security": [{"token": []}],
        "paths": paths,
    }
