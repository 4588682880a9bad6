"""Output of the instance or the platform that a command made: into a file, or onto standard output."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import coalloc
from coalloc.cli.output import note, say

if TYPE_CHECKING:
    from coalloc import Instance, Platform


def write_or_say_instance(instance: Instance, output: Path | None, quiet: bool) -> None:
    """Write an instance, and its size on standard error, or print its document where no file is named."""
    from coalloc.documents.kinds import document_of
    from coalloc.documents.strict_json import layout
    from coalloc.documents.text import visible
    from coalloc.instance.files import INSTANCE

    if output is None:
        say(layout(document_of(instance, INSTANCE)))
        return
    coalloc.write_instance(instance, output)
    if not quiet:
        note(f"{visible(str(output))}: {size_of(instance)}")


def write_or_say_platform(platform: Platform, output: Path | None, quiet: bool) -> None:
    """Write a platform, and its size on standard error, or print its document where no file is named."""
    from coalloc.documents.kinds import document_of
    from coalloc.documents.strict_json import layout
    from coalloc.documents.text import visible
    from coalloc.instance.files import PLATFORM

    if output is None:
        say(layout(document_of(platform, PLATFORM)))
        return
    coalloc.io.write_platform(platform, output)
    if not quiet:
        note(f"{visible(str(output))}: {size_of_platform(platform)}")


def size_of(instance: Instance) -> str:
    """Return the size of an instance in words."""
    from coalloc.documents.wording import plural

    return f"{plural(len(instance.jobs), 'job')}; {size_of_platform(instance.platform)}"


def size_of_platform(platform: Platform) -> str:
    """Return the size of a platform in words."""
    clusters = ", ".join(str(cluster.num_processors) for cluster in platform.clusters)
    noun = "clusters" if len(platform.clusters) > 1 else "one cluster"
    return f"{noun} of {clusters} processors"
