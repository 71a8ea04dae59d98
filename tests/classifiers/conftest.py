import pytest
from classifier_toys import QUICK, tinted, untrained

from superstar.classifiers import train_standard


@pytest.fixture(scope="session")
def standard():
    """A classifier of tinted images, and its loss by epoch; tests leave it as it is."""
    return train_standard(untrained(), tinted(), QUICK)
