"""The public names of ``coalloc.plot``."""

from coalloc.plot.power import power_plot as power_plot
from coalloc.plot.progress import progress_plot as progress_plot
from coalloc.plot.usage import series_plot as series_plot
