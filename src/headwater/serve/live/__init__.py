"""A database that changes while it is looked at: one thread owns it, and the last transactions are kept."""

from headwater.serve.live.history import net_change, table_after
from headwater.serve.live.journal import Entry, Journal
from headwater.serve.live.live import Live, Work
from headwater.serve.live.snapshots import Page, Wanted

__all__ = ["Entry", "Journal", "Live", "Page", "Wanted", "Work", "net_change", "table_after"]
