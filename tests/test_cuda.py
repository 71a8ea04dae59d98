"""On a CUDA device: results as on the processor, and on the device of the images."""

import math
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import torch
from pydantic import ValidationError
from sklearn.tree import DecisionTreeClassifier
from torch import nn

from superstar.actions import ACTIONS, DnCNN, apply_action, denoise, load_denoiser, save_denoiser
from superstar.actions.denoiser_training import DenoiserSchedule, psnr_gains, train_denoiser
from superstar.classifiers import (
    ClassifierSchedule,
    SmallResNet,
    accuracy,
    initialised,
    load_classifier,
    predict,
    save_classifier,
    train_augmix,
    train_noisymix,
    train_puzzlemix,
    train_standard,
)
from superstar.control import ShiftEnv, Supervisor
from superstar.control.actor_critic import PolicySchedule, train_actor_critic
from superstar.control.networks import Actor
from superstar.control.thresholds import choose_beta, clean_ratios
from superstar.corruptions import ALL_SHIFTS, COMPOSITES, SURROGATES, corrupt
from superstar.errors import InputError
from superstar.images import ImageSet, check_images, to_uint8
from superstar.measures import (
    Distance,
    Projection,
    cai_lim_distance,
    points_distance,
    ssim,
    state_features,
    wasserstein_distance,
)
from superstar.parameters import Execution
from superstar.photos import photo_patches
from superstar.training import global_seed, supports_bfloat16

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")

SIDE = 32
COLOURS = {"mean": (0.45, 0.45, 0.45), "std": (0.25, 0.25, 0.25)}
WITHOUT_NETWORK = tuple(name for name in ACTIONS if name != "dncnn")
SHAPE = {"depth": 4, "width": 16}
DENOISER = DenoiserSchedule(24, 16, crop=16, threads=1, device="cuda")
CLASSIFIER = ClassifierSchedule(4, 16, 0.01, weight_decay=0.05, threads=1, device="cuda")
BFLOAT16 = 0.02
"""Error of a shallow denoiser in bfloat16, as a share of what it takes off."""


@pytest.fixture(scope="module")
def photos():
    return photo_patches(SIDE, {"train": 136, "validation": 34})


@pytest.fixture(scope="module")
def clean(photos):
    return photos["validation"].batch()


@pytest.fixture(scope="module")
def noisy(clean):
    return corrupt(clean, "uniform_noise", 5)


@pytest.fixture(scope="module")
def denoiser(photos):
    return train_denoiser(photos["train"], DENOISER, **SHAPE)[0]


@pytest.fixture(scope="module")
def classifier():
    return train_standard(untrained(), tinted(), CLASSIFIER)[0]


def untrained():
    return initialised(lambda: SmallResNet(3, width=8), seed=0)


def tinted(seed=0, count=96):
    """Noise images in which the label's channel is brighter."""
    random = np.random.default_rng(seed)
    labels = np.arange(count) % 3
    images = random.integers(0, 150, (count, 16, 16, 3), dtype=np.uint8)
    images[np.arange(count), :, :, labels] += 100
    return ImageSet(images, labels.astype(np.int64))


def projection(kind="dct"):
    return Projection.create(kind, n=SIDE**2, m=20, **COLOURS)


def same_weights(first: nn.Module, second: nn.Module) -> bool:
    ours, theirs = first.state_dict(), second.state_dict()
    return ours.keys() == theirs.keys() and all(
        torch.equal(ours[name].cpu(), theirs[name].cpu()) for name in ours
    )


# Images and shifts.


def test_bad_values_are_found(noisy):
    images = noisy.cuda()
    assert check_images(images) is images
    for value, message in ((math.nan, "image 3"), (math.inf, "image 3"), (1.5, "1.5")):
        damaged = images.clone()
        damaged[3, 1, 2, 2] = value
        with pytest.raises(InputError, match=message):
            check_images(damaged)


def test_eight_bits(noisy):
    assert np.array_equal(to_uint8(noisy.cuda()), to_uint8(noisy))


@pytest.mark.parametrize("name", [*SURROGATES, *ALL_SHIFTS, COMPOSITES[0], "none"])
def test_shifts(clean, name):
    images = clean[:4].cuda()
    before = images.clone()
    shifted = corrupt(images, name, seed=5)
    assert shifted.device == images.device
    assert torch.equal(shifted.cpu(), corrupt(clean[:4], name, seed=5))
    assert torch.equal(images, before)
    assert shifted.data_ptr() != images.data_ptr()


# Actions.


@pytest.mark.parametrize("name", WITHOUT_NETWORK)
def test_actions(noisy, name):
    images = noisy.cuda()
    before = images.clone()
    corrected = apply_action(images, name)
    assert corrected.device == images.device
    assert torch.equal(corrected.cpu(), apply_action(noisy, name))
    assert torch.equal(images, before)
    assert corrected.data_ptr() != images.data_ptr()


@pytest.mark.parametrize("unshuffle", [1, 2, 3])
@pytest.mark.parametrize("shape", [(34, 32, 32), (1, 17, 22)])
def test_denoiser_agrees_with_single_precision(noisy, unshuffle, shape):
    count, height, width = shape
    images = noisy[:count, :, :height, :width]
    with global_seed(0):
        model = DnCNN(depth=4, width=16, unshuffle=unshuffle).eval()
    with torch.no_grad():
        expected = model.fuse()(images).clamp(0, 1)
    restored = denoise(model.cuda(), images.cuda())
    assert restored.is_cuda
    assert restored.dtype == torch.float32
    assert (restored.cpu() - expected).norm() < BFLOAT16 * (expected - images).norm()
    assert torch.equal(restored, denoise(model, images.cuda()))


def test_denoiser_and_images_on_different_devices(noisy, denoiser):
    on_cuda = apply_action(noisy.cuda(), "dncnn", denoiser=denoiser)
    handed_back = apply_action(noisy, "dncnn", denoiser=denoiser)
    assert handed_back.device == noisy.device
    assert torch.equal(on_cuda.cpu(), handed_back)
    assert next(denoiser.parameters()).is_cuda
    on_cpu = denoise(denoiser, noisy.cuda(), device="cpu")
    assert on_cpu.is_cuda
    assert (on_cpu - on_cuda).norm() < 2 * BFLOAT16 * (on_cuda - noisy.cuda()).norm()
    assert next(denoiser.parameters()).is_cuda


# Measures.


def test_state_features(noisy):
    assert torch.equal(state_features(noisy.cuda()), state_features(noisy))


@pytest.mark.parametrize("data_range", [1.0, 255.0])
def test_ssim(clean, noisy, data_range):
    assert ssim(clean.cuda(), noisy.cuda(), data_range) == ssim(clean, noisy, data_range)


@pytest.mark.parametrize("kind", ["dct", "uniform_qr", "haar", "gaussian", "sparse"])
def test_projections_and_distance(clean, noisy, kind):
    project = projection(kind)
    points = project(clean)
    assert torch.equal(project(clean.cuda()), points)
    expected = pytest.approx(wasserstein_distance(clean, noisy, project), rel=1e-9)
    assert wasserstein_distance(clean.cuda(), noisy.cuda(), project) == expected
    assert wasserstein_distance(points.cuda(), noisy.cuda(), project) == expected
    assert wasserstein_distance(points, noisy.cuda(), project) == expected


@pytest.mark.parametrize(
    "kind",
    [
        "wasserstein",
        "sliced_wasserstein",
        "total_variation",
        "kullback_leibler",
        "jensen_shannon",
    ],
)
def test_distances_between_points(clean, noisy, kind):
    first, second = projection()(clean), projection()(noisy)
    measure = Distance.create(kind)
    assert measure(first.cuda(), second.cuda()) == pytest.approx(measure(first, second), rel=1e-9)


def test_other_distances():
    random = np.random.default_rng(0)
    labels = torch.from_numpy(random.integers(3, size=(60, 5)))
    measure = Distance.create("aline_d")
    assert measure(labels.cuda(), labels[:, 1:].cuda()) == measure(labels, labels[:, 1:])
    a, b = (
        torch.from_numpy(random.normal(size=(12, 4))),
        torch.from_numpy(random.normal(size=(9, 2))),
    )
    assert cai_lim_distance(a.cuda(), b.cuda()) == pytest.approx(cai_lim_distance(a, b), rel=1e-6)
    assert points_distance(a.cuda(), 2 * a.cuda()) == pytest.approx(points_distance(a, 2 * a))


# Classifiers.


class Recorder(nn.Module):
    """Keeps the logits that it hands on."""

    def __init__(self, classifier: nn.Module) -> None:
        super().__init__()
        self.classifier = classifier

    def forward(self, images):
        self.logits = self.classifier(images)
        return self.logits


def test_prediction_is_in_single_precision(clean):
    with global_seed(0):
        recorder = Recorder(SmallResNet(17, width=32))
        for block in recorder.classifier.blocks:
            block.last_norm.weight.data.fill_(1)
    expected = predict(recorder, clean)
    logits = recorder.logits
    classes = predict(recorder, clean.cuda(), device="cuda")
    assert classes.device.type == "cpu"
    error = (recorder.logits.cpu() - logits).norm() / logits.norm()
    assert error < 2e-5  # TF32 is off by some 3e-4.
    assert torch.equal(classes, expected)
    assert torch.equal(predict(recorder, clean, batch_size=5, device="cuda"), expected)


def test_accuracy(classifier):
    held_out = tinted(seed=1)
    labels = torch.from_numpy(held_out.labels).cuda()
    share = accuracy(classifier, held_out.batch().cuda(), labels, device="cuda")
    assert share > 0.9
    assert share == accuracy(classifier, held_out.batch(), held_out.labels)


def test_classifier_training_repeats(classifier, tmp_path):
    again, history = train_standard(untrained(), tinted(), CLASSIFIER)
    assert next(again.parameters()).is_cuda
    assert history[-1] < history[0]
    assert same_weights(again, classifier)
    save_classifier(again, tmp_path / "classifier.safetensors")
    loaded = load_classifier(tmp_path / "classifier.safetensors")
    assert next(loaded.parameters()).device.type == "cpu"
    assert same_weights(loaded, again)


@pytest.mark.parametrize("train", [train_augmix, train_noisymix, train_puzzlemix])
def test_augmented_training(classifier, train):
    tuned, history = train(classifier, tinted(), CLASSIFIER)
    again, _ = train(classifier, tinted(), CLASSIFIER)
    assert next(tuned.parameters()).is_cuda
    assert history[-1] < math.log(3)
    assert same_weights(tuned, again)


# The denoiser.


def test_denoiser_training_sees_the_same_crops_as_on_the_processor(photos):
    one_step = replace(DENOISER, batch_size=len(photos["train"]), epochs=1)
    losses = [
        train_denoiser(photos["train"], replace(one_step, device=device), **SHAPE)[1]
        for device in ("cpu", "cuda")
    ]
    assert losses[1] == pytest.approx(losses[0], rel=0.02)


def test_denoiser_training_repeats_and_gains(photos, clean, denoiser, tmp_path):
    again, _ = train_denoiser(photos["train"], DENOISER, **SHAPE)
    assert next(again.parameters()).is_cuda
    assert same_weights(again, denoiser)
    gains = psnr_gains(denoiser, clean.cuda(), device="cuda")
    assert gains[50] > 1
    assert gains == pytest.approx(psnr_gains(denoiser, clean), abs=0.1)
    save_denoiser(denoiser, tmp_path / "denoiser.safetensors")
    loaded = load_denoiser(tmp_path / "denoiser.safetensors")
    assert next(loaded.parameters()).device.type == "cpu"
    assert same_weights(loaded, denoiser)


# Control.


def environment(clean, device, actions, denoiser=None):
    batches = [corrupt(clean, "uniform_noise", 5, seed=seed).to(device) for seed in (1, 2)]
    return ShiftEnv(
        batches,
        projection()(clean).to(device),
        projection(),
        actions=actions,
        denoiser=denoiser,
        ssim_weight=4.0,
        ssim_threshold=0.994,
    )


def test_policy_training_is_that_on_the_processor(clean):
    results = [
        train_actor_critic(
            environment(clean, device, WITHOUT_NETWORK),
            PolicySchedule(episodes=6, seed=3),
            progress=False,
        )
        for device in ("cpu", "cuda")
    ]
    assert results[0].curves.equals(results[1].curves)
    assert same_weights(results[0].actor, results[1].actor)
    assert same_weights(results[0].critic, results[1].critic)


def test_policy_training_with_the_denoiser(clean, denoiser):
    env = environment(clean, "cuda", ACTIONS, denoiser)
    result = train_actor_critic(env, PolicySchedule(episodes=12, seed=3), progress=False)
    assert result.curves["dncnn"].sum() > 0
    assert np.isfinite(result.curves["return"]).all()
    assert all(torch.isfinite(weight).all() for weight in result.actor.parameters())


def test_actor_on_the_device():
    with global_seed(0):
        actor = Actor(len(ACTIONS))
    state = np.array([0.9, 0.3, 3.0], dtype=np.float32)
    expected = actor.probabilities(state)
    np.testing.assert_allclose(actor.cuda().probabilities(state), expected, rtol=1e-5)


def test_clean_ratios_are_those_on_the_processor(clean, photos):
    points = projection()(photos["train"].batch())
    arguments = {"batch_size": 20, "draws": 3, "actions": WITHOUT_NETWORK}
    measure = Distance.create("wasserstein")
    on_cpu = clean_ratios(clean, projection(), partial(measure, points), **arguments)
    there = partial(measure, points.cuda())
    on_cuda = clean_ratios(clean.cuda(), projection(), there, **arguments)
    assert choose_beta(on_cuda, 0) == pytest.approx(choose_beta(on_cpu, 0), rel=1e-9)


def supervisor(clean, actions, denoiser=None):
    with global_seed(0):
        actor = Actor(len(actions))
    return Supervisor(
        actor=actor,
        tree=DecisionTreeClassifier(random_state=0).fit(np.zeros((2, 3)), [1, 1]),
        denoiser=denoiser,
        validation_points=projection()(clean),
        projection=projection(),
        alpha=0.5,
        beta=0.9999,
        horizon=3,
        actions=actions,
        image_size=(SIDE, SIDE),
        benchmark="photos",
    )


def test_recovery_is_that_on_the_processor(clean, noisy):
    actions = ("wavelet_bayes", "bilateral")
    on_cpu = supervisor(clean, actions).recover(noisy)
    on_cuda = supervisor(clean, actions).recover(noisy.cuda())
    assert on_cuda.actions == on_cpu.actions != ()
    assert on_cuda.stopped_by == on_cpu.stopped_by
    assert on_cuda.distances == pytest.approx(on_cpu.distances, rel=1e-9)
    assert on_cuda.images.is_cuda
    assert torch.equal(on_cuda.images.cpu(), on_cpu.images)


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_recovery_with_the_denoiser(clean, noisy, denoiser, device, tmp_path):
    ours = supervisor(clean, ("dncnn",), denoiser)
    recovery = ours.recover(noisy.to(device))
    assert recovery.actions[:1] == ("dncnn",)
    assert recovery.images.device.type == device
    assert recovery.distances[1] < recovery.distances[0]
    ours.save(tmp_path / "supervisor")
    loaded = Supervisor.load(tmp_path / "supervisor").recover(noisy)
    assert loaded.distances[:2] == pytest.approx(recovery.distances[:2], rel=1e-2)


def test_abstaining_hands_out_other_memory_on_the_same_device(clean):
    images = clean.cuda()
    recovery = supervisor(clean, ("nop",)).recover(images)
    assert recovery.images.device == images.device
    assert torch.equal(recovery.images, images)
    assert recovery.images.data_ptr() != images.data_ptr()


# Around it.


def test_the_devices_random_stream_is_neither_read_nor_changed(clean, photos, classifier):
    torch.cuda.manual_seed_all(1)
    before = torch.cuda.get_rng_state()
    brief = replace(DENOISER, epochs=1)
    first, _ = train_denoiser(photos["train"], brief, **SHAPE)
    train_augmix(classifier, tinted(), CLASSIFIER)
    train_actor_critic(
        environment(clean, "cuda", ("nop",)), PolicySchedule(episodes=1), progress=False
    )
    assert torch.equal(torch.cuda.get_rng_state(), before)
    torch.cuda.manual_seed_all(2)
    assert same_weights(train_denoiser(photos["train"], brief, **SHAPE)[0], first)


def test_names_of_devices():
    values = {"workers": 1, "threads": 1, "batch_size": 1}
    values |= {"backend": "loky", "address": None, "retries": 0}
    assert Execution.model_validate({**values, "device": "cuda"}).device == "cuda"
    with pytest.raises(ValidationError, match="no cuda:99"):
        Execution.model_validate({**values, "device": "cuda:99"})
    assert supports_bfloat16("cuda") == torch.cuda.is_bf16_supported(including_emulation=False)
