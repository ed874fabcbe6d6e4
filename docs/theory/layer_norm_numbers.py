"""Print the numbers of docs/theory/layer_norm.md: python docs/theory/layer_norm_numbers.py [section ...].

Sections: regimes. No training; a second for all.
"""

from __future__ import annotations

import signal
import sys

import theory as th

RATES = (0.3, 0.5, 0.65, 0.8, 1.0, 1.2)


def regimes() -> None:
    print("## the paper's Transformer (d_m 200, d_k 64, d_f 512, L 9, ReLU), epsilon 1e-5")
    print(f"first norm reads a variance of epsilon at gamma = {th.epsilon_init_rate(200):.3f}")
    print("gamma  1/sqrt(v + eps)  v/(v + eps)  second post norm    attention / residual    FFN / residual")
    print(
        "                                                         none   pre    post      none   pre    post"
    )
    for gamma in RATES:
        variance = 2 * 200 ** (-2 * gamma)
        shares = [th.initial_norm_share(200, gamma, norm="post", n_norms=n) for n in (1, 2)]
        gains = [th.branch_gains(200, 64, 512, 9, gamma, norm=norm) for norm in ("none", "pre", "post")]
        attention = "  ".join(f"{gain.attention:5.3f}" for gain in gains)
        forward = "  ".join(f"{gain.feed_forward:5.3f}" for gain in gains)
        print(
            f"{gamma:<5}  {(variance + 1e-5) ** -0.5:<15.1f}  {shares[0]:<11.4f}  {shares[1]:<18.6f}  "
            f"{attention}     {forward}"
        )


SECTIONS = {"regimes": regimes}

if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # A reader that goes away, as head does, ends it.
    unknown = [name for name in sys.argv[1:] if name not in SECTIONS]
    if unknown:
        sys.exit(f"unknown section {unknown[0]!r}; choose from {', '.join(SECTIONS)}")
    for name in sys.argv[1:] or SECTIONS:
        SECTIONS[name]()
