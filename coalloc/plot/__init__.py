"""Pictures of schedules: one layout, drawn with matplotlib (files, notebooks) or plotly (a page to explore)."""
