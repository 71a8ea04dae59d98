"""The clean test set to the shifted test sets."""

from kedro.pipeline import Pipeline, node

from superstar.pipelines.benchmark_generation import nodes


def create_pipeline() -> Pipeline:
    """The pipeline."""
    return Pipeline(
        [
            node(
                nodes.generate_benchmark,
                [
                    "clean_test",
                    "external_sets",
                    "class_names",
                    "params:benchmark_generation",
                    "params:scale",
                    "params:seed",
                ],
                "shifted_sets",
                name="generate_benchmark",
            ),
            node(
                nodes.describe_benchmark,
                [
                    "external_sets",
                    "params:benchmark_generation",
                    "params:scale",
                    "params:seed",
                ],
                "benchmark_description",
                name="describe_benchmark",
            ),
        ],
    )
