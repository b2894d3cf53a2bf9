"""The net effect of a feed of changes over tables that count equal rows."""

from __future__ import annotations

import random
from collections import Counter

from headwater.files.feed import net


def one_by_one(held: Counter[str], feed: list[tuple[str, bool]]) -> Counter[str]:
    for row, insert in feed:
        held = held + Counter([row]) if insert else held - Counter([row])
    return held


def test_counted_rows_move_by_one_and_never_below_nothing() -> None:
    for seed in range(300):
        dice = random.Random(seed)
        held = Counter({row: dice.randint(0, 3) for row in "abc"})
        feed = [(dice.choice("abc"), dice.random() < 0.5) for _ in range(dice.randint(0, 9))]
        found = net([(row,) for row, _ in feed], [insert for _, insert in feed], None, counted=True)
        deletes, inserts = (Counter(feed[at][0] for at in places) for places in (found.deletes, found.inserts))
        assert held - deletes + inserts == one_by_one(held, feed), (held, feed)
