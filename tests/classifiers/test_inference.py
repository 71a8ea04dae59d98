import numpy as np
import pytest
import torch
from torch import nn

from superstar.classifiers import AtPrecision, SmallResNet, accuracy, predict
from superstar.errors import InputError
from superstar.training import fixed_threads, global_seed


class BrightestChannel(nn.Module):
    def forward(self, images):
        return images.mean((2, 3))


@pytest.fixture
def images():
    return torch.rand(30, 3, 20, 28, generator=torch.Generator().manual_seed(0))


def test_prediction_is_the_largest_logit(images):
    classes = predict(BrightestChannel(), images)
    assert classes.dtype == torch.int64
    assert torch.equal(classes, images.mean((2, 3)).argmax(1))


def test_neither_batch_size_nor_threads_matter(images):
    with global_seed(1):
        model = SmallResNet(7, width=8).eval()
    with torch.no_grad():
        model.head.bias -= model(images).mean(0)  # Or an untrained network names one class alone.
    expected = predict(model, images)
    assert len(expected.unique()) > 1
    for batch_size in (1, 7, 30):
        for threads in (1, 2):
            with fixed_threads(threads):
                assert torch.equal(predict(model, images, batch_size), expected)


def test_a_network_at_a_precision_answers_in_float32(images):
    with global_seed(1):
        model = SmallResNet(7, width=8).eval()
    expected = model(images)
    torch.testing.assert_close(AtPrecision(model, "float32")(images), expected)
    half = AtPrecision(model, "bfloat16")(images)
    assert half.dtype == torch.float32
    assert 0 < (half - expected).abs().max() < 0.05 * expected.abs().max()
    half.sum().backward()
    assert all(weight.grad is not None for weight in model.parameters())
    with pytest.raises(InputError, match="float16"):
        AtPrecision(model, "float16")


def test_half_precision_says_the_same_where_classes_are_apart(images):
    with global_seed(1):
        model = SmallResNet(7, width=8).eval()
    with torch.no_grad():
        logits = model(images)
        model.head.bias -= logits.mean(0)
        two = (logits - logits.mean(0)).topk(2).values
    apart = two[:, 0] - two[:, 1] > 0.05 * two.abs().mean()
    assert apart.sum() > 15
    full, half = (predict(model, images, precision=p) for p in ("float32", "bfloat16"))
    assert torch.equal(full[apart], half[apart])
    with pytest.raises(InputError, match="precision"):
        predict(model, images, precision="float16")


def test_prediction_leaves_images_and_gradients_alone(images):
    before = images.clone()
    model = SmallResNet(3, width=4).train()
    predict(model, images)
    assert torch.equal(images, before)
    assert all(parameter.grad is None for parameter in model.parameters())
    assert not model.training


def test_accuracy_is_the_share_of_hits(images):
    labels = images.mean((2, 3)).argmax(1).numpy()
    assert accuracy(BrightestChannel(), images, labels) == 1
    wrong = labels.copy()
    wrong[:6] = (wrong[:6] + 1) % 3
    assert accuracy(BrightestChannel(), images, wrong, batch_size=7) == pytest.approx(0.8)


def test_bad_input_is_refused(images):
    with pytest.raises(InputError, match="float32"):
        predict(BrightestChannel(), images.double())
    with pytest.raises(InputError, match="batch_size"):
        predict(BrightestChannel(), images, batch_size=0)
    with pytest.raises(InputError, match="30 images but labels"):
        accuracy(BrightestChannel(), images, np.zeros(29, dtype=np.int64))
