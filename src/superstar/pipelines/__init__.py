"""The pipelines: wiring in `pipeline.py`, thin nodes in `nodes.py`."""
