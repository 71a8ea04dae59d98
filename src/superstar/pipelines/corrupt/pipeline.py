"""A folder of images by class to a benchmark of them in ImageNet-C's layout."""

from kedro.pipeline import Pipeline, node

from superstar.pipelines.corrupt import nodes


def create_pipeline() -> Pipeline:
    """The pipeline."""
    return Pipeline(
        [
            node(
                nodes.corrupt_files,
                ["images_to_corrupt", "params:corrupt", "params:scale", "params:seed"],
                "corrupted_sets",
                name="corrupt_files",
            ),
            node(
                nodes.describe,
                ["images_to_corrupt", "params:corrupt", "params:scale", "params:seed"],
                "corrupted_description",
                name="describe_corrupted",
            ),
        ],
    )
