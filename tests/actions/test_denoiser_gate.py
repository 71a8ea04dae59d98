import pytest
import torch

from superstar.actions import UNet, denoise
from superstar.actions.denoiser import restore
from superstar.actions.denoiser_gate import fit_gate
from superstar.errors import InputError

SETTINGS = {"clean_share": 0.1, "margin": 1.2, "rise": 3.0}


class FindsHalf(UNet):
    """Takes half of everything for noise."""

    def __init__(self):
        super().__init__(widths=(4,), blocks=(1,))

    def forward(self, images):
        return images / 2


@pytest.fixture
def clean():
    """Images in which that finds 0.005 to 0.05."""
    return (torch.linspace(0.01, 0.1, 10)[:, None, None, None]).expand(10, 3, 16, 16).contiguous()


def fit(network, clean, accuracy, strengths=(0.5, 1.0), **settings):
    noisy = [clean + 0.5, clean + 0.6]
    return fit_gate(network, clean, noisy, accuracy, strengths=strengths, **(SETTINGS | settings))


def test_the_gate_opens_above_what_is_found_in_clean_images(clean):
    network = FindsHalf()
    fitted = fit(network, clean, lambda images: 1.0)
    least, most = fitted.gate
    found = clean.mean((1, 2, 3)) / 2
    assert least == pytest.approx(1.2 * found.quantile(0.9).item(), rel=1e-2)
    assert most == pytest.approx(3 * least)
    assert torch.equal(denoise(fitted, clean), clean)
    assert network.gate == (0.0, 1e-6)  # the one that was given stays as it was


@pytest.mark.parametrize(("wanted", "strength"), [(1.0, 1.0), (-1.0, 0.5)])
def test_the_classifier_chooses_the_strength(clean, wanted, strength):
    assert fit(FindsHalf(), clean, lambda images: -wanted * images.mean().item()).strength == (
        strength
    )


def test_the_mildest_of_equals_is_taken(clean):
    assert fit(FindsHalf(), clean, lambda images: 0.0).strength == 0.5


def test_images_without_any_noise_leave_a_gate_that_opens(clean):
    fitted = fit(FindsHalf(), torch.zeros_like(clean), lambda images: 0.0)
    assert 0 < fitted.gate[0] < fitted.gate[1]


def test_no_strengths_are_refused(clean):
    with pytest.raises(InputError, match="at least one strength"):
        fit(FindsHalf(), clean, lambda images: 0.0, strengths=())


def test_restore_knows_no_gate(clean):
    network = FindsHalf()
    network.gate = (10.0, 20.0)
    assert torch.equal(denoise(network, clean), clean)
    torch.testing.assert_close(restore(network, clean), clean / 2, atol=1e-3, rtol=0)
