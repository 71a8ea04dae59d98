"""Peers on the same images, alone and behind the controllers."""

from kedro.pipeline import Pipeline, node

from superstar.pipelines.peers import nodes


def create_pipeline() -> Pipeline:
    """The pipeline."""
    asked = [
        "shifted_sets",
        "validation_reference",
        "supervisor",
        "classifier_standard",
        "peers_rule",
        "params:peers",
        "params:benchmark_generation",
        "params:execution",
        "params:seed",
    ]
    return Pipeline(
        [
            node(
                nodes.fit_rule,
                ["policy_surrogates", "supervisor", "params:surrogate_generation"],
                "peers_rule",
                name="fit_rule",
            ),
            node(nodes.ask_on_shifts, asked, "peers_on_shifts", name="ask_on_shifts"),
            node(nodes.ask_on_stream, asked, "peers_on_stream", name="ask_on_stream"),
            node(
                nodes.summarise,
                [
                    "peers_on_shifts",
                    "peers_on_stream",
                    "params:peers",
                    "params:reporting",
                    "params:seed",
                ],
                ["peers_table", "peers_beside_ours", "peers_metrics", "peers_report"],
                name="summarise_peers",
            ),
            node(
                nodes.draw_peers,
                ["peers_table", "peers_on_stream", "params:peers"],
                "peers_figure",
                name="draw_peers",
            ),
        ],
    )
