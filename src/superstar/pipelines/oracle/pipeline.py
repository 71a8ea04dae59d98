"""Policies beside one another, and beside the best that any policy could do."""

from kedro.pipeline import Pipeline, node

from superstar.pipelines.oracle import nodes


def create_pipeline() -> Pipeline:
    """The pipeline."""
    return Pipeline(
        [
            node(
                nodes.train_rivals,
                [
                    "policy_surrogates",
                    "validation_design",
                    "clean_test",
                    "supervisor",
                    "params:policy_training",
                    "params:surrogate_generation",
                    "params:oracle",
                    "params:execution",
                    "params:seed",
                ],
                ["rival_actors", "rival_rules", "rival_returns"],
                name="train_rivals",
            ),
            node(
                nodes.search_surrogates,
                [
                    "surrogates",
                    "supervisor",
                    "rival_actors",
                    "rival_rules",
                    "classifier_standard",
                    "params:oracle",
                    "params:evaluation",
                    "params:execution",
                    "params:seed",
                ],
                "oracle_on_surrogates",
                name="search_surrogates",
            ),
            node(
                nodes.search_tests,
                [
                    "shifted_sets",
                    "supervisor",
                    "rival_actors",
                    "rival_rules",
                    "classifier_standard",
                    "params:oracle",
                    "params:evaluation",
                    "params:benchmark_generation",
                    "params:execution",
                    "params:seed",
                ],
                "oracle_on_tests",
                name="search_tests",
            ),
            node(
                nodes.summarise,
                [
                    "oracle_on_surrogates",
                    "oracle_on_tests",
                    "rival_returns",
                    "params:evaluation",
                    "params:oracle",
                ],
                ["oracle_table", "oracle_metrics", "oracle_report"],
                name="summarise_oracle",
            ),
            node(nodes.draw_oracle, "oracle_on_tests", "oracle_figure", name="draw_oracle"),
        ],
    )
