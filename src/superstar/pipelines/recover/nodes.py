"""A folder of images corrected, group by group, as it is written."""

import json
import logging
import shutil
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
from joblib import cpu_count
from numpy.typing import NDArray

from superstar import __version__
from superstar.actions import Plan, packaged_denoiser
from superstar.actions.denoiser import restore
from superstar.actions.plan import Correction
from superstar.actions.unet import UNet, noise_found
from superstar.control import Supervisor
from superstar.control.candidates import DENOISER
from superstar.control.controllers import CALIBRATED, PAPER
from superstar.datasets import FileGroup, FolderFiles, Recovered
from superstar.decoding import Encoded, read_image
from superstar.errors import InputError
from superstar.images import from_uint8, stream, to_uint8
from superstar.parameters import Execution, Recover
from superstar.pipelines.recover.files import encode, metadata, output_names, taken_at
from superstar.pipelines.recover.report import UNREAD, approximations, picture, reports

MOST_DENOISED = 2**26
"""Pixels of an image at its own size: a million take the denoiser an eighth of a GB."""

logger = logging.getLogger(__name__)


def recover_files(
    images: FolderFiles,
    supervisor: Supervisor,
    parameters: dict[str, Any],
    execution: dict[str, Any],
    seed: int,
) -> Recovered:
    """Every group of files with how to decide on it and write it, and the reports.

    Raises:
        InputError: two files that would be written to one name.
    """
    given = Recover.model_validate(parameters)
    outputs = output_names(images.names)
    work = Work(
        images.folder,
        supervisor.on(Execution.model_validate(execution).device),
        given,
        given.controller or (PAPER if supervisor.calibrated is None else CALIBRATED),
        seed,
    )
    groups = []
    for name, files in group_files(images, given).items():
        copies = {file: outputs[file] for file in files}
        groups.append(FileGroup(name, copies, partial(work.decide, name, copies), work.write))
    logger.info("images: %d, groups: %d", len(images.names), len(groups))
    about = {
        "superstar": __version__,
        "input": str(images.folder),
        "benchmark": supervisor.benchmark,
        "image_size": list(supervisor.image_size),
        "controller": work.controller,
        "smallest_p_value": supervisor.calibrated and supervisor.calibrated.gate.smallest_rate,
        "group": given.group,
        "size": given.size,
        "seed": seed,
    }
    return Recovered(
        groups,
        lambda decisions, refused: reports(about, decisions, {**images.left_out, **refused}),
    )


def group_files(images: FolderFiles, given: Recover) -> dict[str, Sequence[str]]:
    """The files that are corrected by one plan, by the group's name."""
    if given.group == "all":
        return {"all": images.names}
    if given.group == "folder":
        by_folder = sorted(images.names, key=_folder)
        return {folder: list(files) for folder, files in groupby(by_folder, _folder)}
    names: Sequence[str] = images.names
    if given.order == "time":
        names = sorted(
            names, key=lambda name: (taken_at(images.folder / name, images.changed[name]), name)
        )
    starts = range(0, len(names), given.window)
    windows = [names[start : start + given.window] for start in starts]
    return {f"window {number}": files for number, files in enumerate(windows, 1)}


def _folder(name: str) -> str:
    return str(PurePosixPath(name).parent)


@dataclass(frozen=True)
class Work:
    """How files are decided on and written.

    Attributes:
        folder: of the files.
        supervisor: that decides.
        given: the parameters.
        controller: of the supervisor.
        seed: of the images that decide, and of the controller.
    """

    folder: Path
    supervisor: Supervisor
    given: Recover
    controller: str
    seed: int

    @property
    def gated(self) -> UNet:
        """The supervisor's denoiser, or the package's: a gate knows noise from clean images."""
        own = self.supervisor.denoiser
        return own if isinstance(own, UNet) else packaged_denoiser()

    def see(self, name: str) -> NDArray[np.uint8]:
        """What a classifier would see of a file: its centre, at the supervisor's size."""
        side = self.supervisor.image_size[0]
        return read_image(self.folder / name, self.given.resize or side, side)

    def decide(self, group: str, outputs: dict[str, str]) -> dict[str, Any]:
        """What to do with a group of files, which are given with the names of their copies."""
        names = list(outputs)
        if len(names) > self.given.decide_on:
            drawn = stream(self.seed, "recover", group).permutation(len(names))
            names = [names[i] for i in np.sort(drawn[: self.given.decide_on])]
        with ThreadPoolExecutor(cpu_count()) as pool:
            images = list(pool.map(self._seen, names))
        seen = [(n, image) for n, image in zip(names, images, strict=True) if image is not None]
        told = {
            "group": group,
            "files": [{"file": name, "written": outputs[name]} for name in outputs],
            "decided_on": len(seen),
        }
        if not seen:
            return told | _nothing()
        batch = from_uint8(np.stack([image for _, image in seen]))
        recovery = self.supervisor.recover(batch, self.seed, self.controller)
        few = np.unique(np.linspace(0, len(seen) - 1, self.given.shown).astype(int)).tolist()
        after = to_uint8(recovery.images[few])
        plan, noise = recovery.plan, None
        if self.given.size == "original":
            noise = self._noise(group, [name for name, _ in seen])
            plan = self._with_noise(plan, noise)
            if plan != recovery.plan:
                after = np.stack([self._reduced(seen[i][0], plan) for i in few])
        return told | {
            "readings": list(recovery.distances),
            "p_value": recovery.p_value,
            "stopped_by": recovery.stopped_by,
            "plan": json.loads(plan.to_json()),
            "corrections": list(map(str, plan.corrections)),
            "approximations": approximations(plan) if self.given.size == "original" else {},
            "noise": noise,
            "hidden_noise": plan != recovery.plan,
            "shown": [
                {"file": seen[i][0], "before": picture(seen[i][1]), "after": picture(image)}
                for i, image in zip(few, after, strict=True)
            ],
        }

    def _noise(self, group: str, names: Sequence[str]) -> float:
        """Noise of a group's files at their own size, of 255, which shrinking would hide.

        It is the median over the centres of some.
        """
        few = stream(self.seed, "recover", group, "noise").permutation(len(names))
        found = []
        for i in few[: self.given.noise_images]:
            crop = from_uint8(_centre(read_image(self.folder / names[i]), self.given.noise_crop))
            found.append(noise_found(crop, restore(self.gated, crop)).item())
        return 255 * float(np.median(found))

    def _with_noise(self, plan: Plan, noise: float) -> Plan:
        """The plan, behind the denoiser if the noise at full size is more than home has."""
        if DENOISER in plan.names or noise <= 255 * self.gated.gate[0]:
            return plan
        return Plan((Correction(DENOISER), *plan.corrections), self.gated)

    def _reduced(self, name: str, plan: Plan) -> NDArray[np.uint8]:
        """What a classifier would see of a file that a plan corrected at its own size."""
        image = read_image(self.folder / name)
        if image.shape[0] * image.shape[1] > MOST_DENOISED:  # It will be left out.
            return self.see(name)
        corrected = to_uint8(plan.apply(from_uint8(image[None])))[0]
        side = self.supervisor.image_size[0]
        file = Encoded(name, encode(corrected, "it.png", 100, {}))
        return read_image(file, self.given.resize or side, side)

    def _seen(self, name: str) -> NDArray[np.uint8] | None:
        try:
            return self.see(name)
        except InputError:  # It is told when its copy is written.
            return None

    def write(self, name: str, output: str, decision: dict[str, Any], path: Path) -> None:
        """Write a file's copy, called `output`, to `path`.

        At its own size, a file that needs no correction is copied byte for byte.

        Raises:
            InputError: it cannot be read or written, or is too large for its plan.
        """
        own, source = self.given.size == "original", self.folder / name
        denoiser = self.gated if own else self.supervisor.denoiser
        plan = Plan.from_json(json.dumps(decision["plan"]), denoiser)
        image = read_image(source) if own else self.see(name)
        if own and not plan.corrections and output == name:
            shutil.copyfile(source, path)
            return
        if own and DENOISER in plan.names and image.shape[0] * image.shape[1] > MOST_DENOISED:
            raise InputError(
                f"{source} is {image.shape[0]}x{image.shape[1]} pixels, too many for the memory "
                "that the denoiser takes: make it smaller or leave out recover.size=original"
            )
        corrected = to_uint8(plan.apply(from_uint8(image[None])))[0]
        path.write_bytes(encode(corrected, output, self.given.quality, metadata(source)))


def _centre(image: NDArray[np.uint8], side: int) -> NDArray[np.uint8]:
    """The centre of an image (H, W, 3), as a batch (1, h, w, 3) of sides up to `side`."""
    top, left = (max(0, (length - side) // 2) for length in image.shape[:2])
    return image[None, top : top + side, left : left + side]


def _nothing() -> dict[str, Any]:
    return {
        "readings": [],
        "p_value": None,
        "stopped_by": UNREAD,
        "plan": [],
        "corrections": [],
        "approximations": {},
        "noise": None,
        "hidden_noise": False,
        "shown": [],
    }
