"""DnCNN, the learned denoiser of the action library (paper, appendix E).

K. Zhang et al., "Beyond a Gaussian Denoiser: Residual Learning of Deep CNN for Image Denoising",
IEEE TIP 2017; the pixel-unshuffled variant follows FFDNet (Zhang et al., IEEE TIP 2018).
"""

from copy import deepcopy
from itertools import pairwise

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils.fusion import fuse_conv_bn_eval

from superstar.errors import InputError

LAST_LAYER_SCALE = 0.1


class DnCNN(nn.Module):
    """A residual denoiser: the network predicts the noise, which is taken off the input.

    conv-ReLU, then depth − 2 times conv-batch norm-ReLU, then conv; 3×3 kernels throughout. With
    `unshuffle` r > 1 it works on the image split into r² images of a r-th of the size, which
    costs r² times less and sees r times farther. With `enlarge` e > 1 it works on the image e times
    as large (bicubic), as the paper does with CIFAR images; the noise it predicts is then averaged
    over blocks of e by e pixels.

    Args:
        depth: number of convolutions, at least 2.
        width: channels of the hidden layers.
        unshuffle: side of the blocks of pixels that become channels; 1 for the plain network.
        channels: channels of the images; 1 takes each channel of colour images by itself, as the
            paper does.
        enlarge: how many times as high and wide the images are that the network sees.
        batch_norm: False gives the shape that `fuse` fills, for inference only.

    Raises:
        InputError: depth below 2, or another argument below 1.
    """

    def __init__(
        self,
        depth: int = 8,
        width: int = 48,
        unshuffle: int = 2,
        channels: int = 3,
        enlarge: int = 1,
        batch_norm: bool = True,
    ) -> None:
        super().__init__()
        if depth < 2 or min(width, unshuffle, channels, enlarge) < 1:
            raise InputError(
                "DnCNN needs a depth of at least 2 and width, unshuffle, channels and enlarge of "
                f"at least 1, not {depth}, {width}, {unshuffle}, {channels}, {enlarge}"
            )
        self.depth, self.width = depth, width
        self.unshuffle, self.channels, self.enlarge = unshuffle, channels, enlarge
        self.batch_norm = batch_norm
        outer = channels * unshuffle**2
        layers: list[nn.Module] = [nn.Conv2d(outer, width, 3, padding=1), nn.ReLU(inplace=True)]
        for _ in range(depth - 2):
            layers.append(nn.Conv2d(width, width, 3, padding=1, bias=not batch_norm))
            if batch_norm:
                layers.append(nn.BatchNorm2d(width))
            layers.append(nn.ReLU(inplace=True))
        layers.append(nn.Conv2d(width, outer, 3, padding=1))
        self.layers = nn.Sequential(*layers)
        if not self.layers[0].weight.is_meta:  # which waits for weights of a file
            self._initialise()

    def _initialise(self) -> None:
        convolutions = [layer for layer in self.layers if isinstance(layer, nn.Conv2d)]
        for convolution in convolutions:
            nn.init.kaiming_normal_(convolution.weight, nonlinearity="relu")
            if convolution.bias is not None:
                nn.init.zeros_(convolution.bias)
        # Small first estimates of the noise: without this the network learns little in minutes.
        with torch.no_grad():
            convolutions[-1].weight.mul_(LAST_LAYER_SCALE)

    def forward(self, images: Tensor) -> Tensor:
        """Images (N, C, H, W) less the predicted noise: same shape, not clipped."""
        seen = images.reshape(-1, 1, *images.shape[2:]) if self.channels == 1 else images
        if self.enlarge > 1:
            seen = functional.interpolate(seen, scale_factor=self.enlarge, mode="bicubic")
        height, width = seen.shape[2:]
        bottom, right = -height % self.unshuffle, -width % self.unshuffle
        if bottom or right:
            seen = functional.pad(seen, (0, right, 0, bottom), mode="reflect")
        noise = self.layers(functional.pixel_unshuffle(seen, self.unshuffle))
        noise = functional.pixel_shuffle(noise, self.unshuffle)[..., :height, :width]
        return images - functional.avg_pool2d(noise, self.enlarge).reshape(images.shape)

    @property
    def shape(self) -> dict[str, int]:
        """The arguments that a denoiser of this shape is made with."""
        return {
            "depth": self.depth,
            "width": self.width,
            "unshuffle": self.unshuffle,
            "channels": self.channels,
            "enlarge": self.enlarge,
        }

    @classmethod
    def fused(cls, **shape: int) -> "DnCNN":
        """A denoiser of the shape that `fuse` fills."""
        return cls(**shape, batch_norm=False)

    def pixels_of(self, images: Tensor) -> float:
        """How many pixels the network sees of each image."""
        return images[0].numel() / self.channels * self.enlarge**2

    def fuse(self) -> "DnCNN":
        """A copy for inference: batch norm folded into the convolutions, eval mode, frozen."""
        ours = [*deepcopy(self).eval().layers, None]
        folded = [
            fuse_conv_bn_eval(layer, following) if isinstance(following, nn.BatchNorm2d) else layer
            for layer, following in pairwise(ours)
            if isinstance(layer, nn.Conv2d)
        ]
        with torch.device("meta"):
            fused = DnCNN.fused(**self.shape)
        theirs = [layer for layer in fused.layers if isinstance(layer, nn.Conv2d)]
        for target, source in zip(theirs, folded, strict=True):
            target.load_state_dict(source.state_dict(), assign=True)
        return fused.eval().requires_grad_(False)
