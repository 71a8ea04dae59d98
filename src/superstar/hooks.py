"""Hooks of a run: bad input refused first, artifacts stamped, stages timed."""

import logging
import threading
import time
from collections.abc import Iterator
from typing import Any

import psutil
from kedro.framework.context import KedroContext
from kedro.framework.hooks import hook_impl
from kedro.framework.project import pipelines
from kedro.io import DataCatalog
from kedro.pipeline import Pipeline
from kedro.pipeline.node import Node

from superstar.datasets.whole import Whole
from superstar.errors import InputError
from superstar.provenance import (
    artifact_fingerprint,
    expected_fingerprints,
    is_parameter,
    node_fingerprint,
)

logger = logging.getLogger(__name__)


class InputHook:
    """Refuses bad parameters and missing or damaged artifacts before any node runs."""

    @hook_impl(tryfirst=True)
    def after_context_created(self, context: KedroContext) -> None:
        """Check all parameters of the run at once."""
        from superstar.parameters import Parameters

        Parameters.check(context.params)

    @hook_impl(tryfirst=True)
    def before_pipeline_run(
        self, run_params: dict[str, Any], pipeline: Pipeline, catalog: DataCatalog
    ) -> None:
        """Check every artifact that the run reads and does not make."""
        for name in sorted(pipeline.inputs()):
            dataset = None if is_parameter(name) else catalog.get(name)
            if isinstance(dataset, Whole) and (problem := dataset.problem()):
                raise InputError(
                    f"{name} ({dataset.location}) {problem}; "
                    f"make it with `kedro run --pipelines {_maker(name)}`"
                    + (f" --env {run_params['env']}" if run_params.get("env") else "")
                )


class ProvenanceHook:
    """Stamps every artifact with what it was made from, and tells which can be kept.

    A plain run starts afresh: the stamps of all that it will make are removed first. With
    `--only-missing-outputs` only artifacts that were made from other parameters lose theirs, so
    that Kedro runs just the nodes whose outputs are missing.
    """

    def __init__(self) -> None:
        self._catalog: DataCatalog
        self._made: dict[str, str] = {}

    @hook_impl
    def before_pipeline_run(
        self, run_params: dict[str, Any], pipeline: Pipeline, catalog: DataCatalog
    ) -> None:
        """Remove stale stamps; warn of inputs made with other parameters."""
        self._catalog = catalog
        whole = pipelines["__default__"]
        names = {name for node in whole.nodes for name in node.inputs if is_parameter(name)}
        expected = expected_fingerprints(
            whole.nodes, {name: catalog.load(name) for name in names if name in catalog}
        )
        for name, dataset in self._artifacts(pipeline.all_outputs()):
            stale = dataset.fingerprint() != expected.get(name)
            if stale or not run_params.get("only_missing_outputs"):
                dataset.invalidate()
        for name, dataset in self._artifacts(pipeline.inputs()):
            if name in expected and dataset.fingerprint() != expected[name]:
                logger.warning(
                    "%s was made with other parameters than this run's configuration", name
                )

    @hook_impl
    def before_node_run(self, node: Node, catalog: DataCatalog, inputs: dict[str, Any]) -> None:
        """Take the fingerprint while the inputs' stamps are at hand."""
        artifacts = {name: d.fingerprint() for name, d in self._artifacts(node.inputs)}
        self._made[node.name] = node_fingerprint(node, inputs, artifacts)

    @hook_impl
    def after_dataset_saved(self, dataset_name: str, data: Any, node: Node) -> None:
        """Stamp the artifact: from here on it counts as finished."""
        for name, dataset in self._artifacts([dataset_name]):
            dataset.stamp(artifact_fingerprint(self._made[node.name], name))

    def _artifacts(self, names: Any) -> Iterator[tuple[str, Whole]]:
        for name in sorted(names):
            dataset = None if is_parameter(name) else self._catalog.get(name)
            if isinstance(dataset, Whole):
                yield name, dataset


class StageHook:
    """Logs a line for each node, and each stage's time and peak memory to MLflow."""

    def __init__(self) -> None:
        self._memory = _MemoryWatch()
        self._started = 0.0
        self._seconds: dict[str, float] = {}
        self._peaks: dict[str, float] = {}

    @hook_impl
    def before_pipeline_run(self) -> None:
        """Begin watching memory."""
        self._seconds, self._peaks = {}, {}
        self._memory.start()

    @hook_impl
    def before_node_run(self, node: Node) -> None:
        """Begin a node's clock."""
        logger.info("%s: %s ...", _stage(node), node.name)
        self._memory.reset()
        self._started = time.perf_counter()

    @hook_impl
    def after_node_run(self, node: Node) -> None:
        """Stop it."""
        seconds, peak = time.perf_counter() - self._started, self._memory.peak_gb()
        stage = _stage(node)
        self._seconds[stage] = self._seconds.get(stage, 0.0) + seconds
        self._peaks[stage] = max(self._peaks.get(stage, 0.0), peak)
        logger.info("%s: %s done in %.1f s, peak memory %.2f GB", stage, node.name, seconds, peak)

    @hook_impl(tryfirst=True)
    def after_pipeline_run(self) -> None:
        """Send the stages' figures to the MLflow run before it closes."""
        import mlflow

        self._memory.stop()
        if not self._seconds:
            logger.info("nothing to do: every output is there, made with these parameters")
            return
        total = sum(self._seconds.values())
        logger.info("stages took %.0f s; peak memory %.2f GB", total, max(self._peaks.values()))
        if mlflow.active_run() is not None:
            mlflow.log_metrics(
                {f"stage_seconds.{stage}": s for stage, s in self._seconds.items()}
                | {f"peak_memory_gb.{stage}": gb for stage, gb in self._peaks.items()}
                | {"seconds": total, "peak_memory_gb": max(self._peaks.values())}
            )

    @hook_impl
    def on_pipeline_error(self) -> None:
        """Stop watching memory."""
        self._memory.stop()


class _MemoryWatch:
    """Samples the resident memory of this process and its children."""

    interval_seconds = 0.5

    def __init__(self) -> None:
        self._peak = 0
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        self.reset()
        self._stop.clear()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def reset(self) -> None:
        self._peak = _resident_bytes()

    def peak_gb(self) -> float:
        self._peak = max(self._peak, _resident_bytes())
        return self._peak / 1e9

    def stop(self) -> None:
        self._stop.set()
        if self._thread is not None:
            self._thread.join()

    def _watch(self) -> None:
        while not self._stop.wait(self.interval_seconds):
            self._peak = max(self._peak, _resident_bytes())


def _resident_bytes() -> int:
    this = psutil.Process()
    total = 0
    for process in (this, *this.children(recursive=True)):
        try:
            total += process.memory_info().rss
        except psutil.NoSuchProcess:
            continue
    return total


def _stage(node: Node) -> str:
    return min(node.tags, default=node.name)


def _maker(artifact: str) -> str:
    for name, pipeline in pipelines.items():
        if name != "__default__" and artifact in pipeline.all_outputs():
            return name
    return "__default__"
