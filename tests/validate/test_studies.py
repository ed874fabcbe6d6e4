"""Studies: what their files say, how far they are, training and keeping them, and the command."""

import json
from pathlib import Path

import pytest

from sim import Progress, Run
from sim.config.run import sources
from sim.runs.beginning import open_folder
from sim.training.session import train_together
from tests.run_folder import change, every_file
from tests.tiny_task import TASK
from theory import InputError
from validate import run_study
from validate.commands.study import _summary
from validate.observe import kept
from validate.observe.store import read_kept
from validate.studies import keeping
from validate.studies import study as studies

KEEP = 'keep = ["gram", "norms", "singular/*"]'
TINY = f"""
purpose = "Two models on a tiny task."
init_rates = [0.3, 0.8]
seeds = [0]
{KEEP}

[task]{TASK}
[model]
d_m = 8
d_f = 12

[training]
epochs = 2
batch_size = 16
snapshot_epochs = [1]
learning_rate = 1e-3

[variants.mlp]

[variants."attn-1e-2"]
model = {{ kind = "transformer", d_k = 4 }}
training = {{ learning_rate = 1e-2, epochs = 1 }}
"""


@pytest.fixture
def file(tmp_path):
    found = tmp_path / "tiny.toml"
    found.write_text(TINY)
    return found


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """The folder of all studies' runs, with those of the tiny study complete."""
    folder = tmp_path_factory.mktemp("studies")
    (folder / "tiny.toml").write_text(TINY)
    run_study(studies.load_study(folder / "tiny.toml"), folder, workers=1)
    return folder


def _edited(folder, *changes):
    text = TINY
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    (folder / "tiny.toml").write_text(text)
    return studies.load_study(folder / "tiny.toml")


def test_variants_lie_over_the_base_and_members_in_folders_of_their_variant(file):
    study = studies.load_study(file)
    assert (study.name, study.purpose) == ("tiny", "Two models on a tiny task.")
    mlp, attention = (study.configs[name] for name in ("mlp", "attn-1e-2"))
    assert (mlp.model.kind, mlp.training.learning_rate, mlp.training.epochs) == ("emb-mlp", 1e-3, 2)
    assert (attention.model.kind, attention.training.learning_rate) == ("transformer", 1e-2)
    assert attention.training.batch_size == mlp.training.batch_size == 16
    assert attention.task == mlp.task
    members = studies.members_of(study, Path("r"))
    found = [(str(m.path), m.variant, m.config.init_rate, m.config.model.kind) for m in members]
    assert found == [
        (f"r/tiny/{variant}/gamma{rate}_seed0", variant, rate, study.configs[variant].model.kind)
        for variant in ("mlp", "attn-1e-2")
        for rate in (0.3, 0.8)
    ]
    file.write_text(TINY[: TINY.index("[variants.mlp]")])
    alone = studies.load_study(file)
    assert alone.variants == ()
    assert str(studies.members_of(alone, Path("r"))[0].path) == "r/tiny/gamma0.3_seed0"


@pytest.mark.parametrize("where", ["variants.other", "axes.tasks.other"])
def test_another_task_keeps_no_key_of_the_studys(where, tmp_path):
    text = TINY[: TINY.index("[variants.mlp]")].replace("[model]", "held_out = [[4, 6]]\n[model]")
    (tmp_path / "tiny.toml").write_text(f"{text}[{where}.task]{TASK}")
    other = studies.load_study(tmp_path / "tiny.toml").configs["other"].build_task()
    assert not any(mapping.held_out for mapping in other.mappings)


@pytest.mark.parametrize("name", studies.study_names())
def test_a_study_of_the_package_has_members_and_no_value_of_a_users(name, tmp_path):
    members = studies.members_of(studies.load_study(name))
    assert len({m.path for m in members}) == len(members) > 0
    for config in studies.load_study(name).configs.values():
        assert "user" not in sources(config).values()
    file = tmp_path / "mine.toml"
    file.write_text((studies.FOLDER / f"{name}.toml").read_text())
    if name in ("emb-mlp", "scan", "group-small"):
        assert any("user" in sources(config).values() for config in studies.load_study(file).configs.values())


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('purpose = "Two models on a tiny task."', "", "purpose = None: not a text; write purpose"),
        (KEEP, "keep = 3", "not a list of observables"),
        (KEEP, 'combine = "zip"', "combine = 'zip': without axes"),
        (KEEP, 'keep = { "0.08" = ["gram"] }', "keep.*'0.08'.*0.3, 0.8"),
        ("d_k = 4", "dk = 4", "variant attn-1e-2: model key = 'dk'"),
        ("[variants.mlp]", '[variants."m__lp"]', "not a plain name.*single '_'"),
        ("seeds = [0]", 'presett = "cpu"', "key = 'presett': unknown key; did you mean 'preset'"),
    ],
)
def test_what_makes_no_sense_is_refused(old, new, message, tmp_path):
    with pytest.raises(InputError, match=message):
        _edited(tmp_path, (old, new))


def test_an_interrupted_run_is_continued(trained, tmp_path):
    """To the same numbers as the run that was never stopped."""
    study = studies.load_study(trained / "tiny.toml")
    member = studies.members_of(study, tmp_path)[0]
    seen: list[Progress] = []
    train_together([member.config], [member.path], report=seen.append, stop=lambda: bool(seen))
    assert keeping.run_state(member.path, member.config) == "unfinished"
    assert keeping.keep(study, tmp_path, tmp_path / "kept") == []
    begun = studies.members_of(study, tmp_path)[1]  # It was not evaluated yet, and has nothing to show.
    open_folder(begun.path, begun.config)
    assert keeping.run_state(begun.path, begun.config) == "unfinished"
    (kept_so_far,) = keeping.keep(study, tmp_path, tmp_path / "kept", unfinished=True)
    early = read_kept(kept_so_far)
    assert early.metrics == Run.open(member.path, unfinished=True).metrics
    assert early.metrics[-1]["epoch"] < member.config.training.epochs
    keeping.keep(study, trained, tmp_path / "kept")
    before = every_file(tmp_path / "kept")
    assert keeping.keep(study, tmp_path, tmp_path / "kept", unfinished=True) == []
    assert every_file(tmp_path / "kept") == before
    run_study(study, tmp_path, workers=1)
    assert keeping.run_state(member.path, member.config) == "complete"
    whole = Run.open(studies.members_of(study, trained)[0].path)
    assert (Run.open(member.path).embedding(2) == whole.embedding(2)).all()


def test_a_run_that_diverged_is_final_and_named(tmp_path):
    diverging = 'learning_rate = 1e30\noptimizer = "sgd"\nweight_decay = 0.01\nclip_norm = 0.0'
    changes = ("learning_rate = 1e-3", diverging), ("learning_rate = 1e-2", "learning_rate = 1e-3")
    study = _edited(tmp_path, *changes)
    diverged = run_study(study, tmp_path / "runs", workers=1)
    assert {m.variant for m in diverged} == {"mlp"}
    before = (diverged[0].path / "provenance.json").read_text()
    assert run_study(study, tmp_path / "runs", workers=1) == diverged
    assert (diverged[0].path / "provenance.json").read_text() == before
    names = [file.name for file in keeping.keep(study, tmp_path / "runs", tmp_path / "kept")]
    assert names == [f"attn-1e-2__gamma{rate}_seed0.safetensors" for rate in (0.3, 0.8)]


def test_what_is_kept_is_what_the_study_asks_for(trained, tmp_path):
    study = studies.load_study(trained / "tiny.toml")
    files = keeping.keep(study, trained, tmp_path)
    assert len(files) == 4
    found = kept("tiny", "attn-1e-2", folder=tmp_path)
    assert [o.config for o in found] == [m.config for m in studies.members_of(study)[2:]]
    assert set(found[0].arrays) == {"gram", "norms", "singular/W_E"}
    states = keeping.states_of(study, tmp_path / "none", tmp_path)
    assert [(s.state, s.kept) for s in states] == [("missing", True)] * 4
    assert all(s.wall_seconds is not None for s in states)


@pytest.mark.parametrize(
    "wanted", ['["gram", "singulr/*"]', '{ "0.3" = ["*"], "0.8" = ["norms", "singulr/*"] }']
)
def test_a_pattern_that_fits_nothing_is_refused_at_once(wanted, trained, tmp_path):
    study = _edited(tmp_path, (KEEP, f"keep = {wanted}"))
    folder = tmp_path / "kept"
    with pytest.raises(InputError, match=r"keep = 'singulr/\*': unknown observable; did you mean 'singular/"):
        keeping.keep(study, trained, folder)
    assert not folder.exists()


NOTHING = set[str]()


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        ('["frozen_start"]', [NOTHING, NOTHING, {"frozen_start"}, {"frozen_start"}]),
        ("[]", [NOTHING] * 4),
        ('{ "0.3" = ["norms"], "0.8" = ["gram"] }', [{"norms"}, {"gram"}] * 2),
    ],
)
def test_patterns_choose_by_variant_and_gamma(wanted, expected, trained, tmp_path):
    """A pattern may fit one variant's model alone, in whatever order they are; metrics are always kept."""
    last = ("[variants.mlp]\n", ""), ("epochs = 1 }\n", "epochs = 1 }\n\n[variants.mlp]\n")
    study = _edited(tmp_path, (KEEP, f"keep = {wanted}"), *last)
    found = [read_kept(file) for file in keeping.keep(study, trained, tmp_path / "kept")]
    assert [set(run.arrays) for run in found] == expected
    assert all(run.metrics for run in found)


def test_what_was_kept_of_other_runs_is_dropped_only_when_asked(trained, tmp_path):
    """Neither a run that the study no longer has nor one of another configuration is replaced unasked."""
    folder = tmp_path / "kept"
    keeping.keep(studies.load_study(trained / "tiny.toml"), trained, folder)
    before = every_file(folder)
    smaller = _edited(tmp_path, ("init_rates = [0.3, 0.8]", "init_rates = [0.8]"))
    other = _edited(tmp_path, ("batch_size = 16", "batch_size = 8"))
    for study in (smaller, other):
        with pytest.raises(InputError, match=r"holds .*0.3_seed0.safetensors, of a run .*--drop"):
            keeping.keep(study, tmp_path / "no-runs", folder)
    assert every_file(folder) == before
    assert not any(s.kept for s in keeping.states_of(other, tmp_path, folder))
    (folder / "tiny" / "precious.safetensors").write_text("years of work")
    assert keeping.keep(smaller, tmp_path / "no-runs", folder, drop=True) == []
    names = sorted(f.name for f in (folder / "tiny").iterdir())
    left = ["attn-1e-2__gamma0.8_seed0.safetensors", "mlp__gamma0.8_seed0.safetensors"]
    assert names == [*left, "precious.safetensors"]
    assert [key.partition("/")[2] for key in json.loads((folder / "checksums.json").read_text())] == left
    assert len(kept("tiny", folder=folder)) == 2


def test_the_time_left_is_that_of_the_mean_run(file, monkeypatch):
    study = studies.load_study(file)
    states = [
        state._replace(state="missing" if seconds is None else "complete", wall_seconds=seconds)
        for state, seconds in zip(keeping.states_of(study), (10.0, 30.0, None, None), strict=True)
    ]
    monkeypatch.setattr("validate.studies.keeping.states_of", lambda *_: states)
    for count, seconds in ((1, 40), (2, 20)):
        found = _summary(study, file, file, count)
        assert (found["seconds_left"], found["complete"], found["missing"]) == (seconds, 2, 2)


def test_the_command_runs_keeps_and_counts(file, tmp_path, cli):
    places = ["--root", str(tmp_path / "runs"), "--kept", str(tmp_path / "kept"), "--workers", "1"]
    (before,) = cli("study", str(file), *places, "--json").json()
    assert (before["total"], before["missing"], before["kept"]) == (4, 4, 0)
    assert before["seconds_left"] is None
    printed = cli("study", str(file), *places, "--run", "--keep", "--json")
    (after,) = printed.json()
    assert (after["complete"], after["kept"], after["seconds_left"]) == (4, 4, 0)
    assert "runs: 4, epochs in all: 6, processes: 1; about" in printed.err
    assert {run["state"] for run in after["runs"]} == {"complete"}
    stopped = next((tmp_path / "runs").rglob("provenance.json"))
    change(stopped, status="interrupted")
    shown = cli("study", str(file), *places, "--run", "--list")  # It continues without being asked.
    assert json.loads(stopped.read_text())["status"] == "complete"
    change(stopped, trained_with=["one", "other"], wall_seconds=8.0)
    (shared,) = cli("study", str(file), *places, "--json").json()
    assert 4.0 in [run["wall_seconds"] for run in shared["runs"]]
    (line,) = shown.table("study", "purpose", "kept", "run folders", "time left")
    assert list(line.values()) == ["tiny", "Two models on a tiny task.", "4/4", "4 complete", ""]
    runs = shown.table("run", "state", "kept", "made by", n=4)
    assert runs == [
        {"run": r["path"], "state": "complete", "kept": "yes", "made by": r["made_by"]} for r in after["runs"]
    ]


def test_several_studies_begin_with_those_that_are_not_kept(cli):
    first = cli("study", "emb-mlp", "search").out.splitlines()[0]
    assert first.startswith("1 of 2 studies are kept whole")
    assert first.endswith("Not kept: search.")
