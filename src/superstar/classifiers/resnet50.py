"""ResNet-50, the network of the paper's classifiers for ImageNet."""

from collections.abc import Sequence

from torch import Tensor

from superstar.classifiers.classifier import Classifier

IMAGENET_MEAN = (0.485, 0.456, 0.406)
"""Mean of each colour channel of ImageNet, as nearly all code bases round it."""

IMAGENET_STD = (0.229, 0.224, 0.225)
"""Their standard deviations."""


class ResNet50(Classifier):
    """ResNet-50 (He et al., CVPR 2016), as torchvision builds it.

    A block halves the resolution in its 3×3 convolution. The network was made for 224×224 pixels;
    global average pooling makes it fit any size from 16. Normalisation is part of the network: it
    maps images in [0, 1] to logits.

    Args:
        classes: number of classes, at least 2.
        width: channels of the first stage's 3×3 convolutions: 64, or 128 for Wide ResNet-50-2.
        mean: of each colour channel, taken off the images.
        std: of each colour channel, by which they are then divided.

    Raises:
        InputError: an argument out of its range.
    """

    def __init__(
        self,
        classes: int = 1000,
        width: int = 64,
        mean: Sequence[float] = IMAGENET_MEAN,
        std: Sequence[float] = IMAGENET_STD,
    ) -> None:
        # Importing torchvision takes longer than the rest of the package together.
        from torchvision.models import resnet50

        super().__init__(classes, mean, std, width=width)
        self.network = resnet50(num_classes=classes, width_per_group=width)

    def forward(self, images: Tensor) -> Tensor:
        """Images float32 (N, 3, H, W) in [0, 1] to logits (N, classes)."""
        return self.network(self.normalise(images))
