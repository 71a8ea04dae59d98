"""Ways in which others meet a distribution shift, behind one small interface."""

from typing import Any

from superstar.peers.averaging import Averaging
from superstar.peers.batch_norm import BatchNormAdaptation
from superstar.peers.fronts import Front, controllers, simple_corrections
from superstar.peers.memo import Memo
from superstar.peers.peer import Needs, Peer, Unadapted
from superstar.peers.quantiles import QuantileAdapter
from superstar.peers.rounds import ORACLE, UNTOUCHED, Maker, best_by_labels, go_through
from superstar.peers.shifting import Segment, shifting_stream
from superstar.peers.switching import Switching
from superstar.peers.tent import Tent

PEERS: dict[str, Any] = {
    "batch_statistics": BatchNormAdaptation,
    "batch_norm": BatchNormAdaptation,
    "tent": Tent,
    "tent_reset": Tent,
    "memo": Memo,
    "averaging": Averaging,
    "switching": Switching,
    "quantiles": QuantileAdapter,
}
"""By the names of their settings in the configuration."""

__all__ = [
    "ORACLE",
    "PEERS",
    "UNTOUCHED",
    "Averaging",
    "BatchNormAdaptation",
    "Front",
    "Maker",
    "Memo",
    "Needs",
    "Peer",
    "QuantileAdapter",
    "Segment",
    "Switching",
    "Tent",
    "Unadapted",
    "best_by_labels",
    "controllers",
    "go_through",
    "shifting_stream",
    "simple_corrections",
]
