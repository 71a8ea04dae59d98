"""Ways in which others meet a distribution shift, behind one small interface."""

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

__all__ = [
    "ORACLE",
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
