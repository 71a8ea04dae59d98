"""Shifted sets, supervisor and classifiers to unaggregated results."""

from kedro.pipeline import Pipeline, node

from superstar.pipelines.evaluation import nodes


def create_pipeline() -> Pipeline:
    """The pipeline."""
    return Pipeline(
        [
            node(
                nodes.evaluate,
                [
                    "shifted_sets",
                    "supervisor",
                    "classifier_standard",
                    "robust_classifiers",
                    "transferred_policies",
                    "params:evaluation",
                    "params:benchmark_generation",
                    "params:execution",
                    "params:seed",
                ],
                [
                    "evaluation_results",
                    "evaluation_gains",
                    "transfer_results",
                    "transfer_gains",
                    "evaluation_steps",
                    "evaluation_first_actions",
                    "evaluation_inoperable",
                ],
                name="evaluate",
            )
        ],
    )
