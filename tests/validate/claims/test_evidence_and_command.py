"""Where runs come from, and the command: tables, JSON by its schema, exit codes, training what is missing."""

from __future__ import annotations

import copy
import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import validate
import validate.studies
from sim import Run
from sim.runs.folder import RunFolder
from tests.validate.claims.synthetic import learning, run
from tests.validate.conftest import tiny_config
from theory import InputError
from validate.claims import MissingRunsError, Needs, judge_claims, ledger
from validate.claims.evidence import Evidence, studies_in
from validate.claims.presentation import condition_rows, header, markdown, row, to_json
from validate.cli import main
from validate.observe import kept as observed
from validate.observe import observe, write_kept
from validate.observe.store import kept_file
from validate.studies import Study

SCHEMA = json.loads((Path(validate.__file__).parent / "schemas" / "claims.schema.json").read_text())
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)
COMPUTED = "38"
"""A claim that needs no runs and is judged at once."""
SLOW = (7, 19, 20)
"""Others that need none; test_computed judges them."""


@pytest.fixture(scope="module")
def kept(runs: list[Run], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tiny runs, kept as variants of a study; as emb-mlp, with the curves of the paper's opposite."""
    folder = tmp_path_factory.mktemp("kept")
    for found in map(observe, runs):
        opposite = learning(small=found.config.init_rate == 0.3)
        curves = run(found.config.init_rate, found.config.seed, opposite).metrics
        write_kept(replace(found, metrics=curves), kept_file("emb-mlp", None, found.config, folder))
        for variant in ("adamw", "sgd"):
            write_kept(found, kept_file("optimisers", variant, found.config, folder))
        if found.config.init_rate == 0.3:
            write_kept(found, kept_file("cut-short", None, found.config, folder))
    return folder


@pytest.fixture(scope="module")
def three_seeds(kept: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same of emb-mlp with a third seed, without which nothing is decided."""
    folder = tmp_path_factory.mktemp("three")
    for found in observed("emb-mlp", folder=kept):
        for seed in {found.config.seed, 2}:
            config = found.config.model_copy(update={"seed": seed})
            write_kept(replace(found, config=config), kept_file("emb-mlp", None, config, folder))
    return folder


@pytest.fixture(scope="module")
def root(runs: list[Run], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tiny runs' folders, laid out as studies."""
    folder = tmp_path_factory.mktemp("studies")
    shutil.copytree(runs[0].path.parent, folder / "emb-mlp")
    shutil.copytree(runs[0].path.parent, folder / "norms" / "pre-3e-4")
    return folder


@pytest.fixture(scope="module")
def computed() -> dict[str, Any]:
    """A claim that needs no runs, judged."""
    document: dict[str, Any] = to_json(judge_claims(ledger([int(COMPUTED)]), lambda needs: {}))
    VALIDATOR.validate(document)
    return document


def study(name: str) -> Study:
    """Two variants of the tiny configuration, whatever the name."""
    return Study(name, "test", {"adamw": tiny_config(), "sgd": tiny_config()})


def test_cells_hold_seeds_in_order(kept: Path) -> None:
    evidence = Evidence(folder=kept, load=study)
    found = evidence.find(Needs("emb-mlp", (0.8,)))
    assert list(found) == [("", 0.8)]
    assert [r.config.seed for r in found["", 0.8]] == [0, 1]
    every = evidence.find(Needs("optimisers", variants=()))
    assert list(every) == [("adamw", 0.3), ("adamw", 0.8), ("sgd", 0.3), ("sgd", 0.8)]
    assert evidence.has(Needs("optimisers", (0.3,), ("sgd",)))


@pytest.mark.parametrize(
    ("needs", "words"),
    [
        (Needs("transformer", (0.8,)), "transformer: no runs; make them: anchorflow study transformer"),
        (Needs("emb-mlp", (0.5,)), "emb-mlp: the study has no γ = 0.5$"),
        (Needs("cut-short", (0.8,)), "cut-short: no run at γ = 0.8; make them: anchorflow study cut-short"),
        (Needs("optimisers", (0.8,), ("lion",)), "optimisers, lion: no runs"),
        (Needs("optimisers", variants=("sgd",), least_rates=7), "2 of at least 7 γ"),
    ],
)
def test_what_is_missing_is_named(kept: Path, needs: Needs, words: str) -> None:
    evidence = Evidence(folder=kept, load=tiny_study)
    with pytest.raises(MissingRunsError, match=words):
        evidence.find(needs)
    assert not evidence.has(needs)


def test_only_what_a_study_defines_can_be_made(kept: Path) -> None:
    evidence = Evidence(folder=kept, load=tiny_study)
    assert evidence.can_make(Needs("transformer", (0.8,)))
    assert not evidence.can_make(Needs("optimisers", (0.8,)))
    assert not evidence.can_make(Needs("optimisers", (0.5,), ("sgd",)))
    assert not evidence.can_make(Needs("optimisers", (0.8,), ("lion",)))
    assert not Evidence(folder=kept).can_make(Needs("no-such-study", (0.8,)))


def test_a_seed_that_is_not_kept_can_be_made(kept: Path) -> None:
    def more(name: str) -> Study:
        return Study(name, "test", {None: tiny_config().model_copy(update={"seeds": (0, 1, 5)})})

    needs = Needs("emb-mlp", (0.8,))
    assert Evidence(folder=kept, load=tiny_study).has(needs)
    assert not Evidence(folder=kept, load=tiny_study).can_make(needs)
    assert Evidence(folder=kept, load=more).can_make(needs)


def five_seeds(name: str) -> Study:
    config = tiny_config().model_copy(update={"seeds": (0, 1, 2, 3, 5)})
    return Study(name, "test", {None: config} if name == "emb-mlp" else {"adamw": config, "sgd": config})


def test_seeds_that_are_not_kept_are_named(kept: Path) -> None:
    evidence = Evidence(folder=kept, load=five_seeds)
    words = "3 of 5 seeds missing: 2 (not kept), 3 (not kept), 5 (not kept)"
    for needs in (Needs("emb-mlp", (0.8,)), Needs("optimisers", variants=())):
        assert evidence.absent(needs) == words
    assert Evidence(folder=kept, load=tiny_study).absent(Needs("emb-mlp")) == ""


def test_a_seed_that_diverged_does_not_vanish_from_a_claim(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(root, tmp_path / "studies")
    for rate, seed, status in ((0.8, 2, "diverged"), (0.3, 2, "interrupted"), (0.8, 3, "diverged")):
        own = tmp_path / "studies" / "emb-mlp" / f"gamma{rate}_seed{seed}"
        made = json.loads((root / "emb-mlp" / "gamma0.8_seed0" / "provenance.json").read_text())
        own.mkdir()
        folder = RunFolder(own)
        folder.write("config.json", "{}")
        folder.write_provenance(made | {"status": status, "reason": "loss inf"})
    monkeypatch.setattr(validate.studies, "load_study", five_seeds)
    words = "3 of 5 seeds missing: 2 (diverged), 3 (diverged), 5 (not trained)"
    assert main(["claims", "4", "--runs", str(tmp_path / "studies"), "--json"]) in (0, 1)
    document = json.loads(capsys.readouterr().out)
    VALIDATOR.validate(document)
    (claim,) = document["claims"]
    conditions = [c for c in claim["conditions"] if c["runs"] == "emb-mlp, γ = 0.8"]
    assert {(c["absent"], len(c["values"])) for c in conditions} == {(words, 2)}
    assert all(line[-1].endswith(f"; {words}") for line in condition_rows(claim | {"conditions": conditions}))
    evidence = Evidence(studies_in([tmp_path / "studies"]), None, five_seeds)
    assert "2 (diverged, interrupted), 3 (diverged, not trained), 5" in evidence.absent(Needs("emb-mlp"))
    small = Needs("emb-mlp", (0.8,))
    assert evidence.can_make(small)
    shutil.rmtree(tmp_path / "studies" / "emb-mlp" / "gamma0.8_seed3")
    three = {None: tiny_config().model_copy(update={"seeds": (0, 1, 2)})}
    assert not Evidence(
        studies_in([tmp_path / "studies"]), None, lambda name: Study(name, "test", three)
    ).can_make(small)
    words = words.replace("3 (diverged)", "3 (not trained)")
    # Nobody asks for a γ that has no run at all: what is about every γ is about those that have runs.
    for run_folder in (tmp_path / "studies" / "emb-mlp").glob("gamma0.3*"):
        shutil.rmtree(run_folder)
    evidence = Evidence(studies_in([tmp_path / "studies"]), None, five_seeds)
    assert evidence.absent(Needs("emb-mlp")) == words


def test_the_ledger_asks_for_runs_that_its_studies_define() -> None:
    """But for γ = 0.5, which some settings that claims 13 and 25 are judged at do not have."""
    nothing_kept = Evidence(folder=None)
    asked = [(claim.number, c.needs) for claim in ledger() for c in claim.conditions if c.needs]
    lost = {
        (number, needs.study, needs.init_rates) for number, needs in asked if not nothing_kept.can_make(needs)
    }
    without = {(n, study) for n in (13, 25) for study in ("post-norm", "no-norm-all")}
    assert lost == {(*pair, (0.5,)) for pair in without}
    assert len(asked) > 200


def test_a_defined_variant_without_runs_is_missing_and_not_left_out(kept: Path) -> None:
    def three(name: str) -> Study:
        return Study(name, "test", dict.fromkeys(("adamw", "lion", "sgd"), tiny_config()))

    with pytest.raises(MissingRunsError, match="optimisers, lion"):
        Evidence(folder=kept, load=three).find(Needs("optimisers", variants=()))
    with pytest.raises(MissingRunsError, match="not defined"):
        Evidence(folder=kept).find(Needs("no-such-study", variants=()))


def tiny_study(name: str) -> Study:
    """The tiny configuration, as a variant where the study's runs lie in one."""
    variants = {"norms": ["pre-3e-4"], "optimisers": ["adamw", "sgd"]}.get(name, [None])
    return Study(name, "test", dict.fromkeys(variants, tiny_config()))


def test_folders_come_before_what_is_kept(kept: Path, root: Path) -> None:
    evidence = Evidence(studies_in([root]), kept, tiny_study)
    assert list(evidence.find(Needs("norms", variants=()))) == [("pre-3e-4", 0.3), ("pre-3e-4", 0.8)]
    assert evidence.variants_of("emb-mlp") == ()  # Its runs lie one folder down, where variants would.
    assert len(evidence.find(Needs("optimisers", (0.8,), ("sgd",)))["sgd", 0.8]) == 2


def test_a_damaged_file_is_no_missing_run(kept: Path, tmp_path: Path) -> None:
    copy = tmp_path / "kept"
    shutil.copytree(kept, copy)
    next((copy / "emb-mlp").glob("*.safetensors")).write_bytes(b"nothing")
    with pytest.raises(InputError, match="kept observations"):
        Evidence(folder=copy).find(Needs("emb-mlp", (0.8,)))


def test_a_claim_that_does_not_hold_is_the_exit_code(
    three_seeds: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["claims", "4", COMPUTED, "--kept", str(three_seeds), "--json"]) == 1
    document = json.loads(capsys.readouterr().out)
    VALIDATOR.validate(document)
    verdicts = {claim["number"]: claim["verdict"] for claim in document["claims"]}
    assert verdicts == {4: "fails", int(COMPUTED): "holds"}
    measured = document["claims"][0]["conditions"][0]
    assert measured["estimate"]["n"] == len(measured["values"]) == 3
    assert measured["sources"]["training.optimizer"] == "paper"
    assert measured["sources"]["training.epochs"] == "user"


def test_every_claim_of_these_runs_fits_the_schema(kept: Path) -> None:
    findings = judge_claims([c for c in ledger() if c.number not in SLOW], Evidence(folder=kept).find)
    document = to_json(findings)
    VALIDATOR.check_schema(SCHEMA)
    VALIDATOR.validate(json.loads(json.dumps(document, allow_nan=False)))
    columns = header(document["claims"])
    assert all(len(row(c, columns[2:])) == len(columns) for c in document["claims"])
    assert all(len(line) == 8 for c in document["claims"] for line in condition_rows(c))
    table = markdown(document["claims"])
    assert table.count("\n") == len(findings) + 2
    assert "–" in table


@pytest.mark.parametrize(
    "spoil",
    [
        lambda d: d["claims"][0].update(verdict="perhaps"),
        lambda d: d["claims"][0]["conditions"][0].pop("threshold"),
        lambda d: d.update(schema="anchorflow/claims/0"),
        lambda d: d["claims"][0]["conditions"][0]["estimate"].update(n="2"),
    ],
)
def test_the_schema_refuses(spoil: Callable[[dict[str, Any]], None], computed: dict[str, Any]) -> None:
    spoilt = copy.deepcopy(computed)
    spoil(spoilt)
    with pytest.raises(jsonschema.ValidationError):
        VALIDATOR.validate(spoilt)


def test_tables(kept: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["claims", COMPUTED, "1", "--kept", str(kept), "--verbose"]) == 0
    shown = capsys.readouterr()
    assert "large weights memorise" in shown.out
    assert "not tested" in shown.out
    assert "shuffled texts keep frequencies alone" in shown.out
    assert "anchorflow claims 1 --run" in shown.err


def test_runs_are_of_a_study_by_their_configuration_and_not_by_their_folder(root: Path) -> None:
    """The tiny Emb-MLPs lie where runs of the package's studies would."""
    other = tiny_config(batch_size=7)
    for needs in (Needs("emb-mlp", (0.8,)), Needs("norms", (0.8,), ("pre-3e-4",))):
        with pytest.raises(MissingRunsError, match="has another configuration than the study"):
            Evidence(studies_in([root]), None).find(needs)
        assert Evidence(studies_in([root]), None, tiny_study).has(needs)
        changed = Evidence(studies_in([root]), None, lambda name: Study(name, "test", {None: other}))
        assert not changed.has(needs)


def test_own_runs(root: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """What is kept in the package is never reported as theirs."""
    monkeypatch.setattr(validate.studies, "load_study", tiny_study)
    code = main(["claims", "4", "2", "--runs", str(root), "--json"])
    found = {claim["number"]: claim for claim in json.loads(capsys.readouterr().out)["claims"]}
    two, four = found[2], found[4]
    assert len(four["conditions"][0]["values"]) == 2
    assert code == (four["verdict"] == "fails")
    assert two["verdict"] == "not tested"
    assert all("no runs among those given" in c["missing"] for c in two["conditions"] if c["missing"])


def test_runs_without_a_studys_layout_are_refused(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["claims", "2", "--runs", str(root / "emb-mlp")]) == 2
    assert "anchorflow compare" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["claims", "99"], "claim = 99: no such claim"),
        (["claims", "one"], "one"),
        (["claims", "4", "--runs", "nowhere"], "runs = 'nowhere': no folder with studies"),
    ],
)
def test_bad_input(arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 2
    assert words in capsys.readouterr().err


def test_run_trains_what_is_missing_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[str] = []

    def load(name: str) -> Study:
        asked.append(name)
        config = tiny_config(epochs=1, snapshot_epochs=[]).model_copy(update={"seeds": (0,)})
        return Study(name, "test", {None: config})

    monkeypatch.setattr(validate.studies, "load_study", load)
    out = tmp_path / "studies"
    options = ["--run", "--root", str(out), "--kept", str(tmp_path / "kept"), "--workers", "1", "--json"]
    assert main(["claims", "4", *options]) in (0, 1)
    assert set(asked) == {"emb-mlp"}
    shown = capsys.readouterr()
    assert "runs: 2" in shown.err
    assert json.loads(shown.out)["claims"][0]["verdict"] in ("holds in part", "fails", "undecided")
    assert (out / "emb-mlp" / "gamma0.8_seed0" / "config.json").exists()
    asked.clear()
    assert main(["claims", COMPUTED, *options]) == 0
    assert not asked


def test_the_first_folder_that_has_a_study_counts(tmp_path: Path) -> None:
    for name in ("a/x", "b/x", "b/y"):
        (tmp_path / name).mkdir(parents=True)
    a, b = tmp_path / "a", tmp_path / "b"
    assert studies_in([a, b]) == {"x": a, "y": b}
    assert studies_in([b, a]) == {"x": b, "y": b}
