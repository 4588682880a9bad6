"""``coalloc import``: from the files of a site to an instance with its platform, for Slurm and Flux."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from typer import Option

import coalloc
from coalloc.cli.errors import ExitCode
from coalloc.cli.instance_output import write_or_say_instance
from coalloc.cli.options import Broken, Output, Quiet
from coalloc.cli.output import check_writable, note, say
from coalloc.cli.shell import Command

if TYPE_CHECKING:
    from coalloc.workloads.slurm.site_log import SiteLog

app = typer.Typer(name="import")

Sacct = Annotated[Path, Option(metavar="FILE", help="Accounting export: sacct --parsable2, also gzip.")]
SlurmConf = Annotated[Path, Option(metavar="FILE", help="slurm.conf; files that it includes are read, too.")]
Topology = Annotated[
    Path | None,
    Option(metavar="FILE", help="topology.conf or topology.yaml.", show_default="one cluster"),
]
Gres = Annotated[Path | None, Option(metavar="FILE", help="gres.conf, for types of generic resources.")]
Nodes = Annotated[Path | None, Option(metavar="FILE", help="Output of scontrol show node -o.")]
Reservations = Annotated[Path | None, Option(metavar="FILE", help="Output of scontrol show reservation -o.")]
Assoc = Annotated[
    list[Path] | None,
    Option(metavar="FILE", help="Output of sacctmgr --parsable2 show assoc, show qos, or of sshare. Repeatable."),
]
UnitName = Annotated[
    Literal["auto", "cpus", "nodes"],
    Option(
        help="Whether a processor is a CPU (core) or a node. auto: a node where the site schedules whole nodes only."
    ),
]
Jobs = Annotated[Path, Option(metavar="FILE", help="Output of flux jobs -A -a --count=0 --json.")]
Resources = Annotated[Path, Option(metavar="FILE", help="Resource set (flux resource R) or resource graph (JGF).")]
Config = Annotated[
    Path | None,
    Option(metavar="FILE", help="Configuration in TOML, for queues and policies.", show_default="properties as queues"),
]
After = Annotated[
    str | None,
    Option(metavar="TIME", help="Start of the period, such as 2026-10-01.", show_default="first arrival"),
]
Before = Annotated[
    str | None,
    Option(
        metavar="TIME", help="End of the period: drop jobs that arrive then or later.", show_default="end of the log"
    ),
]
Speedup = Annotated[
    Literal["linear", "none"],
    Option(help="Jobs with a range of nodes. linear: modes with a linear speedup; none: the recorded number only."),
]
NamesRule = Annotated[
    Literal["pseudonyms", "keep"],
    Option("--names", help="Names of users, accounts and reservations. pseudonyms: number them; keep: keep them."),
]
Name = Annotated[
    str | None, Option(metavar="NAME", help="Name of the instance.", show_default="the name of the export")
]
ScheduleFile = Annotated[
    Path | None,
    Option("--schedule", metavar="OUT", help="Schedule file to write: the recorded schedule."),
]

SLURM_EXAMPLES = """
Examples:

coalloc import slurm --sacct october.txt --slurm-conf slurm.conf -o october.json.gz

coalloc import slurm --sacct october.txt --slurm-conf slurm.conf --topology topology.conf --assoc qos.txt
--assoc assoc.txt --after 2026-10-01 -o october.json.gz --schedule recorded.json.gz

A report of what is dropped, changed or not expressed is printed on standard error.
"""
FLUX_EXAMPLES = """
Example:

coalloc import flux --jobs october.json --resources R.json --config system.toml -o october.json.gz

A report of what is dropped, changed or not expressed is printed on standard error.
"""


@app.callback(invoke_without_command=True)
def start(context: typer.Context) -> None:
    """Import the machine and the log of a site from its own files."""
    if context.invoked_subcommand is None:
        say(context.get_help())
        raise typer.Exit(ExitCode.BAD_INPUT)


@app.command("slurm", epilog=SLURM_EXAMPLES, cls=Command)
def slurm(
    *,
    sacct: Sacct,
    slurm_conf: SlurmConf,
    topology: Topology = None,
    gres: Gres = None,
    nodes: Nodes = None,
    reservations: Reservations = None,
    assoc: Assoc = None,
    unit: UnitName = "auto",
    after: After = None,
    before: Before = None,
    speedup: Speedup = "linear",
    names: NamesRule = "pseudonyms",
    broken: Broken = "error",
    name: Name = None,
    output: Output = None,
    schedule: ScheduleFile = None,
    quiet: Quiet = False,
) -> ExitCode:
    """Convert the files of a Slurm site to an instance with its platform, jobs and limits."""
    files = (sacct, slurm_conf, topology, gres, nodes, reservations, *(assoc or ()))
    check_writable({"--output": output, "--schedule": schedule}, inputs=files)
    log = coalloc.io.read_slurm(
        sacct,
        slurm_conf,
        topology=topology,
        gres=gres,
        nodes=nodes,
        reservations=reservations,
        assoc=assoc or (),
        unit=unit,
        after=after,
        before=before,
        speedup=speedup,
        names=names,
        broken=broken,
        name=name,
    )
    _write(log, output, schedule, quiet)
    return ExitCode.DONE


@app.command("flux", epilog=FLUX_EXAMPLES, cls=Command)
def flux(
    *,
    jobs: Jobs,
    resources: Resources,
    config: Config = None,
    unit: UnitName = "auto",
    after: After = None,
    before: Before = None,
    names: NamesRule = "pseudonyms",
    broken: Broken = "error",
    name: Name = None,
    output: Output = None,
    schedule: ScheduleFile = None,
    quiet: Quiet = False,
) -> ExitCode:
    """Convert the jobs and resources of a Flux instance to an instance with its platform and jobs. Times are in UTC."""
    check_writable({"--output": output, "--schedule": schedule}, inputs=(jobs, resources, config))
    log = coalloc.io.read_flux(
        jobs,
        resources,
        config=config,
        unit=unit,
        after=after,
        before=before,
        names=names,
        broken=broken,
        name=name,
    )
    _write(log, output, schedule, quiet)
    return ExitCode.DONE


def _write(log: SiteLog, output: Path | None, schedule: Path | None, quiet: bool) -> None:
    """Write the instance and the recorded schedule, and print the report."""
    from coalloc.documents.text import visible
    from coalloc.documents.wording import plural

    write_or_say_instance(log.instance, output, quiet)
    if schedule is not None:
        coalloc.write_schedule(log.schedule, schedule)
    if not quiet:
        note(str(log.report))
        if schedule is not None:
            note(f"{visible(str(schedule))}: {len(log.schedule)} of {plural(len(log.instance.jobs), 'job')} placed")
