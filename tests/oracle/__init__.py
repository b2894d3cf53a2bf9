"""The oracle: what a program means, said a second time and as plainly as possible.

Nothing in this package imports Headwater, and Headwater imports nothing from here.
"""
