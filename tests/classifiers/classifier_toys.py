"""A small task that a small network learns in a second."""

import numpy as np

from superstar.classifiers import ClassifierSchedule, SmallResNet, initialised
from superstar.images import ImageSet

QUICK = ClassifierSchedule(
    epochs=4, batch_size=16, learning_rate=0.01, weight_decay=0.05, threads=1
)


def tinted(count=96, classes=3, size=16, seed=0):
    """Noise images in which the label's channel is brighter."""
    random = np.random.default_rng(seed)
    labels = np.arange(count) % classes
    images = random.integers(0, 150, (count, size, size, 3), dtype=np.uint8)
    images[np.arange(count), :, :, labels] += 100
    return ImageSet(images, labels.astype(np.int64))


def untrained(classes=3, seed=0):
    return initialised(lambda: SmallResNet(classes, width=4), seed)


def weights(network):
    return {name: value.clone() for name, value in network.state_dict().items()}


def same_weights(one, other):
    return all(value.equal(weights(other)[name]) for name, value in weights(one).items())


def stops_after(epochs, function, steps):
    """That function, with an end in the middle of the epoch after so many."""
    calls = []

    def stopping(*arguments, **options):
        calls.append(arguments)
        if len(calls) == epochs * steps + 2:
            raise KeyboardInterrupt
        return function(*arguments, **options)

    return stopping
