"""A policy in place of the search of `calibrated`: both on surrogates that neither learned from."""

import argparse
import time
from collections.abc import Iterator, Mapping, Sequence
from itertools import product

import numpy as np
import pandas as pd
import torch
from torch import Tensor, nn

from benchmarks.finished_run import add_arguments, open_run
from benchmarks.sequences import DEPTH, Cell, Node, grow_all
from superstar.control.calibrated import Calibrated
from superstar.control.trials import name_of
from superstar.control.worth import Worth, find_worth
from superstar.pipelines.pages import table
from superstar.training import fixed_threads, global_seed

IMAGES, SEEDS, UPDATES, LEARNING_RATE, ENTROPY, HIDDEN = 96, 3, 400, 3e-3, 0.02, 64


class Search:
    """The candidate that promises most of those that the search accepts."""

    def __init__(self, controller: Calibrated, worth: Mapping[str, Worth]) -> None:
        self.limits, self.worth, self.margins = controller.limits, worth, self

    def accepted(self, node: Node) -> dict[str, float]:
        """What passes of all that follow, and what share of what was lost it promises."""
        limits, gains = self.limits, {}
        for name, worth in self.worth.items():
            if after := node.after.get(name):
                fall, rise = (node - after)[0], (after.bands - node.bands).max()
                passed = fall >= max(worth.margin, limits.least_fall * node.reading)
                if passed and rise <= limits.most_rise * node.bands.sum():
                    gains[name] = worth.gain(fall / node.reading)
        return {name: gain for name, gain in gains.items() if gain > limits.least_gain}

    def next(self, node: Node, step: int) -> str | None:
        """None stops."""
        gains = self.accepted(node)
        return max(gains, key=gains.__getitem__, default=None)


class Policy(nn.Module):
    """Actor and critic on the logarithms of bands; the first action stops."""

    def __init__(self, bands: int, names: Sequence[str], margins: Search | None) -> None:
        super().__init__()
        self.names, self.margins = list(names), margins
        layers = nn.Linear(bands + 1, HIDDEN), nn.Tanh(), nn.Linear(HIDDEN, HIDDEN), nn.Tanh()
        self.body = nn.Sequential(*layers)
        self.actor, self.critic = nn.Linear(HIDDEN, 1 + len(names)), nn.Linear(HIDDEN, 1)

    def views(self, nodes: Sequence[tuple[Node, int]]) -> tuple[Tensor, Tensor]:
        """States of nodes at steps, and which actions they allow, (B, actions)."""
        states = np.array([[*np.log(node.bands + 0.01), step] for node, step in nodes])
        known = [["", *(self.margins or self).accepted(node)] for node, _ in nodes]
        allowed = [[name in names for name in ("", *self.names)] for names in known]
        return torch.from_numpy(states).float(), torch.tensor(allowed)

    def accepted(self, node: Node) -> list[str]:
        """All that follow."""
        return list(node.after)

    def forward(self, states: Tensor, allowed: Tensor) -> tuple[Tensor, Tensor]:
        """Log-probabilities (B, actions) and values (B,)."""
        hidden = self.body(states)
        logits = self.actor(hidden).masked_fill(~allowed, -1e9)
        return torch.log_softmax(logits, 1), self.critic(hidden).squeeze(1)

    @torch.no_grad()
    def next(self, node: Node, step: int) -> str | None:
        """The most likely action; None stops."""
        action = int(self(*self.views([(node, step)]))[0].argmax())
        return self.names[action - 1] if action else None

    def learn(self, cells: Sequence[Cell]) -> None:
        """Advantage actor-critic: an update plays every cell once; returns are points / 10."""
        nodes, after = [(cell.root, 0) for cell in cells], []
        for node, step in nodes:  # It grows: what follows a node joins at the end.
            known = {name: len(nodes) + place for place, name in enumerate(node.after)}
            nodes += [(child, step + 1) for child in node.after.values()]
            after.append([len(after), *(known.get(name, 0) for name in self.names)])
        states, allowed = self.views(nodes)
        follows = torch.tensor(after)
        points = torch.tensor([node.accuracy / 10 for node, _ in nodes])
        optimizer = torch.optim.Adam(self.parameters(), lr=LEARNING_RATE)
        for _ in range(UPDATES):
            at, going, played = torch.arange(len(cells)), torch.ones(len(cells)), []
            for _ in range(DEPTH):
                logs, values = self(states[at], allowed[at])
                actions = torch.multinomial(logs.detach().exp(), 1)
                played.append((at, going, logs, values, logs.gather(1, actions)[:, 0]))
                at, going = follows[at].gather(1, actions)[:, 0], going * (actions[:, 0] > 0)
            loss = torch.zeros(())
            for before, some, logs, values, log in played:
                advantage = points[at] - points[before] - values
                entropy = -(logs.exp() * logs).sum(1)
                each = advantage**2 / 2 - advantage.detach() * log - ENTROPY * entropy
                loss = loss + (some * each).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


def choosers(
    cells: list[Cell], controller: Calibrated
) -> Iterator[tuple[str, int, float, Search | Policy]]:
    """What these cells teach, and the search with what the run's calibration learned."""
    rows = [
        (
            name_of(cell.shifts),
            name,
            cell.root.reading,
            cell.root.accuracy / 100,
            *(cell.root - node),
        )
        for cell in cells
        for name, node in cell.root.after.items()
    ]
    columns = ["shift", "candidate", "reading", "accuracy", "fall", "gain"]
    trials = pd.DataFrame(rows, columns=columns)
    search = Search(controller, find_worth(trials, bound=0.5, clean_bound=1.0, confidence=0.95))
    yield "search", 0, 0.0, search
    yield "search, the run's worth (all surrogates)", 0, 0.0, Search(controller, controller.worth)
    kinds = {"policy": None, "policy, the search's margins": search}
    for (title, margins), seed in product(kinds.items(), range(SEEDS)):
        begun, first = time.perf_counter(), cells[0].root
        with global_seed(seed), fixed_threads(1):
            policy = Policy(len(first.bands), list(first.after), margins)
            policy.learn(cells)
        yield title, seed, time.perf_counter() - begun, policy


def play(cell: Cell, chooser: Search | Policy, home: float) -> dict[str, float]:
    """Points that it gains on a cell, whether it touches it, and seconds of what it tried."""
    node, seconds, taken = cell.root, 0.0, 0  # The gate first, then what calls it home.
    while node.after and node.reading > home:
        name = chooser.next(node, taken)
        seconds += sum(c.seconds for n, c in node.after.items() if chooser.margins or n == name)
        if name is None:
            break
        node, taken = node.after[name], taken + 1
    return {"gain": (cell.root - node)[1], "touched": float(taken > 0), "seconds": seconds}


def compare(cells: list[Cell], controller: Calibrated, home: float) -> pd.DataFrame:
    """A row a split, chooser, seed and cell, of the pool that the chooser did not learn from."""
    rows, names = [], {name: None for cell in cells for name, _ in cell.shifts}
    for out, pool in product(["", *names], (0, 1)):
        split = "its surrogate left out" if out else "all surrogates learned"
        hit = [cell for cell in cells if not out or out in dict(cell.shifts)]
        known = [c for c in cells if c.pool == pool and not (out and c in hit)]
        asked = [c for c in cells if c.pool != pool and (c in hit or not c.shifts)]
        for name, seed, trained, chooser in choosers(known, controller):
            for cell in asked:
                row = {"learned": split, "chooser": name, "seed": seed, "training": trained}
                row |= {"shift": name_of(cell.shifts), "best": cell.root.best - cell.root.accuracy}
                rows.append(row | play(cell, chooser, home))
    return pd.DataFrame(rows)


def summarise(found: pd.DataFrame) -> pd.DataFrame:
    """A row a split and chooser; gains are of shifted cells, in points."""
    rows = []
    for key, part in found.groupby(["learned", "chooser"], sort=False):
        shifted, clean = part[part["shift"] != "none"], part[part["shift"] == "none"]
        gain, by_seed = shifted["gain"], shifted.groupby("seed")["gain"].mean()
        row = dict(zip(("learned", "chooser"), key, strict=True))
        row |= {"gain": by_seed.mean(), "sd of seeds": by_seed.std()}
        row |= {"% of the best": 100 * gain.sum() / shifted["best"].sum()}
        row |= {"worst cell": gain.min(), "% that lose": 100 * (gain < 0).mean()}
        row |= {"% clean touched": 100 * clean["touched"].mean()}
        row |= {"training s": part["training"].mean(), "decision s": shifted["seconds"].mean()}
        rows.append(row)
    return pd.DataFrame(rows)


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table of a finished run."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.choosers", description=__doc__)
    add_arguments(parser)
    given = parser.parse_args(arguments)
    catalog, parameters = open_run(given.project, given.env)
    begun = time.process_time()
    cells = list(grow_all(catalog, parameters, IMAGES))
    print(f"{len(cells)} trees in {time.process_time() - begun:.0f} s of processor time\n")
    controller = catalog.load("supervisor").calibrated
    found = compare(cells, controller, controller.gate.threshold(IMAGES))
    print(table(summarise(found), digits=1))


if __name__ == "__main__":
    main()
