"""Surrogate batches to thresholds, policy and the supervisor's folder."""

from kedro.pipeline import Pipeline, node

from superstar.pipelines.policy_training import nodes


def create_pipeline() -> Pipeline:
    """The pipeline."""
    return Pipeline(
        [
            node(
                nodes.calibrate_thresholds,
                [
                    "validation_design",
                    "validation_points",
                    "projection",
                    "params:distance.measure",
                    "denoiser",
                    "params:policy_training",
                    "params:surrogate_generation",
                    "params:execution",
                    "params:seed",
                ],
                ["thresholds", "clean_ratios"],
                name="calibrate_thresholds",
            ),
            node(
                nodes.train_policy,
                [
                    "policy_surrogates",
                    "validation_points",
                    "projection",
                    "params:distance.measure",
                    "denoiser",
                    "thresholds",
                    "params:policy_training",
                    "params:surrogate_generation",
                    "params:execution",
                    "params:seed",
                ],
                ["actor", "critic", "policy_curves", "policy_episodes", "policy_metrics"],
                name="train_policy",
            ),
            node(
                nodes.assemble_supervisor,
                [
                    "actor",
                    "operability_tree",
                    "denoiser",
                    "validation_points",
                    "projection",
                    "params:distance.measure",
                    "thresholds",
                    "validation_reference",
                    "calibrated",
                    "params:policy_training",
                    "params:benchmark",
                ],
                "supervisor",
                name="assemble_supervisor",
            ),
        ],
    )
