"""What NetworkX wants to know of the backend when it is imported. The backend itself imports NetworkX."""

from __future__ import annotations

from typing import Any

_KRUSKAL = "The algorithm must be Kruskal's, and weights numbers of 64 bits."

# The functions that the backend has, by the condition under which it has them.
FUNCTIONS = {
    "articulation_points": "",
    "biconnected_component_edges": "Graphs with self-loops are left to NetworkX.",
    "biconnected_components": "",
    "bridge_components": "",
    "bridges": "",
    "connected_components": "",
    "has_bridges": "",
    "is_biconnected": "",
    "is_connected": "",
    "is_weakly_connected": "",
    "maximum_spanning_edges": _KRUSKAL,
    "maximum_spanning_tree": _KRUSKAL,
    "minimum_spanning_edges": _KRUSKAL,
    "minimum_spanning_tree": _KRUSKAL,
    "node_connected_component": "",
    "number_connected_components": "",
    "number_weakly_connected_components": "",
    "tree_all_pairs_lowest_common_ancestor": "Calls with a root are left to NetworkX.",
    "weakly_connected_components": "",
}


def get_info() -> dict[str, Any]:
    """The backend's description, in NetworkX's terms."""
    return {
        "backend_name": "warpsmith",
        "project": "warpsmith",
        "package": "warpsmith",
        "short_summary": "Connectivity and trees on a GPU, or on all cores of the CPU.",
        "functions": {name: {"additional_docs": note} for name, note in FUNCTIONS.items()},
    }
