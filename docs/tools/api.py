"""Pages of the public API, filled from docstrings by mkdocstrings."""

from importlib import import_module

PAGES = {
    "corruptions": ["superstar.corruptions"],
    "actions": ["superstar.actions"],
    "measures": ["superstar.measures", "superstar.measures.rulers.BandRuler"],
    "control": [
        "superstar.control",
        "superstar.control.algorithm.run_algorithm",
        "superstar.control.algorithm.Brakes",
        "superstar.control.algorithm.Step",
        "superstar.control.calibrated.Calibrated",
        "superstar.control.calibrated.Choice",
        "superstar.control.calibrated.Limits",
        "superstar.control.gate.Gate",
        "superstar.control.gate.calibrate_gate",
    ],
    "classifiers": ["superstar.classifiers"],
    "peers": ["superstar.peers"],
    "images": [
        "superstar.images.check_images",
        "superstar.images.from_uint8",
        "superstar.images.to_uint8",
        "superstar.images.ImageSet",
        "superstar.decoding.read_images",
        "superstar.datasets.ExternalArraysDataset",
        "superstar.datasets.ExternalFoldersDataset",
        "superstar.datasets.ImageFiles",
        "superstar.errors.InputError",
    ],
}
"""Packages, of which all public names are shown, and single objects, by page."""


def pages() -> dict[str, str]:
    """The pages by name."""
    return {name: _page(name, objects) for name, objects in PAGES.items()}


def _page(name: str, objects: list[str]) -> str:
    parts = [f"# {name.capitalize()}"]
    for each in objects:
        package = import_module(each) if each.count(".") == 1 else None
        if package is None:
            parts.append(f"::: {each}")
        else:
            parts.append(str(package.__doc__))
            parts += [f"::: {each}.{public}" for public in package.__all__]
    return "\n\n".join(parts) + "\n"
