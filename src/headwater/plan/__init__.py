"""Program to plan: tables, delta rules, join order and indexes.

What a plan is stands in `model`, which is all that most others import; `build` makes one, `explain` prints it.
"""
