"""Topologies from files and from dice: what `Topology` needs, read or made.

`read_topology` reads csv, GraphML and lists of edges. `transit_stub`, `overlay`, `random_graph` and `mesh` make
networks, the same for the same seed.
"""

from headwater.network.topologies.link_files import read_topology, write_rows
from headwater.network.topologies.made import Overlay, mesh, overlay, random_graph, transit_stub

__all__ = ["Overlay", "mesh", "overlay", "random_graph", "read_topology", "transit_stub", "write_rows"]
