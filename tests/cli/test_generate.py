"""`headwater generate`: files that `headwater run` reads."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from headwater.cli.main import app

EXAMPLES = Path(__file__).parents[2] / "examples"


def test_a_topology_as_csv_is_read_by_run(tmp_path: Path) -> None:
    made = CliRunner().invoke(app, ["generate", "transit-stub", "--output", str(tmp_path / "net"), "--links", "100"])
    assert made.exit_code == 0, made.output
    assert "link.csv: 100 rows" in made.output
    file = f"link={tmp_path / 'net' / 'link.csv'}"
    ran = CliRunner().invoke(app, ["run", str(EXAMPLES / "shortest_path_plain.dl"), "--input", file, "--format", "csv"])
    assert ran.exit_code == 0, ran.output
    assert len(ran.output.splitlines()) > 25 * 24


def test_a_field_of_sensors_as_csv_is_read_by_run(tmp_path: Path) -> None:
    made = CliRunner().invoke(app, ["generate", "sensors", "-o", str(tmp_path), "--triggered", "0.6", "--seed", "3"])
    assert made.exit_code == 0, made.output
    files = [f"{name}={tmp_path / name}.csv" for name in ("sensor", "mainSensorInRegion", "isTriggered")]
    inputs = [part for file in files for part in ("--input", file)]
    ran = CliRunner().invoke(app, ["run", str(EXAMPLES / "largest_region.dl"), *inputs])
    assert ran.exit_code == 0, ran.output
    assert "r" in ran.output


def test_the_same_seed_gives_the_same_file(tmp_path: Path) -> None:
    for name in ("one", "two"):
        CliRunner().invoke(app, ["generate", "transit-stub", "-o", str(tmp_path / name), "--seed", "9", "--sparse"])
    assert (tmp_path / "one" / "link.csv").read_bytes() == (tmp_path / "two" / "link.csv").read_bytes()


def test_what_makes_no_network_is_told(tmp_path: Path) -> None:
    for wrong in (["ring"], ["sensors", "--side", "5"], ["sensors", "--regions", "5000"]):
        made = CliRunner().invoke(app, ["generate", *wrong, "--output", str(tmp_path)])
        assert made.exit_code == 2
        assert not list(tmp_path.iterdir())


def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    made = CliRunner().invoke(app, ["generate", "transit-stub", "--output", str(tmp_path / "file" / "net")])
    assert made.exit_code == 2
    assert "file" in made.output


def test_a_folder_that_is_a_file_is_told_apart(tmp_path: Path) -> None:
    (tmp_path / "net").write_text("")
    made = CliRunner().invoke(app, ["generate", "transit-stub", "-o", str(tmp_path / "net")])
    assert made.exit_code == 2
    assert made.output.startswith("error: ")
    assert "is a file; --output takes a folder" in made.output


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (["transit-stub", "--spacing", "5"], ["--spacing", "is for sensors", "transit-stub takes --links"]),
        (["transit-stub", "--links", "100", "--triggered", "0.5"], ["--triggered", "is for sensors"]),
        (["sensors", "--sparse"], ["--sparse", "is for transit-stub", "sensors takes --side"]),
        (["sensors", "--links", "100"], ["--links", "is for transit-stub"]),
        (["transit-stub", "--links", "100", "--stub-size", "3"], ["--stub-size", "is chosen by --links"]),
    ],
)
def test_an_option_that_would_be_ignored_is_told(given: list[str], told: list[str], tmp_path: Path) -> None:
    made = CliRunner().invoke(app, ["generate", *given, "-o", str(tmp_path / "net")], env={"COLUMNS": "200"})
    assert made.exit_code == 2
    assert not (tmp_path / "net").exists()
    for word in told:
        assert word in made.stderr


def test_an_option_may_repeat_its_default(tmp_path: Path) -> None:
    made = CliRunner().invoke(app, ["generate", "sensors", "--side", "100", "--radius", "20", "-o", str(tmp_path)])
    assert made.exit_code == 0


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (["transit-stub", "--links", "9" * 20], "at most 10,000,000 will do"),
        (["transit-stub", "--links", "9" * 400], "at most 10,000,000 will do"),
        (["transit-stub", "--domains", "1000000000"], "nodes with"),
        (["transit-stub", "--stub-size", "100000"], "nodes with"),
        (["transit-stub", "--links", "-5"], "--links"),
        (["transit-stub", "--nodes", "1"], "is for overlay and random and mesh"),
        (["sensors", "--side", "1000000000"], "at most 1,000,000 will do"),
        (["sensors", "--radius", "nan"], "--radius"),
        (["sensors", "--triggered", "nan"], "--triggered"),
        (["sensors", "--radius", "inf", "--spacing", "1"], "more than 10,000,000 pairs"),
    ],
)
def test_sizes_that_cannot_be_are_told(given: list[str], told: str, tmp_path: Path) -> None:
    made = CliRunner().invoke(app, ["generate", *given, "--output", str(tmp_path)], env={"COLUMNS": "200"})
    assert made.exit_code == 2
    assert told in made.output
    assert not list(tmp_path.iterdir())


def test_one_node_has_no_links(tmp_path: Path) -> None:
    made = CliRunner().invoke(app, ["generate", "transit-stub", "--transit", "1", "--stubs", "0", "-o", str(tmp_path)])
    assert made.exit_code == 0
    assert (tmp_path / "link.csv").read_text().splitlines() == ["src,dst,latency"]


def test_all_sensors_are_near_within_any_large_radius(tmp_path: Path) -> None:
    given = ["generate", "sensors", "--side", "40", "--radius", "1e308", "-o", str(tmp_path)]
    assert CliRunner().invoke(app, given).exit_code == 0
    assert len((tmp_path / "near.csv").read_text().splitlines()) == 1 + 16 * 15
