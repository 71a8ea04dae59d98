"""Learned models, and points: safetensors, skops and the supervisor's folder."""

import json
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar

from kedro_datasets._typing import TablePreview
from torch import Tensor, nn

from superstar.datasets import previews
from superstar.datasets.external import ExternalDataset
from superstar.datasets.whole import FileDataset, require_file
from superstar.digests import Digests
from superstar.errors import InputError


class LearnedDataset(FileDataset):
    """Base of what a module of ours writes with `save_<kind>` and reads with `load_<kind>`.

    Not imported before it is needed: a catalog is made faster than PyTorch.
    """

    module: ClassVar[str]
    kind: ClassVar[str]

    def _write(self, data: Any) -> None:
        getattr(import_module(self.module), f"save_{self.kind}")(data, self._filepath)

    def load(self) -> Any:
        """What was saved, ready for use."""
        return getattr(import_module(self.module), f"load_{self.kind}")(self._filepath)


class ClassifierDataset(LearnedDataset):
    """A classifier: safetensors with its architecture in the header."""

    module, kind = "superstar.classifiers", "classifier"


class ClassifiersDataset(FileDataset):
    """A folder of classifiers by name, each a file as of `ClassifierDataset`."""

    def _write(self, data: dict[str, Any]) -> None:
        from superstar.classifiers import save_classifier

        self._filepath.mkdir(parents=True)
        for name, classifier in data.items():
            save_classifier(classifier, self._filepath / f"{name}.safetensors")

    def load(self) -> dict[str, nn.Module]:
        """The networks by name, in the order of the paper's tables; others follow.

        Raises:
            InputError: no such folder, or a file in it that is not a classifier.
        """
        from superstar.classifiers import CLASSIFIERS, load_classifier

        if not self._filepath.is_dir():
            raise InputError(f"folder {self._filepath} does not exist")
        files = {file.stem: file for file in sorted(self._filepath.glob("[!.]*.safetensors"))}
        known = [name for name in CLASSIFIERS if name in files]
        ordered = [*known, *(name for name in files if name not in known)]
        return {name: load_classifier(files[name]) for name in ordered}


class DenoiserDataset(LearnedDataset):
    """A denoiser: safetensors with its shape in the header.

    Args:
        filepath: of the file.
        half: whether weights are kept in half precision.
        metadata: for Kedro's plugins.
    """

    module, kind = "superstar.actions", "denoiser"

    def __init__(
        self, *, filepath: str, half: bool = False, metadata: dict[str, Any] | None = None
    ):
        self._half = half
        super().__init__(filepath=filepath, metadata=metadata)

    def _write(self, data: Any) -> None:
        from superstar.actions import save_denoiser

        save_denoiser(data, self._filepath, half=self._half)


class ActorDataset(FileDataset):
    """The policy network: safetensors with the names of its actions in the header.

    Saved and loaded as a pair (actor, names).
    """

    def _write(self, data: tuple[Any, tuple[str, ...]]) -> None:
        from superstar.control.networks import save_actor

        save_actor(data[0], self._filepath, data[1])

    def load(self) -> tuple[nn.Module, tuple[str, ...]]:
        """The network and the names of its actions, in the order of its outputs."""
        from superstar.control.networks import load_actor

        return load_actor(self._filepath)


class ActorsDataset(FileDataset):
    """A folder of policy networks by name, each a file as of `ActorDataset`."""

    def _write(self, data: dict[str, tuple[Any, tuple[str, ...]]]) -> None:
        from superstar.control.networks import save_actor

        self._filepath.mkdir(parents=True)
        for name, (actor, actions) in data.items():
            save_actor(actor, self._filepath / f"{name}.safetensors", actions)

    def load(self) -> dict[str, tuple[nn.Module, tuple[str, ...]]]:
        """The networks and the names of their actions, by name, numbers at its end in order.

        Raises:
            InputError: no such folder, or a file in it that is not an actor.
        """
        from superstar.control.networks import load_actor

        if not self._filepath.is_dir():
            raise InputError(f"folder {self._filepath} does not exist")
        files = sorted(self._filepath.glob("[!.]*.safetensors"), key=_by_number)
        return {file.stem: load_actor(file) for file in files}


class TransferredPoliciesDataset(ExternalDataset):
    """The policy networks of other benchmarks and published ones, by name (read only).

    Args:
        folder: it holds a folder a benchmark, with the `actor.safetensors` that its run left.
        benchmarks: those to read; None for none.
        published: files of further policies, by the names to give them; None for none.
        metadata: for Kedro's plugins.

    Raises:
        InputError: `benchmarks` is not a list of names; `published` is not files by name, or
            has the name of a benchmark.
    """

    def __init__(
        self,
        *,
        folder: str,
        benchmarks: list[str] | None,
        published: dict[str, str] | None,
        metadata: dict[str, Any] | None = None,
    ):
        benchmarks = [] if benchmarks is None else benchmarks
        published = {} if published is None else published
        if not isinstance(benchmarks, list) or not all(
            isinstance(name, str) and name for name in benchmarks
        ):
            raise InputError(
                f"globals.policies_from must list names of benchmarks, such as [photos], not "
                f"{benchmarks!r}"
            )
        if not isinstance(published, dict) or not all(
            isinstance(name, str) and isinstance(file, str) for name, file in published.items()
        ):
            raise InputError(
                "globals.published_policies must give files by name, such as "
                f"{{released: data/01_raw/actor_network.pth.tar}}, not {published!r}"
            )
        if twice := set(benchmarks) & set(published):
            raise InputError(
                f"globals.policies_from and published_policies both name {min(twice)!r}: "
                "rename the published policy"
            )
        self._folder, self._benchmarks = Path(folder), list(benchmarks)
        self._published = {name: Path(file) for name, file in published.items()}
        self.metadata = metadata
        super().__init__()

    def load(self) -> dict[str, tuple[nn.Module, tuple[str, ...]]]:
        """The networks and the names of their actions.

        Raises:
            InputError: a benchmark without a policy, or a file that is not one.
        """
        from superstar.control.networks import load_actor

        return {name: load_actor(path) for name, path in self._paths().items()}

    def check(self) -> None:
        """Refuse, before any work, benchmarks without a policy and files that hold none.

        Raises:
            InputError: as `load`.
        """
        from superstar.control.networks import load_actor

        for name, path in self._paths().items():
            if not path.is_file():
                where, advice = "policies_from", "run that benchmark first"
                if name in self._published:
                    where, advice = "published_policies", "put it there"
                raise InputError(
                    f"globals.{where} names {name!r}, but there is no policy {path}: {advice}, "
                    "or take the name out of conf/<environment>/globals.yml"
                )
            load_actor(path)

    def identity(self, digests: Digests) -> str:
        """Names and digests of the networks' files; of those that are missing, that they are."""
        return " ".join(
            f"{name} {digests.of_file(path) if path.is_file() else 'missing'}"
            for name, path in self._paths().items()
        )

    def _paths(self) -> dict[str, Path]:
        own = {name: self._folder / name / "actor.safetensors" for name in self._benchmarks}
        return own | self._published

    def _describe(self) -> dict[str, Any]:
        return {
            "folder": str(self._folder),
            "benchmarks": self._benchmarks,
            "published": {name: str(path) for name, path in self._published.items()},
        }


def _by_number(file: Path) -> tuple[str, int]:
    """Sorts `name-2` before `name-10`."""
    name, _, number = file.stem.rpartition("-")
    return (name, int(number)) if number.isdigit() else (file.stem, 0)


class CriticDataset(LearnedDataset):
    """The value network of training: safetensors."""

    module, kind = "superstar.control.networks", "critic"


class TreeDataset(LearnedDataset):
    """An operability tree in skops' format, which holds data only."""

    module, kind = "superstar.control.operability", "tree"


class PointsDataset(FileDataset):
    """Projected images: one float32 tensor (n, m), `points`, in safetensors."""

    def _write(self, data: Tensor) -> None:
        from superstar.weights import save_tensors

        save_tensors({"points": data}, self._filepath)

    def load(self) -> Tensor:
        """The points.

        Raises:
            InputError: the file is missing, truncated, or holds no points.
        """
        from safetensors import SafetensorError
        from safetensors.torch import load_file

        require_file(self._filepath, "points")
        try:
            return load_file(self._filepath)["points"]
        except (SafetensorError, KeyError) as error:
            raise InputError(f"{self._filepath} holds no whole points ({error})") from error


class CalibratedDataset(FileDataset):
    """The controller `calibrated`, a folder."""

    def _write(self, data: Any) -> None:
        from superstar.control.calibrated_files import save_calibrated

        folder = Path(self._filepath)
        folder.mkdir(parents=True)
        save_calibrated(data, folder)

    def load(self) -> Any:
        """The controller."""
        from superstar.control.calibrated_files import load_calibrated

        return load_calibrated(Path(self._filepath))


class BorrowedWorthDataset(ExternalDataset):
    """What corrections are worth by another benchmark's labels (read only).

    Args:
        folder: of models; that benchmark's controller lies in `<benchmark>/calibrated`.
        benchmark: its name; None for none.
        own: name of the benchmark that borrows.
        metadata: for Kedro's plugins.

    Raises:
        InputError: `benchmark` is not a name, or that of the one that borrows.
    """

    def __init__(
        self,
        *,
        folder: str,
        benchmark: str | None,
        own: str,
        metadata: dict[str, Any] | None = None,
    ):
        if benchmark is not None and (not isinstance(benchmark, str) or benchmark in ("", own)):
            raise InputError(
                f"globals.worth_from must name another benchmark than {own!r}, or be null, not "
                f"{benchmark!r}"
            )
        self._folder = None if benchmark is None else Path(folder) / benchmark / "calibrated"
        self.metadata = metadata
        super().__init__()

    def check(self) -> None:
        """Refuse a benchmark that was not calibrated here.

        Raises:
            InputError: its controller is missing or damaged.
        """
        self.load()

    def identity(self, digests: Digests) -> str:
        """Digest of the controller's files."""
        if self._folder is None:
            return "none"
        names = [file.name for file in sorted(self._folder.glob("*"))]
        return digests.of_files(self._folder, names)

    def load(self) -> Any:
        """`Worth` by candidate; nothing where no benchmark is named.

        Raises:
            InputError: as `check`.
        """
        from superstar.control.calibrated_files import load_calibrated

        if self._folder is None:
            return {}
        if not self._folder.is_dir():
            name = self._folder.parent.name
            raise InputError(
                f"globals.worth_from names {name!r}, which was not calibrated here: {self._folder} "
                "is missing, so run that benchmark's pipeline calibration first"
            )
        return dict(load_calibrated(self._folder).worth)

    def _describe(self) -> dict[str, Any]:
        return {"folder": None if self._folder is None else str(self._folder)}


class SupervisorDataset(FileDataset):
    """The supervisor's folder, which `superstar.control.Supervisor.load` takes anywhere.

    In MLflow it is a model that can be served, not an artifact.
    """

    def _write(self, data: Any) -> None:
        folder = Path(self._filepath)
        folder.mkdir(parents=True)
        data.write_files(folder)

    def load(self) -> Any:
        """The supervisor."""
        from superstar.control import Supervisor

        return Supervisor.load(self._filepath)

    def track(self) -> None:
        """Log it as a model of the MLflow run in progress."""
        import mlflow

        if mlflow.active_run() is not None:
            from superstar.service import log_supervisor

            log_supervisor(self.location)

    @previews.if_made
    def preview(self) -> TablePreview:
        """Its settings."""
        text = (self._filepath / "supervisor.json").read_text(encoding="utf-8")
        return previews.settings(json.loads(text))
