"""Projections by a stored random matrix: the authors' and those it is compared with (appendix C).

`uniform_qr` and `haar` have orthonormal rows, so the paper's Lemma 1 holds for them; `gaussian` and
`sparse` keep squared lengths in expectation (Johnson & Lindenstrauss) and may lengthen a distance.
Points agree to float32 rounding, whatever batch an image stands in.
"""

from abc import abstractmethod
from functools import cached_property
from typing import ClassVar

import numpy as np
import scipy.linalg
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_array

from superstar.images import stream
from superstar.measures.projections import Projection


class _Product(Projection):
    """A projection that is a product with a stored matrix."""

    # The matrix is read once a chunk, so chunks are large.
    chunk_values: ClassVar[int] = 2**25

    @cached_property
    @abstractmethod
    def _matrix(self) -> NDArray[np.float32]:
        """The matrix (m, n), one row a dimension of the points."""

    def _project(self, gray: NDArray[np.float32]) -> NDArray[np.float32]:
        # PyTorch's product, since NumPy's threads would compete with those that the rest of the
        # package uses.
        return (torch.from_numpy(gray) @ torch.from_numpy(self._matrix).T).numpy()


class UniformQrProjection(_Product, kind="uniform_qr"):
    """Q of the QR of an n x m matrix with entries uniform in [0, 1), transposed: the authors'.

    The entries are not centred, so the constant image lies all but within the span of the rows: a
    change of mean brightness passes whole, while everything else shrinks by about √(m/n).
    """

    @cached_property
    def _matrix(self) -> NDArray[np.float32]:
        draw = stream(self.seed, "projection", self.kind)
        rows, _ = _orthonormal(draw.random((self.m, self.n), dtype=np.float32))
        return rows


class HaarProjection(_Product, kind="haar"):
    """Rows drawn uniformly from the Stiefel manifold O(m, n): lengths shrink by about √(m/n).

    Q of a Gaussian matrix follows the Haar measure once the diagonal of R is made positive
    (Mezzadri, How to generate random matrices from the classical compact groups, 2007).
    """

    @cached_property
    def _matrix(self) -> NDArray[np.float32]:
        draw = stream(self.seed, "projection", self.kind)
        rows, diagonal = _orthonormal(draw.standard_normal((self.m, self.n), dtype=np.float32))
        rows *= np.copysign(np.float32(1), diagonal)[:, None]
        return rows


class GaussianProjection(_Product, kind="gaussian"):
    """Independent entries from N(0, 1/m): keeps squared lengths in expectation."""

    @cached_property
    def _matrix(self) -> NDArray[np.float32]:
        draw = stream(self.seed, "projection", self.kind)
        entries = draw.standard_normal((self.m, self.n), dtype=np.float32)
        entries /= np.float32(self.m**0.5)
        return entries


class SparseProjection(Projection, kind="sparse"):
    """Independent entries, ±√(1/(d m)) with probability d = 1/√n, otherwise 0.

    Keeps squared lengths in expectation (Li, Hastie & Church, Very sparse random projections,
    2006; scikit-learn's SparseRandomProjection with its density "auto").
    """

    @cached_property
    def _matrix(self) -> csr_array:
        draw = stream(self.seed, "projection", self.kind)
        density = self.n**-0.5
        cells = self.m * self.n
        count = draw.binomial(cells, density)
        places = np.sort(draw.choice(cells, count, replace=False, shuffle=False))
        size = np.float32((density * self.m) ** -0.5)
        entries = np.where(draw.random(count, dtype=np.float32) < 0.5, -size, size)
        return csr_array((entries, np.divmod(places, self.n)), shape=(self.m, self.n))

    def _project(self, gray: NDArray[np.float32]) -> NDArray[np.float32]:
        return gray @ self._matrix.T


def _orthonormal(
    rows: NDArray[np.float32],
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Orthonormal rows with the span of `rows` (m, n), which is overwritten; the diagonal of R.

    The QR of the transpose, by LAPACK's Householder reflections in float32: their rows are
    orthonormal to rounding, however near to one another the given rows are.
    """
    q, r = scipy.linalg.qr(rows.T, mode="economic", overwrite_a=True, check_finite=False)
    return q.T, np.diag(r).copy()
