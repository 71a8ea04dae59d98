"""A denoiser: the package's, a file's, or trained on clean images; and what it gains."""

from kedro.pipeline import Pipeline, node

from superstar.pipelines.denoiser_training import nodes


def create_pipeline() -> Pipeline:
    """The pipeline."""
    return Pipeline(
        [
            node(
                nodes.train,
                [
                    "clean_train",
                    "params:denoiser_training",
                    "params:jpeg_quality",
                    "params:execution",
                    "params:seed",
                ],
                ["denoiser_network", "denoiser_curve"],
                name="train_denoiser",
            ),
            node(
                nodes.assess,
                [
                    "denoiser_network",
                    "clean_validation",
                    "params:denoiser_training",
                    "params:jpeg_quality",
                    "params:seed",
                ],
                "denoiser_metrics",
                name="assess_denoiser",
            ),
        ],
    )
