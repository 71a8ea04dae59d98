"""Hooks of a run: one at a time, bad input refused first, artifacts stamped, stages timed."""

import logging
import os
import threading
import time
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
from filelock import FileLock, Timeout
from kedro.framework.context import KedroContext
from kedro.framework.hooks import hook_impl
from kedro.framework.project import pipelines
from kedro.io import DataCatalog
from kedro.pipeline import Pipeline
from kedro.pipeline.node import Node

from superstar.checkpoint import Checkpoint
from superstar.datasets.downloads import ClassFoldersDataset
from superstar.datasets.raw import RawDataset, unreadable
from superstar.datasets.stage_times import StageTimesDataset
from superstar.datasets.whole import PiecesDataset, Whole
from superstar.errors import InputError
from superstar.pipelines.corrupt.places import check_places
from superstar.provenance import Stamp, is_parameter, node_fingerprint, outdated

logger = logging.getLogger(__name__)

ELSEWHERE = frozenset({"corrupt", "recover"})
"""Stages that write into folders that the user names, and nothing of a benchmark's."""


class LockHook:
    """Keeps a benchmark's files to one run at a time.

    The lock is the operating system's, so that it ends with the process, however that ends.
    """

    def __init__(self) -> None:
        self._lock: FileLock | None = None

    @hook_impl(wrapper=True, tryfirst=True)
    def before_pipeline_run(
        self, run_params: dict[str, Any], pipeline: Pipeline, catalog: DataCatalog
    ) -> Generator[None, Any, Any]:
        """Take the lock before anything is looked at, and keep it unless the run is refused."""
        self._release()  # Of a run in this process that Ctrl-C ended, of which no hook is told.
        if any(_stage(node) not in ELSEWHERE for node in pipeline.nodes):
            self._take(Path(run_params["project_path"]), catalog.load("params:benchmark"))
        try:
            return (yield)
        except BaseException:
            self._release()
            raise

    @hook_impl(trylast=True)
    def after_pipeline_run(self) -> None:
        """Let the next run begin."""
        self._release()

    @hook_impl(trylast=True)
    def on_pipeline_error(self) -> None:
        """Let the next run begin."""
        self._release()

    def _take(self, project: Path, benchmark: str) -> None:
        path = project / "data" / f".{benchmark}.lock"
        lock = FileLock(path, blocking=False, thread_local=False)
        try:
            path.parent.mkdir(exist_ok=True)
            lock.acquire()
        except Timeout as error:
            holder = path.read_text().strip() or "unknown"
            raise InputError(
                f"another run of the benchmark {benchmark} is going on (process {holder}, which "
                f"locks {path}): wait for it or end it, then run again"
            ) from error
        except OSError as error:
            raise InputError(f"{path} cannot be locked ({error.strerror})") from error
        self._lock = lock
        path.write_text(str(os.getpid()))

    def _release(self) -> None:
        if self._lock is not None:
            self._lock.release()
            self._lock = None


class InputHook:
    """Refuses bad parameters, missing or damaged artifacts and clusters before any node runs."""

    @hook_impl(tryfirst=True)
    def after_context_created(self, context: KedroContext) -> None:
        """Check all parameters of the run at once."""
        from superstar.parameters import Parameters

        if "benchmark" in (context._runtime_params or {}):
            raise InputError(
                "benchmark names the folders of a run: set it in conf/<environment>/globals.yml"
            )
        Parameters.check(context.params)

    @hook_impl(tryfirst=True)
    def before_pipeline_run(
        self, run_params: dict[str, Any], pipeline: Pipeline, catalog: DataCatalog
    ) -> None:
        """Check every artifact that the run reads and does not make, places and backend."""
        from superstar.parameters import Execution
        from superstar.pipelines.backends import check_backend

        if {"corrupted_sets", "corrupted_description"} & pipeline.all_outputs():
            check_places(catalog, _again(run_params))
        if "params:execution" in pipeline.inputs():
            check_backend(Execution.model_validate(catalog.load("params:execution")))
        for name in sorted(pipeline.inputs()):
            dataset = None if is_parameter(name) else catalog.get(name)
            if isinstance(dataset, RawDataset):
                with _readable():
                    dataset.check()
            if isinstance(dataset, Whole) and (problem := dataset.problem(thorough=True)):
                environment = f" --env {run_params['env']}" if run_params.get("env") else ""
                raise InputError(
                    f"{name} ({dataset.location}) {problem}; "
                    f"make it with `kedro run --pipelines {_maker(name)}{environment}`"
                )


class ProvenanceHook:
    """Stamps every artifact with what it was made from, and tells which can be kept.

    With `--only-missing-outputs` the artifacts that this run's parameters would not give lose
    their stamps first, so that Kedro, which asks each dataset whether it exists, runs just the
    nodes whose outputs are missing. A node that was interrupted goes on from its checkpoint then,
    if that is from the same; any other run starts it afresh.
    """

    def __init__(self) -> None:
        self._catalog: DataCatalog
        self._made: dict[str, str] = {}
        self._resuming = False
        self._unsaved: set[str] = set()
        self._checkpoints: dict[str, Checkpoint] = {}

    @hook_impl
    def before_pipeline_run(
        self, run_params: dict[str, Any], pipeline: Pipeline, catalog: DataCatalog
    ) -> None:
        """Find what is out of date: to make again, or to warn of where it is only read."""
        self._catalog = catalog
        nodes = (pipelines["__default__"] + pipeline).nodes
        parameters = {n: catalog.load(n) for node in nodes for n in node.inputs if is_parameter(n)}
        names = {name for node in nodes for name in node.outputs}
        self._resuming = not _again(run_params)
        read = {name for node in nodes for name in node.inputs}
        stale = outdated(
            nodes,
            parameters,
            self._stamps(names, thorough=self._resuming),
            self._identities(read),
        )
        if self._resuming:
            for _, dataset in self._artifacts(stale & pipeline.all_outputs()):
                dataset.invalidate()
        for name in sorted(stale & pipeline.inputs()):
            logger.warning("%s was made with other parameters than this run's configuration", name)

    @hook_impl
    def before_node_run(self, node: Node, inputs: dict[str, Any]) -> dict[str, Any]:
        """Take the fingerprint while the inputs are what the node reads; checkpoints learn it."""
        contents = {name: stamp.content for name, stamp in self._stamps(node.inputs).items()}
        contents |= self._identities(node.inputs)
        made_from = self._made[node.name] = node_fingerprint(node, inputs, contents)
        self._unsaved = set(node.outputs)
        self._checkpoints = {
            name: replace(value, made_from=made_from)
            for name, value in inputs.items()
            if isinstance(value, Checkpoint)
        }
        if not self._resuming:
            self._remove_checkpoints()
        return dict(self._checkpoints)

    @hook_impl
    def before_dataset_saved(self, dataset_name: str, node: Node) -> None:
        """Tell the artifact what it is made from, so that an interrupted save can go on."""
        for _, dataset in self._artifacts([dataset_name]):
            if isinstance(dataset, PiecesDataset):
                dataset.begin(self._made[node.name])

    @hook_impl
    def after_dataset_saved(self, dataset_name: str, node: Node) -> None:
        """Stamp the artifact: from here on it counts as finished."""
        for _, dataset in self._artifacts([dataset_name]):
            dataset.stamp(self._made[node.name])
        self._unsaved.discard(dataset_name)
        if not self._unsaved:
            self._remove_checkpoints()

    def _remove_checkpoints(self) -> None:
        for checkpoint in self._checkpoints.values():
            checkpoint.remove()

    def _artifacts(self, names: Iterable[str]) -> Iterator[tuple[str, Whole]]:
        for name in sorted(names):
            dataset = None if is_parameter(name) else self._catalog.get(name)
            if isinstance(dataset, Whole):
                yield name, dataset

    def _identities(self, names: Iterable[str]) -> dict[str, str]:
        """What those raw inputs hold that can tell."""
        datasets = {n: self._catalog.get(n) for n in sorted(names) if not is_parameter(n)}
        kinds = (ClassFoldersDataset, RawDataset)
        with _readable():
            return {n: d.identity() for n, d in datasets.items() if isinstance(d, kinds)}

    def _stamps(self, names: Iterable[str], thorough: bool = False) -> dict[str, Stamp]:
        return {
            name: stamp
            for name, dataset in self._artifacts(names)
            if dataset.problem(thorough) is None and (stamp := dataset.read_stamp()) is not None
        }


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
        logger.info("%s: %s ...", _stage(node), node.name)
        self._unsaved = set(node.outputs)

    @hook_impl(trylast=True)
    def after_dataset_saved(self, dataset_name: str, node: Node) -> None:
        """Once all outputs are saved, the node is done."""
        self._unsaved.discard(dataset_name)
        if self._unsaved:
            return
        now = time.perf_counter()
        seconds, peak, stage = now - self._last_end, self._memory.peak_gb(), _stage(node)
        self._seconds[stage] = self._seconds.get(stage, 0.0) + seconds
        self._peaks[stage] = max(self._peaks.get(stage, 0.0), peak)
        self._last_end = now
        self._memory.reset()
        times = self._catalog.get("stage_times")
        if isinstance(times, StageTimesDataset) and node in pipelines["__default__"].nodes:
            times.note(stage, node.name, seconds, peak)
        logger.info("%s: %s done in %.1f s, peak memory %.2f GB", stage, node.name, seconds, peak)

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
        if mlflow.active_run() is not None:
            mlflow.log_metrics(
                {f"stage_seconds.{stage}": s for stage, s in self._seconds.items()}
                | {f"peak_memory_gb.{stage}": gb for stage, gb in self._peaks.items()}
                | {"seconds": total, "peak_memory_gb": peak}
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


@contextmanager
def _readable() -> Iterator[None]:
    """What the operating system refuses of an input is the user's to mend."""
    try:
        yield
    except OSError as error:
        raise unreadable(error) from error


def _stage(node: Node) -> str:
    return min(node.tags, default=node.name)


def _again(run_params: dict[str, Any]) -> bool:
    """Whether the run makes what is there already, too."""
    return not run_params.get("only_missing_outputs")


def _maker(artifact: str) -> str:
    for name, pipeline in pipelines.items():
        if name != "__default__" and artifact in pipeline.all_outputs():
            return name
    return "__default__"
