"""Experiments of CISNE: two kinds of applications on the nodes of a laboratory, and users at some of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from coalloc.documents.values import Count, NonNegative, Positive, PositiveSeconds, PositiveShare, Share
from coalloc.instance import Cluster, Fault, Instance, InstanceError, Job, LocalUser, NodeGroup, Platform, Sharing
from coalloc.workloads.generator import TIME_DIGITS, Generator, NumJobs, NumNodes, rounded_duration
from coalloc.workloads.generators.feitelson96 import Feitelson96

IS_SHARES: Mapping[str, float] = {"net": 0.75, "cpu": 0.25, "mixed": 0.5}
"""Share of the applications that are IS, by load; the others are MG."""

NumUserNodes = Annotated[int, Field(strict=True, ge=0, le=10_000)]

USER_TIME = 3.0
"""Users come and go for this many times the time in which jobs arrive: runs end before."""


class Cisne(Generator):
    """Communicating and computing applications on time-shared nodes with local users.

    Hanzich et al., section 3 and Table 1, give 8 nodes with users at 4 of them, at most 4 tasks per node, the
    applications IS (communication) and MG (computation) in three proportions, three profiles of users and their shares,
    10 to 15 % of paging, and arrivals and sizes of Feitelson (1996). All other numbers are assumed (errata 24);
    docs/time-shared-nodes.md describes the model.

    Jobs are runs of ``feitelson96`` on one cluster of nodes of speed 1; ``user`` of a job is its application. At each
    node with users one user follows the other: 62 % are XWindows, 33 % Internet and 5 % Shell users, with exponential
    active and idle times. They come and go for three times as long as jobs arrive, so they outlast the run. CPU and
    memory of users count only without a contract.

    Jobs, applications and users are sampled from three streams of random numbers. So comparisons of scenarios and loads
    with one seed are paired: arrivals, sizes, run times (but for the factors) and users are the same, and a job that is
    IS with a share of 1/4 is IS with a larger share.

    Reasons for the defaults: 512 MB hold four tasks of IS or three of MG, so that places or memory may limit a node.
    Next to a user (256 MB) two of IS or one of MG fit, with paging (288 MB) one more of each. With an offered load of 1
    hardly any job waits at 4 tasks per node, and queue policies cannot differ. A contract of 0.5 is the even split;
    paging is the middle of its range. IS sorts and mostly moves keys, MG mostly computes. Active times are shorter the
    less a user interacts; idle times leave somebody there about half of the time. A Shell user computes; desktops and
    browsers take more memory.
    """

    jobs: Annotated[NumJobs, "number of jobs"] = 100
    scenario: Annotated[
        Literal[1, 2, 3], "1: dedicated nodes; 2: local users on some nodes; 3: local users, and tasks may page"
    ] = 1
    load: Annotated[Literal["mixed", "net", "cpu"], "share of IS jobs: 1/2, 3/4 or 1/4"] = "mixed"
    nodes: Annotated[NumNodes, "nodes of the cluster"] = 8
    multiprogramming: Annotated[Count, "maximum number of tasks per node"] = 4
    memory: Annotated[Positive, "memory of a node, MB"] = 512.0
    offered_load: Annotated[Positive, "offered load: work per processor time of dedicated nodes"] = 2.0
    user_nodes: Annotated[NumUserNodes, "number of nodes with local users (the first nodes)"] = 4
    contract: Annotated[PositiveShare | None, "share of parallel tasks while a user is active; None: no contract"] = 0.5
    paging: Annotated[Share, "tolerated excess of memory in scenario 3, as a share"] = 0.125
    coscheduling: Annotated[bool, "whether communicating tasks are coscheduled"] = True
    cooperation: Annotated[bool, "whether nodes agree on one CPU share for all tasks of a job"] = True
    is_share: Annotated[Share, "processing share of IS"] = 0.4
    is_memory: Annotated[NonNegative, "memory of a task of IS, MB"] = 90.0
    is_factor: Annotated[Positive, "factor on the run times of IS"] = 1.0
    mg_share: Annotated[Share, "processing share of MG"] = 0.9
    mg_memory: Annotated[NonNegative, "memory of a task of MG, MB"] = 140.0
    mg_factor: Annotated[Positive, "factor on the run times of MG"] = 1.0
    xwindows_active: Annotated[PositiveSeconds, "mean active time of XWindows users, s"] = 1200.0
    xwindows_idle: Annotated[PositiveSeconds, "mean time until the next user, s"] = 1200.0
    xwindows_cpu: Annotated[Share, "CPU share of XWindows users"] = 0.2
    xwindows_memory: Annotated[NonNegative, "memory of XWindows users, MB"] = 120.0
    internet_active: Annotated[PositiveSeconds, "mean active time of Internet users, s"] = 900.0
    internet_idle: Annotated[PositiveSeconds, "mean time until the next user, s"] = 1200.0
    internet_cpu: Annotated[Share, "CPU share of Internet users"] = 0.1
    internet_memory: Annotated[NonNegative, "memory of Internet users, MB"] = 100.0
    shell_active: Annotated[PositiveSeconds, "mean active time of Shell users, s"] = 600.0
    shell_idle: Annotated[PositiveSeconds, "mean time until the next user, s"] = 1200.0
    shell_cpu: Annotated[Share, "CPU share of Shell users"] = 0.6
    shell_memory: Annotated[NonNegative, "memory of Shell users, MB"] = 40.0

    def __post_init__(self) -> None:
        if self.user_nodes > self.nodes:
            fault = f"must be at most nodes = {self.nodes}, got {self.user_nodes}"
            raise InstanceError([Fault("user_nodes", fault)])

    def draw(self, rng: np.random.Generator, name: str) -> Instance:
        """Return one instance.

        Jobs, their kinds and users are drawn from streams of their own, whatever scenario and load are: instances of
        one seed differ in nothing else.
        """
        of_jobs, of_kinds, of_users = rng.spawn(3)
        jobs = tuple(self._jobs(of_jobs, of_kinds, name))
        until = USER_TIME * max(job.arrival + job.base_time for job in jobs)
        users = tuple(self._users(of_users, until)) if self.scenario > 1 else ()
        return Instance(self.platform(), jobs, name=name, local_users=users)

    def platform(self) -> Platform:
        """Return the cluster and how its nodes are shared."""
        group = NodeGroup(self.nodes, power=1.0, memory=self.memory, multiprogramming=self.multiprogramming)
        sharing = Sharing(
            contract=self.contract,
            paging=self.paging if self.scenario == 3 else 0.0,
            coscheduling=self.coscheduling,
            cooperation=self.cooperation,
        )
        return Platform((Cluster("C1", (group,), 12.5),), sharing=sharing)

    def _jobs(self, rng: np.random.Generator, of_kinds: np.random.Generator, name: str) -> Iterator[Job]:
        """Yield the jobs of Feitelson's model, each with the application that it runs (its ``user``)."""
        stream = Feitelson96(jobs=self.jobs, nodes=max(2, self.nodes), clusters=1, load=self.offered_load)
        is_is = of_kinds.random(self.jobs) < IS_SHARES[self.load]
        for job, communicates in zip(stream.draw(rng, name).jobs, is_is.tolist(), strict=True):
            share, memory, factor = (
                (self.is_share, self.is_memory, self.is_factor)
                if communicates
                else (self.mg_share, self.mg_memory, self.mg_factor)
            )
            yield Job(
                job.id,
                tasks=min(job.tasks, self.nodes),
                base_time=rounded_duration(factor * job.base_time),
                processing_share=share,
                arrival=job.arrival,
                user="IS" if communicates else "MG",
                memory=memory,
            )

    def _users(self, rng: np.random.Generator, until: float) -> Iterator[LocalUser]:
        """Yield who is active at which node, and when, for a time (s); nobody is at 0."""
        profiles = {
            "xwindows": (self.xwindows_active, self.xwindows_idle, self.xwindows_cpu, self.xwindows_memory),
            "internet": (self.internet_active, self.internet_idle, self.internet_cpu, self.internet_memory),
            "shell": (self.shell_active, self.shell_idle, self.shell_cpu, self.shell_memory),
        }
        names = list(profiles)
        for node, of_node in enumerate(rng.spawn(self.user_nodes)):
            now = 0.0
            while now < until:
                profile = names[of_node.choice(len(names), p=PROFILE_SHARES)]
                active, idle, cpu, memory = profiles[profile]
                start = round(now + idle * of_node.standard_exponential(), TIME_DIGITS)
                now = round(start + rounded_duration(active * of_node.standard_exponential()), TIME_DIGITS)
                if start < now:
                    yield LocalUser(f"C1/{node}", start, now, profile, cpu, memory)


PROFILE_SHARES = (0.62, 0.33, 0.05)
"""Shares of XWindows, Internet and Shell users among all. Source: section 3.1."""

GENERATORS: Mapping[str, type[Generator]] = {"cisne": Cisne}
