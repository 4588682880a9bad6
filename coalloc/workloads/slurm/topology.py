"""The network of a Slurm site: leaf switches or blocks with their nodes, and the switches above them.

Source: the manual pages topology.conf and topology.yaml of Slurm, and Slurm's topology guide.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from coalloc.documents.text import quoted
from coalloc.workloads.slurm.lines import Faults, Line, conf_lines
from coalloc.workloads.slurm.values import LineError, count, hosts
from coalloc.workloads.trace_lines import numbered_lines


@dataclass(slots=True)
class Topology:
    """A tree: nodes of each leaf switch or block and back, the switches above (parent by name), and their levels."""

    leaves: dict[str, tuple[str, ...]] = field(default_factory=dict)
    leaf_of: dict[str, str] = field(default_factory=dict)
    parents: dict[str, str] = field(default_factory=dict)
    levels: dict[str, str] = field(default_factory=dict)


def read_topology(source: str) -> Topology:
    """Return the network that topology.conf or topology.yaml describes.

    Raises
    ------
    InstanceError
        The file cannot be read, or has lines with errors, or its switches are no tree.
    """
    faults = Faults()
    is_yaml = source.removesuffix(".gz").endswith((".yaml", ".yml"))
    lines = _yaml_lines(source, faults) if is_yaml else conf_lines(source, faults)
    topology, children, sizes = Topology(), dict[str, tuple[str, ...]](), list[int]()
    last = 1
    for line in lines:
        last = line.number
        with faults.at(line.source, line.number):
            _add(line, topology, children, sizes)
    faults.raise_all()
    with faults.at(source, last):
        _join(topology, children)
        _combine_blocks(topology, sizes)
    faults.raise_all()
    return topology


def _add(line: Line, topology: Topology, children: dict[str, tuple[str, ...]], sizes: list[int]) -> None:
    """Add what a line says."""
    if line.key == "blocksizes":
        sizes += [count("BlockSizes", text.strip()) for text in line.pairs["blocksizes"].split(",")]
        return
    if line.key not in ("switchname", "blockname"):
        raise LineError(f"must begin with SwitchName=, BlockName= or BlockSizes=, got {quoted(line.key)}")
    name = line.pairs[line.key]
    if not name or name in topology.leaves or name in children:
        key = "SwitchName" if line.key == "switchname" else "BlockName"
        raise LineError(f"{key} must be a name of its own, got {quoted(name)}")
    nodes, switches = hosts("Nodes", line.text("nodes")), hosts("Switches", line.text("switches"))
    if bool(nodes) == bool(switches):
        raise LineError(f"{quoted(name)} must have either Nodes= or Switches=")
    if switches:
        children[name] = switches
        return
    twice = next((node for node in nodes if node in topology.leaf_of), None)
    if twice is not None:
        raise LineError(f"node {quoted(twice)} must be in one switch or block, is also in {topology.leaf_of[twice]!r}")
    topology.leaves[name] = nodes
    topology.leaf_of.update(dict.fromkeys(nodes, name))


def _join(topology: Topology, children: Mapping[str, Sequence[str]]) -> None:
    """State the parent and the level of each switch; raise where they are no tree."""
    for name, below in children.items():
        for child in below:
            if child not in topology.leaves and child not in children:
                raise LineError(f"Switches of {quoted(name)} must be switches of the file, got {quoted(child)}")
            if child in topology.parents:
                raise LineError(f"switch {quoted(child)} must be below one switch, not two")
            topology.parents[child] = name
    for leaf in topology.leaves:
        above, height = leaf, 1
        while above in topology.parents:
            above, height = topology.parents[above], height + 1
            topology.levels[above] = f"switch level {max(height, int(topology.levels.get(above, '0').split()[-1]))}"
            if height > len(children) + 1:
                raise LineError(f"switches must be a tree, but {quoted(above)} is below itself")
    bare = next((name for name in children if name not in topology.levels), None)
    if bare is not None:
        raise LineError(f"switches must be a tree, but {quoted(bare)} is below itself")


def _combine_blocks(topology: Topology, sizes: Sequence[int]) -> None:
    """Put adjacent blocks below switches of a level for each size of blocks beyond the base size."""
    names = list(topology.leaves)
    for size in sorted(set(sizes))[1:]:
        together = max(1, size // min(sizes)) if min(sizes) else 1
        for first in range(0, len(names), together):
            switch = f"blocks of {size}: {names[first]}"
            for leaf in names[first : first + together]:
                above = leaf
                while above in topology.parents:
                    above = topology.parents[above]
                if above != switch:
                    topology.parents[above] = switch
            topology.levels[switch] = f"block size {size}"


# ------------------------------------------------------------------------------ topology.yaml

ENTRY = re.compile(r"(?P<indent> *)(?P<dash>(?:- +)*)(?:(?P<key>[\w]+) *:(?: +|$))?(?P<value>.*)")


def _yaml_lines(source: str, faults: Faults) -> Iterator[Line]:
    """Yield the switches and blocks of the default topology of a topology.yaml as topology.conf has them.

    The file needs mappings, lists and plain values only, so each entry stands on lines of its own.
    """
    found: list[list[Line]] = []
    defaults: list[bool] = []
    for number, key, value in _entries(source, faults):
        with faults.at(source, number):
            if key == "topology":
                found.append([])
                defaults.append(False)
            elif not found:
                raise LineError("must begin with '- topology: NAME'")
            elif key == "cluster_default":
                defaults[-1] = value.lower() == "true"
            elif key in ("switch", "block") and value:
                found[-1].append(Line(source, number, {f"{key}name": value}))
            elif key in ("children", "nodes") and found[-1]:
                _extend(found[-1], "switches" if key == "children" else "nodes", value)
            elif key == "block_sizes" or not key:
                _extend_sizes(found[-1], source, number, value)
            elif key not in ("tree", "block", "flat", "switches", "blocks", "ring", "torus3d"):
                raise LineError(f"must be an entry of a topology, got {quoted(key)}")
    yield from found[defaults.index(True) if True in defaults else 0] if found else ()


def _extend(lines: list[Line], key: str, value: str) -> None:
    """Add to the last switch or block."""
    lines[-1].pairs[key] = value


def _extend_sizes(lines: list[Line], source: str, number: int, value: str) -> None:
    """Add to the sizes of blocks, which are a list on one line or on several."""
    text = value.strip("[] ")
    if lines and lines[-1].key == "blocksizes" and text:
        known = lines[-1].pairs["blocksizes"]
        lines[-1] = Line(source, number, {"blocksizes": f"{known},{text}".strip(",")})
    else:
        lines.append(Line(source, number, {"blocksizes": text}))


def _entries(source: str, faults: Faults) -> Iterator[tuple[int, str, str]]:
    """Yield the number of each line of a YAML file that says something, its key and its value."""
    for number, line in numbered_lines(source):
        text = re.sub(r"(^|\s)#.*", "", line.decode(errors="replace"))
        if not text.strip() or text.startswith(("---", "...")):
            continue
        with faults.at(source, number):
            match = ENTRY.fullmatch(text)
            if match is None or (not match["key"] and not match["dash"]):
                raise LineError(f"must be an entry 'key: value' or '- value', got {quoted(text)}")
            yield number, match["key"] or "", match["value"].strip().strip("\"'")
