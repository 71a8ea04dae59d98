"""Memory and time of the evaluation against the size of a shifted set."""
