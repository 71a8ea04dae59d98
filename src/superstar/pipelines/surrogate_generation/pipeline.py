"""Clean sets and strengths to surrogate sets."""

from kedro.pipeline import Pipeline, node

from superstar.pipelines.surrogate_generation import nodes


def create_pipeline() -> Pipeline:
    """The pipeline."""
    return Pipeline(
        [
            node(
                nodes.generate_surrogates,
                [
                    "validation_design",
                    "surrogate_strengths",
                    "params:scale",
                    "params:jpeg_quality",
                    "params:seed",
                ],
                "surrogates",
                name="generate_surrogates",
            ),
            node(
                nodes.generate_policy_batches,
                [
                    "clean_train",
                    "surrogate_strengths",
                    "params:surrogate_generation",
                    "params:scale",
                    "params:jpeg_quality",
                    "params:seed",
                ],
                "policy_surrogates",
                name="generate_policy_batches",
            ),
        ],
    )
