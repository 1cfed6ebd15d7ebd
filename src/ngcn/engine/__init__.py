"""What runs the tasks of a run: this process, other processes of this machine, or the workers of a Ray cluster."""

from ngcn.engine.cluster import Cluster, Ray
from ngcn.engine.processes import Processes
from ngcn.engine.tasks import Executor, Local

__all__ = ["Cluster", "Executor", "Local", "Processes", "Ray"]
