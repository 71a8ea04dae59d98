"""Shifted sets, supervisor and classifiers to unaggregated results."""

from kedro.pipeline import Pipeline, node

from superstar.pipelines.evaluation import examples, nodes


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
            ),
            node(
                examples.trace_examples,
                [
                    "evaluation_results",
                    "shifted_sets",
                    "supervisor",
                    "classifier_standard",
                    "robust_classifiers",
                    "params:reporting",
                    "params:evaluation",
                    "params:execution",
                    "params:seed",
                ],
                "example_stages",
                name="trace_examples",
            ),
        ],
    )
