"""Source to clean train, validation and test sets."""

from kedro.pipeline import Pipeline, node

from superstar.pipelines.data_preparation import nodes


def create_pipeline() -> Pipeline:
    """The pipeline."""
    return Pipeline(
        [
            node(
                nodes.prepare_clean_sets,
                ["clean_source", "params:data_preparation", "params:seed"],
                ["clean_train", "clean_validation", "clean_test", "class_names", "clean_summary"],
                name="prepare_clean_sets",
            ),
            node(
                nodes.split_validation,
                "clean_validation",
                ["validation_reference", "validation_design"],
                name="split_validation",
            ),
            node(
                nodes.project_validation,
                ["validation_reference", "params:distance", "params:seed"],
                ["validation_points", "projection"],
                name="project_validation",
            ),
        ],
    )
