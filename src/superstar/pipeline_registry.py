"""The project's pipelines, in the order in which a plain run goes through them."""

from importlib import import_module

from kedro.pipeline import Pipeline

PIPELINES = (
    "data_preparation",
    "severity_calibration",
    "surrogate_generation",
    "classifier_training",
    "denoiser_training",
    "operability",
    "calibration",
    "policy_training",
    "benchmark_generation",
    "evaluation",
    "reporting",
)

# Run only when named.
BESIDE = (
    "corrupt",
    "oracle",
    "peers",
    "projection_study",
    "recover",
    "ruler_study",
    "sensitivity",
)


def register_pipelines() -> dict[str, Pipeline]:
    """Every pipeline by name; `__default__` chains all stages."""
    pipelines = {name: _stage(name) for name in PIPELINES}
    beside = {name: _stage(name) for name in BESIDE}
    return {"__default__": sum(pipelines.values(), Pipeline([])), **pipelines, **beside}


def _stage(name: str) -> Pipeline:
    """A pipeline whose nodes have its name as namespace: a box of its own in kedro-viz."""
    pipeline = import_module(f"superstar.pipelines.{name}").create_pipeline()
    return Pipeline(pipeline, namespace=name, prefix_datasets_with_namespace=False)
