"""`NAME=FILES` of the command line, and the members that their documents are known by."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import typer

from headwater.cli.screen.report import counted
from headwater.semistructured.reading.loading import paths_of, read_file


def pairs(given: Iterable[str] | None, flag: str) -> list[tuple[str, str]]:
    """Options of the form NAME=VALUE."""
    found = []
    for text in given or ():
        name, mark, value = text.partition("=")
        if not mark or not name or not value:
            raise typer.BadParameter(f"{text!r} is not NAME=VALUE", param_hint=flag)
        found.append((name, value))
    return found


def key_of(paths: str, name: str, keys: Mapping[str, str]) -> str | None:
    """The member that documents are known by: the one that is asked for, or `id` if all of them have one."""
    if name in keys:
        return keys[name]
    nodes = [read_file(path, "id").nodes for path in paths_of(paths)]
    without = sum("which is its key" in bad.reason for one in nodes for bad in one.rejected)
    if without and any((one.roots >= 0).any() for one in nodes):
        typer.echo(
            f"warning: {name}: {counted(without, 'document')} without `id`, so that all are known by their places in "
            f"the files, and none replaces another; --key {name}=id sets those without one aside",
            err=True,
        )
    return None if without else "id"
