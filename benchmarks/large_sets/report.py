"""The report, in Markdown. Its sentences hold whatever the numbers are."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from benchmarks.large_sets import estimate
from benchmarks.large_sets.inputs import ACTION, CELL, section
from benchmarks.large_sets.measuring import CellCost, Parts
from benchmarks.report import number, table

CORES, MACHINES = 2, 8


@dataclass(frozen=True)
class Measured:
    """What a run of the benchmark found.

    Attributes:
        pixels: side of the images.
        files: different image files of the set.
        classifier: its name.
        given: whether the supervisor was a user's own.
        costs: by size, rising.
        parts: of a cell.
    """

    pixels: int
    files: int
    classifier: str
    given: bool
    costs: Sequence[CellCost]
    parts: Parts


def compose(facts: Mapping[str, str], measured: Measured) -> str:
    """The whole page."""
    facts = {name: value for name, value in facts.items() if name != "threads"}
    head = f"""# Scale

Memory and time of the evaluation against the size of a shifted set. Written by \
`python -m benchmarks.large_sets --images FOLDER --output docs/large_sets.md`, all in one run.

{chr(10).join(f"- {name}: {value}" for name, value in facts.items())}"""
    return "\n\n".join([head, _cells(measured), _parts(measured), _whole(measured)]) + "\n"


def _cells(measured: Measured) -> str:
    first = measured.costs[0]
    side = f"{measured.pixels}x{measured.pixels}"
    supervisor = (
        "The supervisor is that of a run"
        if measured.given
        else f"The supervisor wants `{ACTION}` once, whatever it sees: its denoiser has the shape "
        "that a run trains, and random weights, since only the work counts. The packaged "
        "denoiser, today's default, takes 1.15 to 1.3 times as long ([its card](denoiser.md))"
    )
    rows = [
        {
            "images": f"{cost.images:,}",
            "s": number(cost.seconds.wall),
            "processor s": number(cost.seconds.processor),
            "Algorithm 1, s": number(cost.batch_seconds.processor),
            "images/s": number(cost.images / cost.seconds.processor),
            "ms an image": number(1000 * cost.per_image),
            "peak RSS, MB": "" if cost.megabytes is None else f"{cost.megabytes:,.0f}",
            "sequences scored": ", ".join(map(_sequence, cost.sequences)),
        }
        for cost in measured.costs
    ]
    return f"""## One cell

`{CELL.shift}` at severity {CELL.severity}, {side}, JPEG files; one trial with a batch of \
{first.batch:,}, {section("execution")["batch_size"]} images at a time through {ACTION} and \
`{measured.classifier}` in {section("evaluation")["precision"]}; one thread, and a fresh process \
for each size. The sets repeat the names of {measured.files:,} files, so all but the first \
reading comes from the system's cache. {supervisor}.

{table(rows)}

Processor seconds are those that the process computed; images a second follow from them, and so \
does an image's cost, Algorithm 1 left out. The peak is that of the whole process: Python, \
libraries and networks included.

{_memory(measured.costs)}

{_time(measured.costs)}"""


def _sequence(actions: Sequence[str]) -> str:
    return " then ".join(f"`{action}`" for action in actions) or "none"


def _memory(costs: Sequence[CellCost]) -> str:
    grown, last = estimate.growth(costs), estimate.last_growth(costs)
    if grown is None or last is None:
        return "- Memory: not measured, since this system does not tell it."
    holds = "holds" if grown < estimate.MOST_GROWTH else "DOES NOT HOLD"
    return (
        f"- Memory grows by less than {estimate.MOST_GROWTH:g} MB: **{holds}**. From "
        f"{costs[0].images:,} to {costs[-1].images:,} images the peak changes by {grown:+,.1f} MB, "
        f"from {costs[-2].images:,} to {costs[-1].images:,} by {last:+,.1f} MB."
    )


def _time(costs: Sequence[CellCost]) -> str:
    if len({cost.sequences for cost in costs}) > 1:
        return (
            "- Time grows in proportion to the images: not checked, since the supervisor chose "
            "other sequences in one set than in another."
        )
    apart = estimate.spread(costs)
    holds = "holds" if apart <= estimate.MOST_SPREAD else "DOES NOT HOLD"
    return (
        f"- Time grows in proportion to the images within {estimate.MOST_SPREAD:.0%}: **{holds}**. "
        f"An image costs {apart:.1%} more in one size than in another at most."
    )


def _parts(measured: Measured) -> str:
    parts, largest = measured.parts, measured.costs[-1]
    rows = [
        {"": name, "ms an image": number(1000 * seconds), "images/s": number(1 / seconds)}
        for name, seconds in (
            ("decode", parts.decode),
            ("state", parts.state),
            (f"`{ACTION}`", parts.action),
            ("classification", parts.classification),
        )
    ]
    check = ""
    scored = [sequence for sequence in largest.sequences if sequence]
    if scored == [(ACTION,)]:
        share = estimate.foretold(parts, len(scored)) / largest.per_image - 1
        check = (
            f" An image of the cell above is decoded {estimate.DECODED} times, its state taken "
            f"once, `{ACTION}` applied once, and it is classified twice: by this table "
            f"{number(1000 * estimate.foretold(parts, len(scored)))} ms, which is {share:+.0%} "
            f"from what it took among {largest.images:,}."
        )
    return f"""## The parts

One pass of each over {parts.count:,} images, in processor seconds of one thread.

{table(rows)}

A pass of the denoiser over an image takes {number(parts.action_flops / 1e9)} GFLOP, one of the \
classifier {number(parts.classification_flops / 1e9)} (multiplications and additions of \
convolutions and products).{check}"""


def _whole(measured: Measured) -> str:
    whole = estimate.whole(measured.parts, measured.costs[-1])
    gpu, accelerator = estimate.on_gpu(measured.parts), estimate.GPU
    cluster = CORES * MACHINES
    rows = [
        {"": name, "hours": number(whole.hours(workers)), "idle": f"{whole.idle(workers):.0%}"}
        for name, workers in (
            (f"{CORES} cores", CORES),
            (f"Dask cluster of {MACHINES} such machines", cluster),
        )
    ]
    return f"""## ImageNet-C whole, estimated

{estimate.CELLS} cells (19 shifts at five severities, and the clean set) of {estimate.IMAGES:,} \
images, one classifier, {estimate.TRIALS} trials with batches of {estimate.BATCH:,}, and \
{estimate.SEQUENCES} different sequences of one action in each cell, each costing as much as \
`{ACTION}`. By the parts above a cell takes {number(whole.cell / 60)} minutes of one thread, of \
which the trials take {whole.trials / whole.cell:.0%}; all cells take \
{number(whole.thread_hours)} hours of one thread. Each further classifier adds \
{number(_classifier_hours(measured.parts))} hours of one thread if it costs what this one does.

{table(rows)}

Nothing passes between cells, so a worker of one thread on each core takes one after another; \
"idle" is the share of the workers' time that is lost while the last ones finish. What a core \
loses to its neighbour, and what reading files from a disk or over a network takes, is not in it.

On a GPU this is not measured. The networks' {number(gpu.operations / 1e15)} PFLOP would take an \
{accelerator.name} ({accelerator.flops / 1e12:g} TFLOP/s in bfloat16 by its data sheet) \
{number(gpu.network_hours)} hours at an assumed utilisation of {accelerator.utilisation:.0%}. \
Decoding and states stay on the processor and take {number(gpu.thread_hours)} hours of one thread, \
to be divided by its cores."""


def _classifier_hours(parts: Parts) -> float:
    passes = estimate.CELLS * estimate.IMAGES * (1 + estimate.SEQUENCES)
    return passes * parts.classification / estimate.HOUR
