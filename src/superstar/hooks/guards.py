"""What a run may start from, and stamps on what it leaves."""

import logging
import os
import zlib
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from filelock import FileLock, Timeout
from kedro.framework.context import KedroContext
from kedro.framework.hooks import hook_impl
from kedro.framework.project import pipelines
from kedro.io import DataCatalog
from kedro.pipeline import Pipeline
from kedro.pipeline.node import Node

from superstar.checkpoint import Checkpoint, keep_in
from superstar.datasets.external import ExternalDataset
from superstar.datasets.whole import ResumedDataset, Whole
from superstar.digests import Digests
from superstar.errors import InputError, readable, unreadable
from superstar.hooks.stages import stage_of
from superstar.pipelines.corrupt import places as corrupt_places
from superstar.pipelines.recover import places as recover_places
from superstar.provenance import Stamp, is_parameter, node_fingerprint, outdated

if TYPE_CHECKING:
    from superstar.custom import Fit

logger = logging.getLogger(__name__)

ELSEWHERE = frozenset({"corrupt", "recover"})
"""Stages that write into folders that the user names, and nothing of a benchmark's."""

NAMED_FOLDERS = ("corrupted_sets", "recovered_images")
"""What they write there."""

OWN = ("source", "classifier", "class_list")
"""Parameters that name images and a classifier of the user's own."""

OUT_OF_ORDER = ("ThreadRunner", "ParallelRunner")
"""Runners under which MLflow would not know which run a node belongs to."""


class LockHook:
    """Keeps a benchmark's files, and a folder that the user names, to one run at a time.

    The lock is the operating system's, so that it ends with the process, however that ends.
    """

    def __init__(self) -> None:
        self._locks: list[FileLock] = []

    @hook_impl(wrapper=True, tryfirst=True)
    def before_pipeline_run(
        self, run_params: dict[str, Any], pipeline: Pipeline, catalog: DataCatalog
    ) -> Generator[None, Any, Any]:
        """Take the lock before anything is looked at, and keep it unless the run is refused."""
        self._release()  # No hook hears of it when Ctrl-C ends a run in this process.
        data = Path(run_params["project_path"]) / "data"
        try:
            if any(stage_of(node) not in ELSEWHERE for node in pipeline.nodes):
                benchmark = catalog.load("params:benchmark")
                self._take(data / f".{benchmark}.lock", f"of the benchmark {benchmark}")
            for name in sorted(pipeline.all_outputs() & set(NAMED_FOLDERS)):
                dataset = catalog.get(name)
                assert isinstance(dataset, Whole)
                folder = os.fsencode(dataset.location)
                path = data / f".folder-{zlib.crc32(folder):08x}.lock"
                self._take(path, f"that writes {readable(str(dataset.location))}")
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

    def _take(self, path: Path, run: str) -> None:
        lock = FileLock(path, blocking=False, thread_local=False)
        try:
            path.parent.mkdir(exist_ok=True)
            lock.acquire()
        except Timeout as error:
            holder = path.read_text().strip() or "unknown"
            raise InputError(
                f"another run {run} is going on (process {holder}, which locks {path}): wait for "
                "it or end it, then run again"
            ) from error
        except OSError as error:
            raise InputError(f"{path} cannot be locked ({error.strerror})") from error
        self._locks.append(lock)
        path.write_text(str(os.getpid()))

    def _release(self) -> None:
        while self._locks:
            self._locks.pop().release()


class InputHook:
    """Refuses bad parameters, missing or damaged artifacts and clusters before any node runs."""

    def __init__(self) -> None:
        self._fit: Fit | None = None

    @hook_impl(tryfirst=True)
    def after_context_created(self, context: KedroContext) -> None:
        """Check all parameters of the run at once."""
        from superstar.parameters import Parameters

        given: dict[str, Any] = context._runtime_params or {}
        loader: Any = context.config_loader
        if "benchmark" in given:
            raise InputError(
                "benchmark names the folders of a run: set it in conf/<environment>/globals.yml"
            )
        if own := [name for name in OWN if name in given and not loader.fits]:
            raise InputError(f"{own[0]} is a parameter of environment custom: add --env custom")
        if loader.fits and context.params["source"] is None:
            raise InputError(
                "source is not given: add --params "
                "source=FOLDER,classifier=my_module:my_function, where FOLDER holds <class>/<file>"
            )
        Parameters.check(context.params)
        self._fit = loader.fit

    @hook_impl(tryfirst=True)
    def before_pipeline_run(
        self, run_params: dict[str, Any], pipeline: Pipeline, catalog: DataCatalog
    ) -> None:
        """Check every artifact that the run reads and does not make, places, backend, runner."""
        from superstar.parallel import check_backend
        from superstar.parameters import Execution
        from superstar.pipelines.pretrained import check_pretrained

        if any(runner in str(run_params["runner"]) for runner in OUT_OF_ORDER):
            raise InputError(
                "nodes run one after another, with SequentialRunner: leave out the runner, and "
                "give --params execution.workers=N to use N processes"
            )
        if {"corrupted_sets", "corrupted_description"} & pipeline.all_outputs():
            corrupt_places.check_places(catalog, _again(run_params))
        if "recovered_images" in pipeline.all_outputs():
            recover_places.check_places(catalog, _again(run_params))
        if "params:execution" in pipeline.inputs():
            check_backend(Execution.model_validate(catalog.load("params:execution")))
        for name in sorted(pipeline.all_outputs()):
            if isinstance(catalog.get(name), ExternalDataset):
                raise InputError(
                    f"{name} comes from others in this environment, where no run can make it: "
                    f"name the pipelines to run, without {_maker(name)}"
                )
        self._check_fit(pipeline)
        check_pretrained(pipeline, catalog)
        digests = _digests(run_params)
        for name in sorted(pipeline.inputs()):
            dataset = None if is_parameter(name) else catalog.get(name)
            if isinstance(dataset, ExternalDataset):
                with _readable():
                    dataset.check()
            if isinstance(dataset, Whole) and (problem := dataset.problem(digests)):
                environment = f" --env {run_params['env']}" if run_params.get("env") else ""
                raise InputError(
                    f"{name} ({dataset.location}) {problem}; "
                    f"make it with `kedro run --pipelines {_maker(name)}{environment}`"
                )

    def _check_fit(self, pipeline: Pipeline) -> None:
        """Tell what was fitted to a user's own images, and try the classifier on some of them."""
        if self._fit is None:
            return
        for line in self._fit.table():
            logger.info("%s", line)
        if "classifier_standard" in pipeline.all_outputs():
            level, line = self._fit.check_classifier()
            logger.log(level, "%s", line)


class ProvenanceHook:
    """Stamps every artifact with what it was made from, and tells which can be kept.

    The artifacts that a run will make lose their stamps first: with `--only-missing-outputs` those
    alone that this run's parameters would not give, so that Kedro, which asks each dataset whether
    it exists, runs just the nodes whose outputs are missing. A node that was interrupted goes on
    from its checkpoint and from the pieces that it saved then, if they are from the same; any
    other run starts it afresh.
    """

    def __init__(self) -> None:
        self._catalog: DataCatalog
        self._digests = Digests()
        self._made: dict[str, str] = {}
        self._resuming = False
        self._outdated: list[str] = []
        self._unsaved: set[str] = set()
        self._checkpoint: Checkpoint | None = None

    @hook_impl(tryfirst=True)
    def before_pipeline_run(
        self, run_params: dict[str, Any], pipeline: Pipeline, catalog: DataCatalog
    ) -> None:
        """Find what is out of date: to make again, or to warn of where it is only read."""
        self._catalog, self._digests = catalog, _digests(run_params)
        # What this run needs, alone: looking at all of a large benchmark's files takes minutes.
        needed = [node.name for node in pipeline.nodes]
        nodes = (pipelines["__default__"] + pipeline).to_nodes(*needed).nodes
        parameters = {n: catalog.load(n) for node in nodes for n in node.inputs if is_parameter(n)}
        names = {name for node in nodes for name in node.outputs}
        self._resuming = not _again(run_params)
        read = {name for node in nodes for name in node.inputs}
        stale = outdated(
            nodes,
            parameters,
            self._stamps(names, self._digests if self._resuming else None),
            self._identities(read),
            self._digests,
        )
        made = pipeline.all_outputs()
        # A fresh run that is interrupted leaves nothing that a resumed one would take for its own.
        for _, dataset in self._artifacts(stale & made if self._resuming else made):
            dataset.invalidate()
        self._outdated = sorted(stale & pipeline.inputs())
        if self._outdated:
            logger.warning(
                "made with other parameters than this run's configuration: %s",
                ", ".join(self._outdated),
            )

    @hook_impl(tryfirst=True)
    def after_pipeline_run(self) -> None:
        """Tell MLflow, before the run closes, which inputs its parameters do not explain."""
        import mlflow

        if self._outdated and mlflow.active_run() is not None:
            mlflow.set_tag("made_with_other_parameters", ", ".join(self._outdated))

    @hook_impl
    def before_node_run(self, node: Node, inputs: dict[str, Any]) -> None:
        """Take the fingerprint while the inputs are what the node reads; its checkpoint learns it.

        The checkpoint lies beside the node's first artifact.
        """
        contents = {name: stamp.content for name, stamp in self._stamps(node.inputs).items()}
        contents |= self._identities(node.inputs)
        made_from = self._made[node.name] = node_fingerprint(node, inputs, contents, self._digests)
        self._unsaved = set(node.outputs)
        self._checkpoint = None
        for _, dataset in self._artifacts(node.outputs[:1]):
            folder = dataset.location.with_name(f"{node.short_name}.unfinished")
            self._checkpoint = Checkpoint(folder, made_from)
        if not self._resuming:
            self._forget()
        keep_in(self._checkpoint)

    @hook_impl
    def before_dataset_saved(self, dataset_name: str, node: Node) -> None:
        """Tell the artifact what it is made from, so that an interrupted save can go on."""
        for _, dataset in self._artifacts([dataset_name]):
            if isinstance(dataset, ResumedDataset):
                dataset.begin(self._made[node.name], afresh=not self._resuming)

    @hook_impl
    def after_dataset_saved(self, dataset_name: str, node: Node) -> None:
        """Track and stamp the artifact: from here on it counts as finished."""
        for _, dataset in self._artifacts([dataset_name]):
            dataset.track()
            dataset.stamp(self._made[node.name], self._digests)
        self._unsaved.discard(dataset_name)
        if not self._unsaved:
            self._forget()
            keep_in(None)

    @hook_impl
    def on_pipeline_error(self) -> None:
        """Leave the checkpoint to a run that resumes: what comes next in this thread has none."""
        keep_in(None)

    def _forget(self) -> None:
        if self._checkpoint is not None:
            self._checkpoint.remove()

    def _artifacts(self, names: Iterable[str]) -> Iterator[tuple[str, Whole]]:
        for name in sorted(names):
            dataset = None if is_parameter(name) else self._catalog.get(name)
            if isinstance(dataset, Whole):
                yield name, dataset

    def _identities(self, names: Iterable[str]) -> dict[str, str]:
        """The contents of external data, by name."""
        datasets = {n: self._catalog.get(n) for n in sorted(names) if not is_parameter(n)}
        with _readable():
            return {
                name: dataset.identity(self._digests)
                for name, dataset in datasets.items()
                if isinstance(dataset, ExternalDataset)
            }

    def _stamps(self, names: Iterable[str], digests: Digests | None = None) -> dict[str, Stamp]:
        return {
            name: stamp
            for name, dataset in self._artifacts(names)
            if dataset.problem(digests) is None and (stamp := dataset.read_stamp()) is not None
        }


@contextmanager
def _readable() -> Iterator[None]:
    """What the operating system refuses of an input is the user's to mend."""
    try:
        yield
    except OSError as error:
        raise unreadable(error) from error


def _digests(run_params: dict[str, Any]) -> Digests:
    return Digests(Path(run_params["project_path"]) / "data" / ".digests")


def _again(run_params: dict[str, Any]) -> bool:
    """Whether the run makes what is there already, too."""
    return not run_params.get("only_missing_outputs")


def _maker(artifact: str) -> str:
    for name, pipeline in pipelines.items():
        if name != "__default__" and artifact in pipeline.all_outputs():
            return name
    return "__default__"
