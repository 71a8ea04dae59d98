"""Peers on the same images, alone and behind the controllers."""

from kedro.pipeline import Pipeline, node

from superstar.pipelines.peers import nodes


def create_pipeline() -> Pipeline:
    """The pipeline."""
    return Pipeline(
        [
            node(
                nodes.ask,
                [
                    "shifted_sets",
                    "validation_reference",
                    "policy_surrogates",
                    "supervisor",
                    "classifier_standard",
                    "robust_classifiers",
                    "params:peers",
                    "params:benchmark_generation",
                    "params:surrogate_generation",
                    "params:evaluation.precision",
                    "params:execution",
                    "params:seed",
                ],
                ["peers_on_shifts", "peers_on_stream"],
                name="ask_peers",
            ),
            node(
                nodes.summarise,
                [
                    "peers_on_shifts",
                    "peers_on_stream",
                    "params:peers",
                    "params:reporting",
                    "params:seed",
                ],
                [
                    "peers_table",
                    "peers_beside_ours",
                    "peers_metrics",
                    "peers_report",
                    "peers_figure",
                ],
                name="summarise_peers",
            ),
        ],
    )
