"""From options to how nodes work: which evaluation, what waits before it is sent, whether rows are soft state."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Any, TypeAlias

import typer

from headwater.cli.data.options import option

Evaluation: TypeAlias = Annotated[
    str,
    typer.Option("--evaluation", metavar="WAY", help="psn: nodes work at once; bsn: at intervals; sn: in rounds."),
]
PeriodicSeconds: TypeAlias = Annotated[
    float | None, option("Best rows wait so many seconds; those still best are sent.", "--periodic", metavar="S")
]
SharingSeconds: TypeAlias = Annotated[
    float | None,
    option(
        "All rows wait so many seconds; those that differ only in their best value are joined.",
        "--sharing",
        metavar="S",
    ),
]
RefreshSeconds: TypeAlias = Annotated[
    float | None,
    option("Messages can be lost; rows are renewed every so many seconds, or expire.", "--refresh", metavar="S"),
]


@dataclass(frozen=True, slots=True)
class Strategy:
    """How nodes run a program, as a user asks for it."""

    evaluation: str
    periodic: float | None
    sharing: float | None
    refresh: float | None

    def options(self, *, has_events: bool, until: float | None) -> dict[str, Any]:
        """The options of `Simulation`; BadParameter where they make no sense."""
        from headwater.network import EVALUATIONS, Periodic  # late: --help must not import the engine

        if self.evaluation not in EVALUATIONS:
            raise typer.BadParameter(f"choose one of {', '.join(EVALUATIONS)}", param_hint="--evaluation")
        given = {"--periodic": self.periodic, "--sharing": self.sharing, "--refresh": self.refresh}
        for name, seconds in given.items():
            if seconds is not None and not (math.isfinite(seconds) and seconds > 0):
                raise typer.BadParameter(f"{seconds:g} is not a number of seconds above 0", param_hint=name)
        asked = [name for name, seconds in given.items() if seconds is not None]
        if has_events and (asked or self.evaluation != "psn"):
            raise typer.BadParameter(
                "a program of events says itself when rows are sent and renewed; this is for programs in .dl",
                param_hint=asked[0] if asked else "--evaluation",
            )
        if self.periodic is not None and self.sharing is not None:
            raise typer.BadParameter("rows wait once: choose --periodic or --sharing", param_hint="--sharing")
        if self.refresh is not None and until is None:
            raise typer.BadParameter("rows are renewed for ever: say when to stop, --until", param_hint="--refresh")
        found: dict[str, Any] = {"evaluation": self.evaluation}
        if self.periodic is not None:
            found["selections"] = Periodic(self.periodic)
        if self.sharing is not None:
            found["sharing"] = self.sharing
        return found if self.refresh is None else found | {"refresh": self.refresh, "fifo": False}
