"""A run's settings changed one at a time, and what each change does on surrogates."""

from kedro.pipeline import Pipeline, node

from superstar.pipelines.sensitivity import nodes


def create_pipeline() -> Pipeline:
    """The pipeline."""
    return Pipeline(
        [
            node(
                nodes.lay_out_points,
                [
                    "validation_design",
                    "supervisor",
                    "params:policy_training",
                    "params:surrogate_generation",
                    "params:sensitivity.run_time",
                    "params:sensitivity.retrained",
                    "params:execution",
                    "params:seed",
                ],
                "sensitivity_points",
                name="lay_out_points",
            ),
            node(
                nodes.train_policies,
                [
                    "sensitivity_points",
                    "policy_surrogates",
                    "supervisor",
                    "params:policy_training",
                    "params:surrogate_generation",
                    "params:execution",
                    "params:seed",
                ],
                ["sensitivity_actors", "sensitivity_returns"],
                name="train_policies",
            ),
            node(
                nodes.measure_points,
                [
                    "sensitivity_points",
                    "sensitivity_actors",
                    "surrogates",
                    "validation_design",
                    "supervisor",
                    "classifier_standard",
                    "params:policy_training",
                    "params:sensitivity.trials",
                    "params:execution",
                    "params:seed",
                ],
                "sensitivity_on_surrogates",
                name="measure_points",
            ),
            node(
                nodes.summarise,
                ["sensitivity_points", "sensitivity_on_surrogates", "sensitivity_returns"],
                ["sensitivity_sweep", "sensitivity_report"],
                name="summarise_sensitivity",
            ),
            node(
                nodes.draw_sweep, "sensitivity_sweep", "sensitivity_figure", name="draw_sensitivity"
            ),
        ],
    )
