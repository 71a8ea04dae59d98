"""Networks that are trained already, in place of our own: tried before a run, then used in it."""

from kedro.io import DataCatalog
from kedro.pipeline import Pipeline

from superstar.actions import Denoiser, packaged_denoiser, read_denoiser
from superstar.classifiers import Classifier, load_named, load_published
from superstar.decoding import user_path
from superstar.parameters import ClassifierTraining, DenoiserTraining, Published

CLASSIFIERS = {"classifier_standard", "robust_classifiers"}


def check_pretrained(pipeline: Pipeline, catalog: DataCatalog) -> None:
    """Load every network that the pipeline will take as it is, and drop it again.

    Raises:
        InputError: a file that does not hold the network it should; a callable that returns no
            network, or one that cannot classify images of the run's size.
    """
    made = pipeline.all_outputs()
    if CLASSIFIERS & made:
        classifiers = ClassifierTraining.model_validate(catalog.load("params:classifier_training"))
        for given in classifiers.published.values():
            pretrained_classifier(given, catalog.load("params:data_preparation")["size"])
    if "denoiser_network" in made:
        pretrained_denoiser(
            DenoiserTraining.model_validate(catalog.load("params:denoiser_training"))
        )


def pretrained_classifier(
    given: Published | str, size: int, classes: int | None = None
) -> Classifier:
    """The classifier of a checkpoint or a name, for square images with sides of `size` pixels.

    Code that tells labels alone needs the number of classes.
    """
    if isinstance(given, str):
        return load_named(given, size, classes)
    return load_published(user_path(given.path), given.layout)


def pretrained_denoiser(given: DenoiserTraining) -> Denoiser | None:
    """The package's denoiser or that of a file; None where ours is trained."""
    if given.source == "packaged":
        return packaged_denoiser()
    return None if given.file is None else read_denoiser(user_path(given.file), given.enlarge)
