"""Nodes, partitions and licenses of a Slurm site, from slurm.conf, gres.conf and ``scontrol show node -o``.

Source: the manual pages of Slurm: slurm.conf, gres.conf, scontrol.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from coalloc.documents.text import nearest, quoted
from coalloc.workloads.slurm.lines import Faults, Line, conf_lines, record_lines
from coalloc.workloads.slurm.values import (
    AMOUNT,
    FieldError,
    LineError,
    amount,
    count,
    generic_resources,
    hosts,
    instant,
    walltime,
)

DEFAULT = "DEFAULT"
"""Name of a node or a partition whose line states defaults for those that follow."""

ABSENT = frozenset({"FUTURE", "UNKNOWN+FUTURE"})
"""States of nodes that the machine does not have yet."""
OUT = re.compile(r"(?<!POWER_)(?<!POWERED_)(?<!POWERING_)DOWN|DRAIN|FAIL|ERROR|NOT_RESPONDING")
"""States of nodes that take no jobs; one that saves power takes some, and boots for them."""
SET_AT = re.compile(r"\[[^\[\]]*@(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)\]")
"""Author and time of the reason of a state."""

NODE_NUMBERS = ("cpus", "boards", "sockets", "socketsperboard", "corespersocket", "threadspercore", "corespeccount")
UNEXPRESSED = {
    "prioritytier": "priority tier",
    "priorityjobfactor": "priority factor",
    "maxcpuspernode": "maximum of CPUs per node",
    "preemptmode": "preemption mode",
    "topology": "topology of its own",
}
"""Settings of partitions that an instance has no place for, and what a report calls them."""


class SlurmNode(NamedTuple):
    """Attributes that distinguish nodes: CPUs, memory in MB (None: not limited), generic resources and features."""

    cpus: int
    memory: float | None
    gres: tuple[tuple[str, float], ...]
    features: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SlurmPartition:
    """A partition: its nodes, the most that a job may ask for (s; None: no limit), its QOS, and how it is shared."""

    name: str
    nodes: tuple[str, ...]
    longest: float | None
    qos: str
    is_exclusive: bool


@dataclass(slots=True)
class SlurmSite:
    """A Slurm site; ``outages`` are times since 1970, in s, from which nodes took no jobs."""

    source: str
    nodes: dict[str, SlurmNode] = field(default_factory=dict)
    partitions: dict[str, SlurmPartition] = field(default_factory=dict)
    licenses: dict[str, float] = field(default_factory=dict)
    settings: dict[str, str] = field(default_factory=dict)
    outages: dict[str, float] = field(default_factory=dict)
    notes: Counter[str] = field(default_factory=Counter)

    @property
    def schedules_nodes(self) -> bool:
        """Whether jobs get whole nodes only."""
        if self.settings.get("selecttype", "").lower() == "select/linear":
            return True
        return bool(self.partitions) and all(partition.is_exclusive for partition in self.partitions.values())

    @property
    def schedules_memory(self) -> bool:
        """Whether jobs share the memory of nodes as a resource; without a setting they do (CR_Core_Memory)."""
        kinds = self.settings.get("selecttypeparameters", "CR_Core_Memory").lower()
        return "memory" in kinds


def read_site(slurm_conf: str, gres_conf: str | None = None, show_node: str | None = None) -> SlurmSite:
    """Return the site that its files describe.

    Raises
    ------
    InstanceError
        A file cannot be read, or has lines with errors: all of one file together.
    """
    reading = _Reading(SlurmSite(slurm_conf))
    reading.read_conf()
    if gres_conf is not None:
        reading.read_gres(gres_conf)
    if show_node is not None:
        reading.read_nodes(show_node)
    reading.faults.raise_all()
    return reading.site


@dataclass(slots=True)
class _Reading:
    """The files of a site while they are read."""

    site: SlurmSite
    faults: Faults = field(default_factory=Faults)
    node_defaults: dict[str, str] = field(default_factory=dict)
    partition_defaults: dict[str, str] = field(default_factory=dict)
    sets: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def read_conf(self) -> None:
        """Read slurm.conf: nodes first, which the other lines name."""
        lines = conf_lines(self.site.source, self.faults)
        readers: Sequence[tuple[str, Callable[[Line], None]]] = (
            ("nodename", self._add_nodes),
            ("nodeset", self._add_set),
            ("downnodes", self._note_down),
            ("partitionname", self._add_partition),
        )
        for key, add in readers:
            for line in lines:
                if line.key == key:
                    with self.faults.at(line.source, line.number):
                        add(line)
        for line in lines:
            if line.key not in dict(readers):
                self.site.settings.update(line.pairs)
                if "licenses" in line.pairs:
                    with self.faults.at(line.source, line.number):
                        self._add_licenses(line.pairs["licenses"])
        self.faults.raise_all()
        if not self.site.nodes:
            with self.faults.at(self.site.source, 1):
                raise LineError("must be the first line of a slurm.conf with NodeName lines, but no line has one")
        self.faults.raise_all()

    def _add_nodes(self, line: Line) -> None:
        pairs = self.node_defaults | line.pairs
        if line.pairs["nodename"] == DEFAULT:
            self.node_defaults = {key: text for key, text in pairs.items() if key != "nodename"}
            _node(pairs)
            return
        node, names = _node(pairs), _names(line, "nodename")
        if pairs.get("state", "").upper() in ABSENT:
            self.site.notes["nodes of state FUTURE left out"] += len(names)
            return
        for name in names:
            if name in self.site.nodes:
                raise LineError(f"NodeName must not repeat node {quoted(name)}")
            self.site.nodes[name] = node

    def _add_set(self, line: Line) -> None:
        names = [*hosts("Nodes", line.text("nodes"))]
        features = set(line.text("feature").split(",")) - {""}
        names += [name for name, node in self.site.nodes.items() if features & set(node.features)]
        self.sets[line.pairs["nodeset"]] = self._known(names)

    def _note_down(self, line: Line) -> None:
        self.site.notes["nodes in DownNodes lines, of which the times are not known"] += len(_names(line, "downnodes"))

    def _add_partition(self, line: Line) -> None:
        pairs = self.partition_defaults | line.pairs
        name = line.pairs["partitionname"]
        if name == DEFAULT:
            self.partition_defaults = {key: text for key, text in pairs.items() if key != "partitionname"}
            return
        if not name or "," in name:
            raise FieldError("PartitionName", "one name", name)
        sharing = (pairs.get("oversubscribe") or pairs.get("shared") or "").upper()
        self.site.notes.update(
            f"partitions with a {what}" for key, what in UNEXPRESSED.items() if pairs.get(key, "") not in ("", "1")
        )
        if sharing.startswith(("YES", "FORCE")):
            self.site.notes["partitions that oversubscribe CPUs"] += 1
        self.site.partitions[name] = SlurmPartition(
            name,
            self._nodes_of(pairs.get("nodes", "")),
            walltime("MaxTime", pairs.get("maxtime", "")),
            pairs.get("qos", ""),
            sharing == "EXCLUSIVE",
        )

    def _nodes_of(self, text: str) -> tuple[str, ...]:
        """Return the nodes of a partition, which names nodes, sets of them, or ALL."""
        if text == "ALL":
            return tuple(self.site.nodes)
        named = (self.sets.get(name, (name,)) for name in hosts("Nodes", "" if text == "(null)" else text))
        return self._known([name for names in named for name in names])

    def _known(self, names: Sequence[str]) -> tuple[str, ...]:
        """Return nodes, each once; raise where the site does not have one."""
        unknown = [name for name in names if name not in self.site.nodes]
        if unknown:
            hint = nearest(unknown[0], self.site.nodes) if len(self.site.nodes) < 1000 else ""
            raise LineError(f"Nodes must be nodes of a NodeName line, got {quoted(unknown[0])}{hint}")
        return tuple(dict.fromkeys(names))

    def _add_licenses(self, text: str) -> None:
        for entry in filter(None, text.split(",")):
            name, _, number = entry.partition(":")
            self.site.licenses[f"license/{name}"] = amount("Licenses", number or "1")

    def read_gres(self, source: str) -> None:
        """Read gres.conf: the types of generic resources of which slurm.conf states the number alone."""
        stated: dict[str, Counter[str]] = {}
        for line in conf_lines(source, self.faults):
            with self.faults.at(line.source, line.number):
                if line.text("name"):
                    names = _names(line, "nodename") if "nodename" in line.pairs else tuple(self.site.nodes)
                    number = amount("Count", line.text("count") or str(len(hosts("File", line.text("file"))) or 1))
                    for name in names:
                        key = f"gres/{line.text('name')}"
                        stated.setdefault(name, Counter())[key] += int(number)
                        if line.text("type"):
                            stated[name][f"{key}:{line.text('type')}"] += int(number)
                elif not line.text("autodetect"):
                    raise LineError("must have Name= or AutoDetect=")
        for name, found in stated.items():
            self._add_types(name, found)

    def _add_types(self, name: str, found: Mapping[str, int]) -> None:
        """Add the types of a node's generic resources where their numbers agree with slurm.conf."""
        node = self.site.nodes.get(name)
        if node is None:
            self.site.notes["nodes of gres.conf that slurm.conf does not have"] += 1
            return
        has = dict(node.gres)
        for key, number in found.items():
            whole = key.partition(":")[0]
            if whole not in has:
                self.site.notes["generic resources of nodes in gres.conf alone, which Slurm does not schedule"] += 1
            elif has[whole] != found[whole]:
                self.site.notes["generic resources of nodes of which gres.conf has another number"] += 1
            else:
                has.setdefault(key, float(number))
        self.site.nodes[name] = node._replace(gres=tuple(sorted(has.items())))

    def read_nodes(self, source: str) -> None:
        """Read ``scontrol show node -o``: what nodes have at the time of the export, and since when they are down."""
        for line in record_lines(source, "NodeName", "scontrol show node -o", self.faults):
            with self.faults.at(source, line.number):
                name, state = line.text("nodename"), line.text("state").upper()
                if "FUTURE" in state:
                    continue
                if name not in self.site.nodes:
                    self.site.notes["nodes of scontrol alone, added"] += 1
                self.site.nodes[name] = _shown_node(line)
                self._join(name, line.text("partitions"))
                if OUT.search(state):
                    self._note_outage(name, line.text("reason"))

    def _join(self, name: str, partitions: str) -> None:
        for partition in filter(None, partitions.split(",")):
            known = self.site.partitions.get(partition) or SlurmPartition(partition, (), None, "", False)
            if name not in known.nodes:
                self.site.partitions[partition] = replace(known, nodes=(*known.nodes, name))

    def _note_outage(self, name: str, reason: str) -> None:
        since = SET_AT.search(reason)
        if since is None:
            self.site.notes["nodes that are down since an unknown time, taken as available"] += 1
        else:
            self.site.outages[name] = instant("Reason", since[1]) or 0.0


def _names(line: Line, key: str) -> tuple[str, ...]:
    """Return the nodes that a line names, at least one."""
    names = hosts(key, line.pairs[key])
    if not names:
        raise FieldError(key, "a list of nodes such as n[001-128,200]", line.pairs[key])
    return names


def _node(pairs: Mapping[str, str]) -> SlurmNode:
    """Return what a line of slurm.conf says of its nodes."""
    numbers = {key: count(key, pairs.get(key) or pairs.get("procs", "") * (key == "cpus")) for key in NODE_NUMBERS}
    sockets = numbers["sockets"] or (numbers["boards"] or 1) * (numbers["socketsperboard"] or 1)
    threads = numbers["threadspercore"] or 1
    cpus = numbers["cpus"] or sockets * (numbers["corespersocket"] or 1) * threads
    kept = cpus - _kept_for_system(pairs, numbers["corespeccount"], threads)
    if kept < 1:
        raise LineError(f"must leave at least one of {cpus} CPUs to jobs")
    memory = amount("RealMemory", pairs["realmemory"]) if "realmemory" in pairs else None
    if memory is not None and "memspeclimit" in pairs:
        memory = max(0.0, memory - amount("MemSpecLimit", pairs["memspeclimit"]))
    features = (pairs.get("features") or pairs.get("feature") or "").split(",")
    return SlurmNode(
        kept, memory, _sorted_gres("Gres", pairs.get("gres", "")), tuple(dict.fromkeys(filter(None, features)))
    )


def _kept_for_system(pairs: Mapping[str, str], cores: int, threads: int) -> int:
    """Return how many CPUs jobs do not get."""
    return cores * threads or sum(1 for _ in _listed_numbers("CpuSpecList", pairs.get("cpuspeclist", "")))


def _listed_numbers(key: str, text: str) -> Iterator[int]:
    yield from map(int, hosts(key, f"[{text}]") if text else ())


def _sorted_gres(key: str, text: str) -> tuple[tuple[str, float], ...]:
    return tuple(sorted(generic_resources(key, text).items()))


def _shown_node(line: Line) -> SlurmNode:
    """Return what a record of scontrol says of its node."""
    cpus = count("CPUEfctv", line.text("cpuefctv", "cputot"))
    if cpus < 1:
        raise FieldError("CPUTot", "at least 1", line.text("cpuefctv", "cputot"))
    memory = amount("RealMemory", line.text("realmemory")) if AMOUNT.match(line.text("realmemory")) else None
    if memory is not None and line.text("memspeclimit"):
        memory = max(0.0, memory - amount("MemSpecLimit", line.text("memspeclimit")))
    features = line.text("activefeatures", "availablefeatures").replace("(null)", "").split(",")
    return SlurmNode(
        cpus, memory, _sorted_gres("Gres", line.text("gres")), tuple(dict.fromkeys(filter(None, features)))
    )
