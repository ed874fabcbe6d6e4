"""All derivations by name, each built when it is first asked for."""

from __future__ import annotations

import difflib
import importlib
import re
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

from theory.errors import InputError

if TYPE_CHECKING:
    from theory.symbolic.derivation import Derivation

_BUILDERS = {
    "lemma 2": "emb_mlp.lemma_2",
    "prop 1": "emb_mlp.prop_1",
    "cor 1": "corollaries.cor_1",
    "cor 2": "corollaries.cor_2",
    "next order": "next_order.next_order",
    "eq 22": "labels.label_formula",
    "trapezoid": "labels.trapezoid",
    "key distribution": "labels.key_formula",
    "mu_s": "moments.label_mean",
    "sigma_p": "moments.label_variance",
    "lemma 1": "attention.lemma_1",
    "lemma 3": "transformer.lemma_3",
    "eq 29": "transformer.eq_29",
    "prop 2": "propositions.prop_2",
    "prop 2 exact": "propositions.prop_2_exact",
    "prop 3": "propositions.prop_3",
    "prop 3 exact": "propositions.prop_3_exact",
    "rho anchor": "last_position.rho_anchor",
    "rho key": "last_position.rho_key",
    "all small": "propositions.all_small",
    "layer norm": "layer_norm.layer_norm",
    "normed drive": "layer_norm.normed_drive",
    "attention gain": "gains.attention_gain",
    "query key": "query_key.logit_drive",
    "two factors": "growth.two_factors",
    "lemma 4": "value_matrix.lemma_4",
    "eq 38": "value_matrix.eq_38",
    "theorem 2": "value_matrix.theorem_2",
    "theorem 1": "normal_limit.theorem_1",
    "eq 13": "normal_limit.eq_13",
    "gaussian inner product": "geometry.gaussian_inner_product",
    "cosine": "geometry.gaussian_cosine",
    "conserved 1": "flows.conserved_input",
    "conserved 2": "flows.conserved_output",
    "linearised": "flows.linearised",
    "decay clock": "decay.clock",
    "decay blow up": "decay.blow_up",
    "decay conserved": "decay.decayed_conserved",
    "saddle": "saddle.saddle",
    "batch variance": "batches.batch_variance",
    "epoch variance": "batches.epoch_variance",
    "reshuffled scatter": "scatter.reshuffled_scatter",
    "sgd mean": "sgd_moments.sgd_mean",
    "sgd covariance": "sgd_moments.sgd_covariance",
    "reshuffled covariance": "reshuffled.reshuffled_covariance",
    "reshuffled shift": "reshuffled.reshuffled_shift",
    "adam step": "adam.adam_step",
    "adam moment": "adam.adam_moment",
    "second moment": "mean_training.second_moment",
    "clipped square": "mean_training.clipped_square",
    "mean course": "mean_training.mean_course",
    "held out": "held_out.parallelogram",
    "late frozen logits": "held_out.late_logits",
    "one mode": "held_out.widest_margin",
    "explained share": "explained.explained",
}
_EQUATIONS = {
    "prop 1": (4, 5, 20),
    "cor 1": (7, 21, 26),
    "cor 2": (27,),
    "trapezoid": (8,),
    "key distribution": (23, 24, 25),
    "lemma 2": (19,),
    "eq 29": (28,),
    "prop 2": (10,),
    "prop 3": (11,),
    "theorem 1": (12,),
    "eq 13": (34,),
    "cosine": (14,),
    "lemma 4": (35,),
    "eq 38": (36, 37),
}
_WORDS = {
    "proposition": "prop",
    "corollary": "cor",
    "equation": "eq",
    "eqn": "eq",
    "thm": "theorem",
    "lem": "lemma",
    "linearized": "linearised",
}
_LONGEST_NAME = 100
_OTHER_NAMES = {
    "label distribution": "eq 22",
    "label law": "eq 22",
    "key law": "key distribution",
    "reasoning anchor": "cor 2",
    "memory anchor": "cor 1",
    "key": "key distribution",
    "variance": "sigma_p",
    "sigma_p^2": "sigma_p",
    "mean": "mu_s",
    "prop 1 next order": "next order",
    "eq 5 next order": "next order",
    "coupled": "conserved 1",
    "conserved": "conserved 1",
    "theorem 1 cosine": "cosine",
    "closure": "linearised",
    "bound 13": "eq 13",
    "inner product": "gaussian inner product",
    "held-out combinations": "held out",
    "mean training": "mean course",
    "task's scalar": "explained share",
}


class _Derivations(Mapping[str, "Derivation"]):
    """The registry: looking one derivation up builds it and what it rests on, and nothing else."""

    def __getitem__(self, name: str) -> Derivation:
        return _builder(name)()

    def __contains__(self, name: object) -> bool:
        return name in _BUILDERS

    def __iter__(self) -> Iterator[str]:
        return iter(_BUILDERS)

    def __len__(self) -> int:
        return len(_BUILDERS)


def _builder(name: str) -> Callable[[], Derivation]:
    module, function = _BUILDERS[name].split(".")
    found: Callable[[], Derivation] = getattr(importlib.import_module(f"theory.symbolic.{module}"), function)
    return found


def derivations() -> Mapping[str, Derivation]:
    """Return all derivations by name, in the order of the documentation.

    Each is built when it is first looked up; listing the names builds nothing.
    """
    return _Derivations()


def find_derivation(name: str) -> Derivation:
    """Return the derivation that ``name`` means, such as "prop 1", "Prop. 1", "Proposition 1" or "eq 5".

    Case, dots, brackets and spaces do not matter. An equation number finds the statement it belongs to.

    Raises
    ------
    InputError
        If no derivation has that name; the message names the nearest.
    """
    known = _names()
    if not isinstance(name, str):
        raise InputError("name", name, "not text", f"choose one of {', '.join(_BUILDERS)}")
    wanted = _plain(name[:_LONGEST_NAME])
    if wanted not in known:
        near = difflib.get_close_matches(wanted, known, n=1, cutoff=0.0)[0]
        raise InputError(
            "name",
            name,
            "no such derivation",
            f"did you mean {known[near]!r}? There are: {', '.join(_BUILDERS)}",
        )
    return derivations()[known[wanted]]


def _names() -> dict[str, str]:
    """Return every accepted name, plainly written, and the registry's own name for it."""
    names = {_plain(name): name for name in _BUILDERS}
    names |= {_plain(other): name for other, name in _OTHER_NAMES.items()}
    return names | {f"eq{n}": name for name, numbers in _EQUATIONS.items() for n in numbers}


def _plain(name: str) -> str:
    words = re.findall(r"[a-z]+|\d+", name.lower())
    return "".join(_WORDS.get(word, word) for word in words)
