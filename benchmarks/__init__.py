"""Speed of the core beside named peers: `make bench`."""
