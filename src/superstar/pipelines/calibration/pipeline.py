"""Clean images and surrogates to the denoiser's gate and the controller `calibrated`."""

from kedro.pipeline import Pipeline, node

from superstar.pipelines.calibration import nodes


def create_pipeline() -> Pipeline:
    """The pipeline."""
    return Pipeline(
        [
            node(
                nodes.fit_denoiser,
                [
                    "denoiser_network",
                    "validation_design",
                    "surrogate_strengths",
                    "classifier_standard",
                    "params:calibration.denoiser",
                    "params:scale",
                    "params:jpeg_quality",
                    "params:evaluation.precision",
                    "params:execution",
                    "params:seed",
                ],
                "denoiser",
                name="fit_denoiser",
            ),
            node(
                nodes.set_home,
                [
                    "validation_reference",
                    "clean_train",
                    "params:calibration",
                    "params:jpeg_quality",
                    "params:seed",
                ],
                ["home", "gate_table"],
                name="set_home",
            ),
            node(
                nodes.try_corrections,
                [
                    "validation_design",
                    "surrogate_strengths",
                    "classifier_standard",
                    "denoiser",
                    "home",
                    "borrowed_worth",
                    "params:calibration",
                    "params:scale",
                    "params:jpeg_quality",
                    "params:evaluation.precision",
                    "params:execution",
                    "params:seed",
                ],
                "correction_trials",
                name="try_corrections",
            ),
            node(
                nodes.weigh_corrections,
                ["home", "correction_trials", "borrowed_worth", "params:calibration"],
                ["calibrated", "correction_worth"],
                name="weigh_corrections",
            ),
        ],
    )
