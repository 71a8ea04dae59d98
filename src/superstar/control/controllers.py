"""Names of the controllers that a supervisor may hold."""

PAPER = "paper"
CALIBRATED = "calibrated"
