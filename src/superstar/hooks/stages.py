"""The stages of a run: what each node takes of time and memory."""

import logging
import threading
import time

import psutil
from kedro.framework.hooks import hook_impl
from kedro.framework.project import pipelines
from kedro.io import DataCatalog
from kedro.pipeline.node import Node

from superstar.datasets.stage_times import StageTimesDataset
from superstar.datasets.whole import Whole

logger = logging.getLogger(__name__)


def stage_of(node: Node) -> str:
    """The pipeline that a node belongs to."""
    return node.namespace or node.name


class StageHook:
    """Logs a line for each node, notes its time and peak memory, and tells MLflow the stages'.

    A node's time runs from the end of the one before, so that loading and saving (where lazily
    made sets are made) count, and the stages add up to the run.
    """

    def __init__(self) -> None:
        self._catalog: DataCatalog
        self._memory = _MemoryWatch()
        self._unsaved: set[str] = set()
        self._last_end = 0.0
        self._seconds: dict[str, float] = {}
        self._peaks: dict[str, float] = {}

    @hook_impl
    def before_pipeline_run(self, catalog: DataCatalog) -> None:
        """Begin the clock, and begin watching memory."""
        self._catalog = catalog
        self._seconds, self._peaks = {}, {}
        self._last_end = time.perf_counter()
        self._memory.start()

    @hook_impl
    def before_node_run(self, node: Node) -> None:
        """Announce the node."""
        logger.info("%s: %s ...", stage_of(node), node.short_name)
        self._unsaved = set(node.outputs)

    @hook_impl(trylast=True)
    def after_dataset_saved(self, dataset_name: str, node: Node) -> None:
        """Once all outputs are saved, the node is done."""
        self._unsaved.discard(dataset_name)
        if self._unsaved:
            return
        now = time.perf_counter()
        seconds, peak, stage = now - self._last_end, self._memory.peak_gb(), stage_of(node)
        self._seconds[stage] = self._seconds.get(stage, 0.0) + seconds
        self._peaks[stage] = max(self._peaks.get(stage, 0.0), peak)
        self._last_end = now
        self._memory.reset()
        times = self._catalog.get("stage_times")
        if isinstance(times, StageTimesDataset) and node in pipelines["__default__"].nodes:
            times.note(stage, node.short_name, seconds, peak)
        logger.info(
            "%s: %s done in %.1f s, peak memory %.2f GB", stage, node.short_name, seconds, peak
        )

    @hook_impl(tryfirst=True)
    def after_pipeline_run(self) -> None:
        """Send the stages' figures to the MLflow run before it closes."""
        import mlflow

        self._memory.stop()
        if not self._seconds:
            logger.info("nothing to do: every output is there, made with these parameters")
            return
        total, peak = sum(self._seconds.values()), max(self._peaks.values())
        for stage, seconds in self._seconds.items():
            logger.info("%-22s %6.1f s  %5.2f GB", stage, seconds, self._peaks[stage])
        logger.info("%-22s %6.1f s  %5.2f GB", "whole run", total, peak)
        report = self._catalog.get("report")
        if "reporting" in self._seconds and isinstance(report, Whole):
            logger.info("the report: %s", report.location)
        if mlflow.active_run() is not None:
            mlflow.log_metrics(
                {f"stage_seconds.{stage}": s for stage, s in self._seconds.items()}
                | {f"peak_memory_gb/{stage}": gb for stage, gb in self._peaks.items()}
                | {"run_seconds": round(total, 1), "peak_memory_gb": peak}
            )

    @hook_impl
    def on_pipeline_error(self) -> None:
        """Stop watching memory."""
        self._memory.stop()


class _MemoryWatch:
    """Samples the memory of this process and its children; what they share counts once."""

    interval_seconds = 1.0

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
        self._peak = _used_bytes()

    def peak_gb(self) -> float:
        self._peak = max(self._peak, _used_bytes())
        return self._peak / 1e9

    def stop(self) -> None:
        self._stop.set()
        if self._thread is not None:
            self._thread.join()

    def _watch(self) -> None:
        while not self._stop.wait(self.interval_seconds):
            self._peak = max(self._peak, _used_bytes())


def _used_bytes() -> int:
    this = psutil.Process()
    total = 0
    for process in (this, *this.children(recursive=True)):
        try:
            memory = process.memory_full_info()
        except psutil.Error:
            continue
        # Proportional set size, where the system tells it.
        total += getattr(memory, "pss", memory.uss)
    return total
