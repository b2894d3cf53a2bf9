"""The quick reader of csv and the careful one read the same rows."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from headwater.files.csv_file import read_carefully, read_quickly
from headwater.files.rows import BadRows

CELL = st.text(st.sampled_from('ab "1,\n\r;é\t'), max_size=4)
QUOTED = CELL.map(lambda text: '"' + text.replace('"', '""') + '"')
PIECES = st.lists(st.sampled_from(["a", "b", ",", '"', "\n", "\r\n", "\r", " ", "é", '""', "", "a,b\n"]), max_size=25)
TABLE = st.lists(st.lists(CELL | QUOTED, min_size=1, max_size=3).map(",".join), max_size=6).map("\n".join)


@settings(max_examples=600)
@given(PIECES.map("".join) | TABLE, st.integers(1, 3))
def test_agree_csv_readers(text: str, width: int) -> None:
    data = text.encode()
    bad = BadRows("r", "r.csv")
    careful = read_carefully(data, 0, 1, width, ",", bad)
    quick = read_quickly(data, 0, 1, width, ",")
    assert len(careful.columns) == width
    if quick is not None:
        assert [column.to_pylist() for column in quick.columns] == [column.to_pylist() for column in careful.columns]
        assert not bad.rows
        if quick.knows_lines:
            assert quick.lines.tolist() == careful.lines.tolist()
