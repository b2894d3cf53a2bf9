"""Where changes come from while the page is open: files that grow, folders that files arrive in, a checkpoint;
and the wall clock, for rows that live by it."""

from headwater.serve.follow.files import ChangeFile, Folder
from headwater.serve.follow.follower import Follower
from headwater.serve.follow.wall_clock import WallClock

__all__ = ["ChangeFile", "Folder", "Follower", "WallClock"]
