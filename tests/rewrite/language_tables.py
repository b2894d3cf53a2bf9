"""The parts of docs/language.md that follow from the code: the table of functions and the text of errors.

`python -m tests.rewrite.language_tables` writes them into the page; the tests compare.
"""

from __future__ import annotations

import re
from pathlib import Path

from headwater.core.errors import ProgramError
from headwater.core.functions.builtins import BUILTINS
from headwater.core.functions.function import Function
from headwater.core.source import Source
from headwater.language.datalog.parse import parse
from headwater.program.check import check

PAGE = Path(__file__).parents[2] / "docs" / "language.md"
FUNCTIONS = re.compile(r"(<!-- functions -->\n).*?(<!-- end -->)", re.DOTALL)
PROGRAM = re.compile(r"^```datalog\n(.*?)^```$", re.DOTALL | re.MULTILINE)
ERROR = re.compile(r"^```datalog error\n(.*?)^```\n\n```text\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def function_table() -> str:
    rows = [f"| `{_signature(function)}` | {function.doc} |\n" for function in BUILTINS.values()]
    return "\n| function | gives |\n|---|---|\n" + "".join(rows) + "\n"


def _signature(function: Function) -> str:
    params = [param.value if param else "any" for param in function.params]
    optional = [count for count in function.also if count < len(params)]
    if optional:
        least = min(optional)
        params = [*params[:least], *(f"{param}?" for param in params[least:])]
    return f"{function.name}({', '.join(params)}{', ...' if function.variadic else ''})"


def error_text(program: str) -> str:
    try:
        check(parse(Source("paths.dl", program)))
    except ProgramError as error:
        return str(error).rstrip("\n") + "\n"
    raise AssertionError(f"this was meant to be an error:\n{program}")


def updated(page: str) -> str:
    page = FUNCTIONS.sub(lambda found: found[1] + function_table() + found[2], page)
    return ERROR.sub(lambda found: f"```datalog error\n{found[1]}```\n\n```text\n{error_text(found[1])}```", page)


if __name__ == "__main__":
    PAGE.write_text(updated(PAGE.read_text()))
