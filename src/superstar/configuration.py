"""Configuration of one project: its paths start at its folder, wherever a command is given."""

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from kedro.config import OmegaConfigLoader
from omegaconf import OmegaConf
from omegaconf.resolvers import oc

from superstar.parameters.denoising import SOURCES

if TYPE_CHECKING:
    from superstar.custom import Fit

PATHS: dict[str, tuple[str, ...]] = {
    "source": (),
    "class_list": (),
    "classifier_training.published.*.path": (),
    "denoiser_training.source": SOURCES,
    "corrupt.input": (),
    "corrupt.output": (),
    "recover.input": (),
    "recover.output": (),
}
"""Parameters that are paths, and words that are none there; `*` is any name."""


class ProjectConfigLoader(OmegaConfigLoader):
    """Kedro's loader, which knows the project that it reads for.

    OmegaConf keeps one table of resolvers for the process. They are entered anew before each use,
    so that sessions of several projects do not read with one another's.

    Attributes:
        project: the project's folder. Where the configuration lies in it, unless a session says
            otherwise.
        fit: what fits a user's own images and classifier, once they were looked at.
    """

    def __init__(self, conf_source: str | Path, *args: Any, **kwargs: Any):
        self.project = Path(conf_source).absolute().parent
        self.fit: Fit | None = None
        super().__init__(conf_source, *args, **kwargs)

    def __getitem__(self, key: str) -> dict[str, Any]:
        for name, resolver in (
            ("project_path", self._in_project),
            ("project_url", lambda relative: quote(self._in_project(relative))),
            ("from_project", self.from_project),
            # An empty path is allowed here; the run refuses it where it needs one.
            ("given_path", lambda path: self.from_project(path or "")),
            ("beside", lambda path, ending: f"{Path(path)}{ending}"),
            ("oc.env", oc.env),
            ("globals", self._get_globals_value),
            ("fitted", lambda name: None if self.fit is None else self.fit.values[name]),
        ):
            OmegaConf.register_new_resolver(name, resolver, replace=True)
        if key == "parameters" and self.fits and self.fit is None:
            from superstar.parameters import Parameters

            # Before values, of which a name that is mistyped may be one.
            Parameters.check_names(super().__getitem__(key))
            self.fit = self._fit()
        read = super().__getitem__(key)
        if key == "parameters":
            for path, words in PATHS.items():
                self._locate(read, path.split("."), words)
        return read

    def from_project(self, given: Any) -> Any:
        """A path that a user gives: `~` is the home, a relative one starts at the project.

        Links and `..` are followed. Lists and mappings have each of their paths read so. Anything
        else is returned as it is; whoever takes it says what is wrong with it.
        """
        if isinstance(given, Mapping):
            return {name: self.from_project(each) for name, each in given.items()}
        if isinstance(given, Sequence) and not isinstance(given, str):
            return [self.from_project(each) for each in given]
        if not isinstance(given, str):
            return given
        return str(Path(self.project, os.path.expanduser(given)).resolve())

    def defaults(self) -> dict[str, Any]:
        """The parameters as the files of the environment give them."""
        files = type(self)(
            self.conf_source,
            env=self.env,
            base_env=self.base_env,
            default_run_env=self.default_run_env,
            merge_strategy=self.merge_strategy,
        )
        files.project, files.fit = self.project, self.fit
        return files["parameters"]

    @property
    def fits(self) -> bool:
        """Whether the environment takes images and a classifier by name (`custom`)."""
        return "classifier" in self._globals

    def _fit(self) -> "Fit | None":
        given = dict(self.runtime_params or {})
        source = given.get("source", self._globals.get("clean_images"))
        if source is None:
            return None
        from superstar.custom import fit

        if str(self.project) not in sys.path:
            sys.path.append(str(self.project))  # For a module of the user's own.
        return fit(
            self.from_project(source),
            given.get("classifier", self._globals["classifier"]),
            self.from_project(given.get("class_list", self._globals.get("class_list"))),
            given.get("data_preparation", {}),
        )

    def _in_project(self, relative: str) -> str:
        return str(self.project / relative)

    def _locate(self, values: Any, path: list[str], words: tuple[str, ...]) -> None:
        """Make the paths at a place of the parameters start at the project."""
        if not isinstance(values, dict):
            return
        first, *rest = path
        for name in values if first == "*" else {first} & values.keys():
            if rest:
                self._locate(values[name], rest, words)
            elif values[name] not in words:
                values[name] = self.from_project(values[name])
