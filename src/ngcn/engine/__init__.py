"""What runs the tasks of a run: this process, or the workers of a Ray cluster."""

from ngcn.engine.cluster import Cluster, Ray
from ngcn.engine.tasks import Executor, Local

__all__ = ["Cluster", "Executor", "Local", "Ray"]
