"""Ids as nobody should choose them, and a schedule full of them."""

from coalloc.instance import Instance, Platform
from tests.plot.schedules import random_instance

IDS = (
    "<script>document.title='owned'</script>",
    "</script>",
    "[/b]",
    "$x_$",
    "../x",
    "[31mred\\nline",
    "very-long-" + "x" * 300 + "-0042",
    "%{x} %{customdata}",
    "{plot_id}",
    "$\\frac{1}$",
    "a&lt;b<b>c</b>",
    "作业 🚀",
)


def strange_instance() -> Instance:
    """Return an instance whose jobs, clusters and name are strange."""
    instance = random_instance(6, len(IDS), (4, 4), 3)
    names = ("<i>$C_1$</i>", "c2</title>")
    clusters = [c.replace(name=name) for c, name in zip(instance.platform.clusters, names, strict=True)]
    jobs = tuple(job.replace(id=name) for job, name in zip(instance.jobs, IDS, strict=True))
    return instance.replace(platform=Platform(clusters), jobs=jobs, name="</title><script>$wl_1$")
