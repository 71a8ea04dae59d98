import numpy as np
import pytest
import torch
from scipy.optimize import nnls
from scipy.stats import norm

from superstar.errors import InputError
from superstar.measures import Distance

PAIRS = ((0, 1), (0, 2), (1, 2))
IMAGES = 40_000

# What three classifiers can say of an image of class 0, and how accuracies of the three and
# agreements of the pairs count it: one errs; two err alike; two err differently; all err alike;
# all err differently.
ANSWERS = [
    (0, 0, 0),
    *[tuple(int(k == i) for k in range(3)) for i in range(3)],
    *[tuple(int(k in pair) for k in range(3)) for pair in PAIRS],
    *[tuple(1 + pair.index(k) if k in pair else 0 for k in range(3)) for pair in PAIRS],
    (1, 1, 1),
    (1, 2, 3),
]
COUNTED = np.array(
    [
        [*(a == 0 for a in answers), *(answers[i] == answers[j] for i, j in PAIRS)]
        for answers in ANSWERS
    ],
    dtype=float,
).T


def predictions(accuracies, agreements):
    """Predictions (IMAGES, 3) for images of class 0 with these accuracies and agreements."""
    # A heavy last row: the masses of the answers sum to 1.
    system = np.vstack([COUNTED, 100 * np.ones(len(ANSWERS))])
    masses, residual = nnls(system, np.array([*accuracies, *agreements, 100.0]))
    assert residual < 1e-9
    edges = np.round(np.cumsum(masses) * IMAGES).astype(int)
    counts = np.diff(edges, prepend=0)
    return torch.from_numpy(np.repeat(np.array(ANSWERS), counts, axis=0))


def with_labels(predicted):
    return torch.cat([torch.zeros(len(predicted), 1, dtype=predicted.dtype), predicted], dim=1)


CLEAN = (0.9, 0.86, 0.82), (0.85, 0.83, 0.8)


def on_the_line(slope, offset):
    """Accuracies and agreements on shifted images."""
    return tuple(norm.cdf(slope * norm.ppf(values) + offset) for values in CLEAN)


@pytest.mark.parametrize(("slope", "offset"), [(1.0, -0.5), (0.8, -0.4), (0.9, 0.1), (1.1, -1.0)])
def test_recovers_the_accuracy_of_an_ensemble_on_the_line(slope, offset):
    accuracies, agreements = on_the_line(slope, offset)
    reference = with_labels(predictions(*CLEAN))
    shifted = predictions(accuracies, agreements)
    distance = Distance.create("aline_d")
    # Shares are multiples of 1/40,000: they are off by 1e-5.
    assert distance(reference, shifted) == pytest.approx(1 - accuracies[0], abs=1e-3)
    for member in (1, 2):
        order = [member, *(k for k in range(3) if k != member)]
        estimate = distance(with_labels(predictions(*CLEAN)[:, order]), shifted[:, order])
        assert estimate == pytest.approx(1 - accuracies[member], abs=1e-3)


def test_on_clean_images_it_is_the_error_there():
    clean = predictions(*CLEAN)
    estimate = Distance.create("aline_d")(with_labels(clean), clean)
    assert estimate == pytest.approx(1 - (clean[:, 0] == 0).double().mean().item(), abs=1e-9)


def test_orders_of_images_and_names_of_classes_do_not_matter():
    clean, shifted = predictions(*CLEAN), predictions(*on_the_line(0.9, -0.3))
    distance = Distance.create("aline_d")
    plain = distance(with_labels(clean), shifted)
    mixed = shifted[torch.randperm(len(shifted), generator=torch.Generator().manual_seed(0))]
    assert distance(with_labels(clean).double() + 5, mixed.float() + 5) == pytest.approx(plain)


def test_stays_within_bounds_where_all_agree_or_none():
    rng = np.random.default_rng(0)
    labels = torch.from_numpy(rng.integers(0, 10, (200, 1)))
    errs = torch.from_numpy(rng.random((200, 5)) < np.array([0.05, 0.1, 0.2, 0.3, 0.4]))
    members = torch.where(errs, torch.from_numpy(rng.integers(0, 10, (200, 5))), labels)
    reference = torch.cat([labels, members], dim=1)
    distance = Distance.create("aline_d")
    united = distance(reference, torch.zeros(100, 5))
    divided = distance(reference, torch.arange(5).expand(100, 5))
    assert 0 <= united < 0.1
    assert 0.9 < divided <= 1


def test_refuses_what_it_cannot_solve():
    distance, clean = Distance.create("aline_d"), predictions(*CLEAN)[::100]
    reference = with_labels(clean)
    with pytest.raises(InputError, match="at least 3 classifiers, not 2"):
        distance(reference[:, :3], clean[:, :2])
    with pytest.raises(InputError, match=r"\(N, 4\), not \(N, 3\)"):
        distance(reference[:, :3], clean)
    with pytest.raises(InputError, match="slope of aline_d undetermined"):
        distance(with_labels(clean[:, :1].expand(-1, 3)), clean)
    with pytest.raises(InputError, match="points must be whole numbers"):
        distance(reference, clean + 0.5)
    with pytest.raises(InputError, match="NaN"):
        distance(reference, clean * torch.nan)
