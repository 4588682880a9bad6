"""Power and energy: what a platform takes as a schedule runs, by node, cluster and site."""
