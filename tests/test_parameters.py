from copy import deepcopy
from pathlib import Path

import pytest
from kedro.config import OmegaConfigLoader
from pydantic import ValidationError

from superstar.corruptions import C_BAR_SHIFTS, COMPOSITES, STANDARD_SHIFTS
from superstar.errors import InputError
from superstar.parameters import BenchmarkGeneration, Parameters

CONF = Path(__file__).parents[1] / "conf"


def load(environment):
    loader = OmegaConfigLoader(
        str(CONF),
        env=environment,
        base_env="base",
        default_run_env="local",
        merge_strategy={"parameters": "soft"},
    )
    return loader["parameters"]


@pytest.fixture(scope="module")
def base():
    return load("local")


def set_value(values, path, value):
    changed = deepcopy(values)
    *parents, last = path.split(".")
    section = changed
    for parent in parents:
        section = section[parent]
    section[last] = value
    return changed


@pytest.mark.parametrize(
    "environment", ["local", "test", "full", "c_bar", "cifar100", "imagenet", "denoiser"]
)
def test_every_environment_is_valid(environment):
    assert Parameters.check(load(environment)).seed == 0


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("sed", 1, "unknown parameter 'sed'; did you mean 'seed'?"),
        ("beta", 0.9, "unknown parameter 'beta'; did you mean 'policy_training.beta'?"),
        (
            "policy_training.episode",
            5,
            "unknown parameter 'policy_training.episode'; did you mean 'policy_training.episodes'?",
        ),
        ("policy_training.reward.omega", 1, "unknown parameter 'policy_training.reward.omega'"),
        ("evaluation.severities", [1, 6], "parameter evaluation.severities.1 = 6"),
        ("evaluation.trials", 0, "parameter evaluation.trials = 0"),
        ("evaluation.trials", "three", "parameter evaluation.trials = 'three'"),
        ("benchmark_generation.shifts", ["gausian_noise"], "did you mean 'gaussian_noise'?"),
        ("benchmark_generation.shifts", [], "parameter benchmark_generation.shifts"),
        ("benchmark_generation.shifts", ["contrast"], "example_shift 'gaussian_noise'"),
        ("reporting.example_beta_shift", "fog", "reporting.example_beta_shift 'fog'"),
        ("reporting.mce", "resnet", "parameter reporting.mce = 'resnet'"),
        ("reporting.example_beta", 0.0, "parameter reporting.example_beta = 0.0"),
        ("surrogate_generation.policy.names", ["unifrom_noise"], "did you mean 'uniform_noise'?"),
        ("severity_calibration.grids", {"median_blur": [1, 2, 3, 4, 5]}, "no grid for"),
        ("policy_training.beta", 1.5, "parameter policy_training.beta = 1.5: "),
        (
            "classifier_training.architecture.widht",
            8,
            "did you mean 'classifier_training.architecture.width'?",
        ),
        (
            "classifier_training.architecture.width",
            0,
            "parameter classifier_training.architecture.width = 0",
        ),
        ("classifier_training.architecture.kind", "vgg", "'small_resnet', 'wide_resnet'"),
        (
            "classifier_training.augmix.epoch",
            2,
            "did you mean 'classifier_training.augmix.epochs'?",
        ),
        ("classifier_training.augmix.shift", 64, "classifier_training.augmix.shift = 64"),
        (
            "classifier_training.published.standard",
            "efficientnet_lite",
            "parameter classifier_training.published.standard = 'efficientnet_lite': "
            "unknown classifier 'efficientnet_lite'; did you mean 'efficientnet_lite0'?",
        ),
        (
            "classifier_training.published.standard",
            "superstar.classifiers:SmallResnet",
            "did you mean 'SmallResNet'?",
        ),
        ("classifier_training.published.standard", {}, "standard.path is missing"),
        (
            "classifier_training.published.standard",
            {"path": "absent.pt", "layout": "augmix"},
            "parameter classifier_training.published.standard.path = 'absent.pt': there is no",
        ),
        (
            "classifier_training.published.standard",
            {"pth": "absent.pt"},
            "did you mean 'classifier_training.published.standard.path'?",
        ),
        ("classifier_training.published.standard", 50, "published.standard = 50: "),
        ("policy_training.alpha", 0, "parameter policy_training.alpha"),
        ("distance.projection", "pca", "parameter distance.projection = 'pca'"),
        ("distance.measure.kind", "waserstein", "did you mean 'wasserstein'?"),
        ("distance.measure.p", 3, "parameter distance.measure = "),
        ("distance.measure.bins", 8, "unknown option of the distance 'wasserstein' 'bins'"),
        ("distance.measure", {"kind": "aline_d"}, "asks no classifiers"),
        ("distance.measure", {}, "not the specification of a distance"),
        ("policy_training.reward.regulariser", "mono", "policy_training.reward.regulariser"),
        ("seed", -1, "parameter seed = -1"),
        ("seed", True, "parameter seed = True"),
        ("seed", 10**30, "parameter seed = 1000"),
        ("execution.device", "nonsense", "parameter execution.device = 'nonsense'"),
        ("execution.backend", "slurm", "parameter execution.backend = 'slurm'"),
        ("execution.address", "tcp://host:8786", "set execution.backend to dask,"),
        ("execution.retries", -1, "parameter execution.retries = -1"),
        ("execution.device", "cuda:99", "there is no cuda:99 on this machine"),
        ("distance.std", [0.2, 0.0, 0.2], "parameter distance.std.1 = 0.0"),
        ("distance.mean", [float("inf")] * 3, "parameter distance.mean.0 = inf"),
        ("distance.dimensions", 4097, "images of 64x64 pixels allow 4096 at most"),
        ("denoiser_training.source", "absent.pth", "there is no checkpoint absent.pth: see"),
        ("severity_calibration.images", 1001, "half of data_preparation.validation gives 1000"),
        ("data_preparation.train", 2499, "batch_size = 2500: data_preparation.train gives 2499"),
        ("surrogate_generation.policy.batch_size", 1001, "policy.batch_size = 1001: half of"),
        ("operability.holdout", 0.9999, "gives 1000 images, of which it leaves none"),
        ("policy_training.learning_rate", float("nan"), "policy_training.learning_rate = nan"),
        ("severity_calibration.change", [1.0, 0.3], "the interval runs from low to high"),
        ("evaluation.severities", [5, 5], "5 is named twice"),
        (
            "benchmark_generation.shifts",
            ["gaussian_noise", "gaussian_noise"],
            "'gaussian_noise' is named twice",
        ),
        ("benchmark", "../elsewhere", "parameter benchmark = '../elsewhere'"),
        ("sensitivity.run_time.alpha", [0.5, 0.0], "parameter sensitivity.run_time.alpha.1 = 0.0"),
        ("sensitivity.run_time.horizon", [0], "parameter sensitivity.run_time.horizon.0 = 0"),
        ("sensitivity.retrained.beta", [1], "unknown parameter 'sensitivity.retrained.beta'"),
        ("projection_study.sample_sizes", [50, 50], "the values must rise"),
        ("projection_study.images", 1599, "perturbed images need 1600"),
        ("projection_study.dimensions", 577, "images of 24x24 pixels allow 576 at most"),
        ("projection_study.strengths.gaussian_blur", [1, 2], "the first strength must be 0"),
        ("projection_study.strengths.impulse_noise", [0, 2], "a share of pixels is 1 at most"),
        ("projection_study.strengths.gaussian_nose", [0, 2], "gaussian_noise'?"),
    ],
)
def test_a_mistake_is_named_in_one_line(base, path, value, message):
    with pytest.raises(InputError) as error:
        Parameters.check(set_value(base, path, value))
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_the_crop_of_a_denoiser_counts_where_one_is_trained(base):
    large = set_value(base, "denoiser_training.crop", 65)
    assert Parameters.check(large).denoiser_training.source == "packaged"
    with pytest.raises(InputError, match=r"crop = 65: images of 64x64 pixels allow 64 at most"):
        Parameters.check(set_value(large, "denoiser_training.source", "train"))


@pytest.mark.parametrize(
    "measure",
    [
        {"kind": "wasserstein", "p": 2},
        {"kind": "sliced_wasserstein", "directions": 64},
        {"kind": "kullback_leibler", "bins": 8},
    ],
)
def test_distances_between_points_are_taken_with_their_options(base, measure):
    values = set_value(base, "distance.measure", measure)
    assert Parameters.check(values).distance.measure == measure


def test_sets_that_are_taken_whole_are_not_counted(base):
    values = set_value(base, "data_preparation.train", None)
    assert Parameters.check(values).data_preparation.train is None


def test_puzzle_mix_needs_even_sides():
    values = set_value(load("cifar100"), "data_preparation.size", 33)
    with pytest.raises(InputError, match=r"data_preparation\.size = 33: Puzzle Mix .* even"):
        Parameters.check(values)
    values = set_value(values, "classifier_training.puzzlemix", None)
    assert Parameters.check(values).data_preparation.size == 33


def test_a_missing_parameter_is_named(base):
    values = deepcopy(base)
    del values["evaluation"]["trials"]
    with pytest.raises(InputError, match=r"parameter evaluation\.trials is missing"):
        Parameters.check(values)


def test_lists_of_a_sweep_may_be_words(base):
    values = set_value(base, "sensitivity.run_time.alpha", "0.5 0.7")
    values = set_value(values, "sensitivity.run_time.beta", 1.05)
    values = set_value(values, "sensitivity.retrained.seed", "1 2")
    swept = Parameters.check(values).sensitivity
    assert (swept.run_time.alpha, swept.run_time.beta) == ([0.5, 0.7], [1.05])
    assert swept.retrained.seed == [1, 2]
    values = set_value(values, "sensitivity.run_time.alpha", "0.5 much")
    with pytest.raises(InputError, match=r"sensitivity\.run_time\.alpha\.1 = 'much'"):
        Parameters.check(values)


def test_a_set_of_shifts_stands_for_its_members():
    listed = ["imagenet_c_standard", "imagenet_cp", "saturate"]
    shifts = BenchmarkGeneration(shifts=listed, batch_size=1).shifts
    assert shifts == [*STANDARD_SHIFTS, *COMPOSITES, "saturate"]
    others = BenchmarkGeneration(shifts=["imagenet_c_bar", "fog+sparkles"], batch_size=1).shifts
    assert others == [*C_BAR_SHIFTS, "fog+sparkles"]
    with pytest.raises(ValidationError, match="'gaussian_noise' is named twice"):
        BenchmarkGeneration(shifts=["imagenet_c", "gaussian_noise"], batch_size=1)


def test_mce_is_for_the_classes_of_imagenet(base):
    given = set_value(base, "reporting.mce", "alexnet")
    assert Parameters.check(given).reporting.mce == "alexnet"
    with pytest.raises(InputError, match=r"reporting.mce = 'alexnet' with scale = 'cifar'"):
        Parameters.check(set_value(given, "scale", "cifar"))
