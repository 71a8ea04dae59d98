"""The report, in Markdown. Its sentences hold whatever the numbers are."""

from collections.abc import Mapping, Sequence

import pandas as pd

from benchmarks.cases import DENSE, SSIM_FLOPS, STEP_ACTION, STEP_PARTS
from benchmarks.growth import PowerLaw
from benchmarks.machine import Peaks
from benchmarks.measure import LONG, WARM_UP, Measured
from benchmarks.session import SHARES, Results, Row

REST = tuple(name for name in STEP_PARTS if name != "wasserstein")
"""What a step does beside exact transport."""


def report(facts: Mapping[str, str], peaks: Peaks, sizes: Sequence[Results], repeats: int) -> str:
    """The whole report."""
    head = f"""# Benchmarks

Written by `make bench`, all in one run.

{chr(10).join(f"- {name}: {value}" for name, value in facts.items())}

Seconds are those of the fastest of {repeats} or more calls (fewer once they have taken \
{LONG:g} s), after one on up to {WARM_UP} images that is not counted. MB is the peak of memory \
during a call above what was held before it, which includes the input; where a peer runs in \
several processes, their peaks are added up. Peers get all cores and images in the \
layout that suits them. The ratio is the peer's time by ours: above 1 we are faster."""
    return "\n\n".join([head, *(_size(results, peaks) for results in sizes)]) + "\n"


def _size(results: Results, peaks: Peaks) -> str:
    size, count = f"{results.size}x{results.size}", f"{results.count:,}"
    sections = [
        f"""## {count} images, {size}

{table([_row(row) for row in results.rows])}

Distances are between {count} and {count} points of {results.dimensions:,} dimensions, `aline_d` \
between labels instead. The column "reads" is our time as a multiple of one read of the call's \
input (PyTorch's sum of it, with all threads), about the least that a call can take which looks at \
every value. `dncnn` is the network that a run trains (`denoiser_training.source: train`), with \
random weights; the published one beside it is larger, so that ratio is what the smaller network \
saves. `step` is one `ShiftEnv.step` with `{STEP_ACTION}` on images not seen before: \
{", ".join(STEP_PARTS)}."""
    ]
    if results.made:
        sections.append(
            f"""### Before the first image, {size}

{table([_made_row(name, cost) for name, cost in results.made.items()])}

What a projection makes once, with its first image, and keeps; the table above leaves it out. So \
it does for the peers' dense product, whose matrix is that of `uniform_qr`."""
        )
    shares = [row for row in results.rows if row.flops is not None]
    if shares:
        sections.append(
            f"""### Share of the machine's peak, {size}

{table([_share_row(row, peaks) for row in shares])}

{_peaks(peaks)} Operations are those of a product with the matrix ({", ".join(DENSE)}), of the \
network's convolutions (dncnn), and of SSIM by its textbook form ({SSIM_FLOPS} a value: five maps, \
two passes of eleven taps each), however it is computed."""
        )
    if results.growth:
        notes = [
            "Seconds by number of images, and k of the power law N^k fitted to the row: 1 is a "
            "cost in proportion to the images.",
            _clouds(results),
            _crossing(results.growth),
        ]
        sections.append(
            f"""### Growth with the batch, {size}

{_growth_table(results.growth)}

{" ".join(filter(None, notes))}"""
        )
    return "\n\n".join(sections)


def _row(row: Row) -> dict[str, str]:
    peer = row.peer
    return {
        "": row.name,
        "s": number(row.ours.seconds),
        "MB": _megabytes(row.ours),
        "reads": number(row.ours.seconds / row.read),
        "peer": row.peer_name,
        "peer s": number(peer.seconds) if peer else "",
        "peer MB": _megabytes(peer) if peer else "",
        "ratio": number(peer.seconds / row.ours.seconds) if peer else "",
    }


def _made_row(name: str, cost: Measured) -> dict[str, str]:
    return {"": name, "s": number(cost.seconds), "MB": _megabytes(cost)}


def _share_row(row: Row, peaks: Peaks) -> dict[str, str]:
    assert row.flops is not None
    rate = row.flops / row.ours.seconds
    half = peaks.bfloat16 if row.name == "dncnn" else None
    return {
        "": row.name,
        "GFLOP": number(row.flops / 1e9),
        "GFLOP/s": number(rate / 1e9),
        "precision": "bfloat16" if half else "float32",
        "share of its peak": f"{rate / (half or peaks.float32):.1%}",
    }


def _peaks(peaks: Peaks) -> str:
    half = ""
    if peaks.bfloat16:
        half = f", in bfloat16 {number(peaks.bfloat16 / 1e9)}"
    return (
        f"A product of large matrices reaches {number(peaks.float32 / 1e9)} GFLOP/s in float32"
        f"{half} on this machine."
    )


def _growth_table(growth: Mapping[str, Mapping[int, float]]) -> str:
    sizes = sorted({size for seconds in growth.values() for size in seconds})
    rows = []
    for name, seconds in growth.items():
        row = {"": name}
        row |= {f"{size:,}": number(seconds[size]) if size in seconds else "" for size in sizes}
        rows.append(row | {"k": f"{PowerLaw.fit(seconds).exponent:.2f}"})
    return table(rows)


def _clouds(results: Results) -> str:
    if "wasserstein" not in results.growth:
        return ""
    images = int(max(SHARES) * results.count)
    return (
        f"Beyond {images:,} points, exact transport runs between Gaussian points with the mean "
        "and the covariance of the real ones."
    )


def _crossing(growth: Mapping[str, Mapping[int, float]]) -> str:
    """From which size on exact transport costs more than the rest of a step."""
    needed = (*REST, "wasserstein", "sliced_wasserstein")
    if any(name not in growth for name in needed):
        return ""
    sizes = growth[REST[0]]
    exact = PowerLaw.fit(growth["wasserstein"])
    rest = PowerLaw.fit({size: sum(growth[name][size] for name in REST) for size in sizes})
    names = f"the rest of a step ({', '.join(REST)}; k {rest.exponent:.2f})"
    from_size = exact.overtakes(rest)
    if from_size is None:
        return f"By these fits exact transport does not grow faster than {names}."
    sliced = PowerLaw.fit(growth["sliced_wasserstein"])
    measured = growth["wasserstein"]
    beyond = "" if min(measured) <= from_size <= max(measured) else ", outside what was measured"
    return (
        f"By these fits exact transport costs more than {names} from "
        f"{_count(from_size)} images on{beyond}: {number(exact(from_size))} s each; "
        f"`sliced_wasserstein` takes {number(sliced(from_size))} s there."
    )


def _count(value: float) -> str:
    """A number of images to two digits."""
    return f"{int(float(f'{value:.2g}')):,}"


def number(value: float) -> str:
    """Three significant digits, without an exponent."""
    if value >= 100:
        return f"{value:,.0f}"
    return f"{float(f'{value:.3g}'):.10f}".rstrip("0").rstrip(".")


def _megabytes(cost: Measured) -> str:
    return "" if cost.megabytes is None else f"{cost.megabytes:,.0f}"


def table(rows: Sequence[Mapping[str, str]]) -> str:
    return pd.DataFrame(rows).to_markdown(index=False, disable_numparse=True)
