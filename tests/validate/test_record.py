"""``Recorder`` in a plain loop and on a task: every column by its name, and no harm to the training."""

import copy
import errno
import math
import random
import shutil
import sys
import warnings
from contextlib import suppress
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest
import torch
from torch import nn

from sim import initialise_
from tests.foreign_models import Language
from tests.validate.corpus.test_compare_embedding import CORPUS, V
from theory import InputError, Task, cosine_matrix, label_distribution, off_diagonal
from validate import Recorder, compare_embedding
from validate.record.file import read_rows


def language():
    model = Language(V + 3, 16, 8)
    initialise_(model, 0.5)
    return model


def train(model, recorder, steps):
    optimiser = torch.optim.SGD(model.parameters(), lr=0.1)
    tokens = torch.arange(7).expand(2, 7) % V
    for _ in range(steps):
        optimiser.zero_grad()
        loss = nn.functional.cross_entropy(model(tokens)[:, :-1].flatten(0, 1), tokens[:, 1:].flatten())
        loss.backward()
        optimiser.step()
        recorder.step()


def test_a_row_is_what_the_functions_say():
    """Start, every third step and the end; columns against compare_embedding, SciPy and the definitions."""
    model = language()
    start = {name: p.detach().clone() for name, p in model.named_parameters()}
    value = iter(range(100))
    losses = {"held out": lambda: next(value)}
    recorder = Recorder(model, CORPUS, every=3, ranks=["*c_fc.weight"], losses=losses)
    with recorder:
        train(model, recorder, 7)
    assert [row["step"] for row in recorder.rows] == [0, 3, 6, 7]
    assert [row["loss/held out"] for row in recorder.rows] == [0, 1, 2, 3]
    last, E = recorder.rows[-1], model.wte.weight.detach().double().numpy()
    settings: dict[str, Any] = {"controls": 1, "top": 200, "bands": (1,), "padded": True}
    for predictor in ("tied", "marginal", "readout"):
        found = compare_embedding(E, CORPUS, predictors=(predictor,), **settings).comparisons[0].association
        numbers = found.pearson.mean, found.pearson.low, found.pearson.high, found.control.mean
        recorded = [last[f"{name}/{predictor}"] for name in ("pearson", "low", "high", "control")]
        assert recorded == pytest.approx(numbers)
        assert last["mean cosine"] == pytest.approx(found.observed_mean)
    matrix = model.layers[0].c_fc.weight.detach().double()
    p = torch.linalg.svdvals(matrix)
    rank = float(torch.distributions.Categorical(p).entropy().exp())
    assert last["rank/layers.0.c_fc.weight"] == pytest.approx(rank, rel=1e-4)
    assert last["norm/layers.0.c_fc.weight"] == pytest.approx(float(matrix.norm()), rel=1e-5)
    gamma = -math.log(float(matrix.std())) / math.log(16)
    assert last["gamma/layers.0.c_fc.weight"] == pytest.approx(gamma, rel=1e-4)
    fan_ins = {"layers.0.c_proj.weight": 64, "layers.1.c_proj.weight": 64}
    moves = [
        math.log(float(model.get_parameter(name[6:]).detach().std() / start[name[6:]].std()))
        / math.log(fan_ins.get(name[6:], 16))
        for name in last
        if name.startswith("gamma/")
    ]
    assert last["gamma distance"] == pytest.approx(math.sqrt(np.mean(np.square(moves))), rel=1e-3)
    assert recorder.rows[0]["gamma distance"] == 0


def noisy():
    """Dropout draws, and statistics of batches move, whenever it is called in training mode."""
    torch.manual_seed(0)
    norms = nn.BatchNorm1d(6), nn.BatchNorm1d(6).eval()  # As where a part is fine-tuned.
    flat, folded = nn.Flatten(0, 1), nn.Unflatten(0, (2, -1))
    return nn.Sequential(nn.Embedding(V, 6), flat, nn.Dropout(0.5), *norms, nn.Linear(6, V), folded)


def test_recording_and_losses_change_nothing_of_the_training():
    """Which has dropout and statistics of batches; the losses shuffle, draw, and switch the mode."""
    runs = []
    for every, losses in ((10**6, None), (1, None), (1, "noisy")):
        model = noisy()

        def held_out(model=model):
            order = np.random.permutation(3), random.random(), torch.randperm(5)  # noqa: NPY002
            assert len(order) == 3
            loss = model(torch.arange(6).view(2, 3)).mean()
            model.train()
            return loss

        torch.manual_seed(1)
        random.seed(1)
        np.random.seed(1)  # noqa: NPY002
        asked = losses and {"h": held_out}
        recorder = Recorder(model, CORPUS, every=every, losses=asked)
        train(model, recorder, 4)
        assert len(recorder.rows) == 4 // every
        drawn = torch.rand(1).item(), random.random(), np.random.random()  # noqa: NPY002
        assert [module.training for module in (model, *model[2:5])] == [True, True, True, False]
        runs.append((drawn, model.state_dict()))
    (drawn, alone), *recorded = runs
    for drawn_too, state in recorded:
        assert drawn_too == drawn
        assert all(torch.equal(tensor, alone[name]) for name, tensor in state.items())


@pytest.mark.parametrize("loss", [lambda: 1 / 0, lambda: "much", lambda: torch.ones(2), lambda: None])
def test_a_loss_that_gives_no_number_is_named_once_and_nan(loss):
    recorder = Recorder(language(), CORPUS, every=1, losses={"mine": loss, "other": lambda: 2.0})
    with pytest.warns(UserWarning, match=r"Recorder: the loss 'mine' gave no number \("):
        recorder.at(1)
    recorder.at(2)  # A second warning would be an error.
    assert [math.isnan(row["loss/mine"]) for row in recorder.rows] == [True, True]
    assert [row["loss/other"] for row in recorder.rows] == [2.0, 2.0]


FULL = Mock(side_effect=OSError(errno.ENOSPC, "No space left on device"))
OBSTACLES = {
    "a deleted folder": lambda out, _: shutil.rmtree(out.parent),
    "a deleted file": lambda out, _: out.unlink(),
    "a full disk": lambda _, patch: patch.setattr(Path, "open", FULL),
    "a folder in its place": lambda out, _: [out.unlink(), out.mkdir()],
}


@pytest.mark.parametrize("obstacle", OBSTACLES)
def test_a_file_that_cannot_be_written_ends_no_training(obstacle, tmp_path, monkeypatch):
    """The rows wait, one warning names the file, and all of them are written as soon as that is possible."""
    out = tmp_path / "records" / "record.csv"
    recorder = Recorder(language(), CORPUS, every=1, out=out)
    recorder.at(1)
    with monkeypatch.context() as patch, warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        OBSTACLES[obstacle](out, patch)
        recorder.at(2)
        recorder.at(3)
        lasting = obstacle in ("a full disk", "a folder in its place")
        assert len(told) == lasting
        assert not lasting or str(out) in str(told[0].message)
        if lasting:
            with pytest.raises((OSError, InputError)):
                recorder.close()
            with pytest.raises(KeyError, match="the loop's"), recorder:
                raise KeyError("the loop's")
    if out.is_dir():
        out.rmdir()
    recorder.close()
    assert [row["step"] for row in read_rows(out)] == [1, 2, 3]
    again = Recorder(language(), CORPUS, every=1, out=out, resume=True)
    out.unlink()
    out.mkdir()
    with pytest.warns(UserWarning, match="cannot be written, its rows are kept in memory"):
        again.at(2)
    assert [row["step"] for row in again.rows] == [1, 2]


def test_a_task_predicts_its_anchors():
    task = Task.paper(length=3)
    model = nn.Sequential(nn.Embedding(task.vocab_size, 400), nn.Linear(400, task.vocab_size))
    anchors = [a for mapping in task.mappings for a in mapping.anchors]
    P = label_distribution(task, anchors, held_out=True)
    turn = np.linalg.qr(np.random.default_rng(0).standard_normal((400, task.vocab_size)))[0].T
    rows = torch.zeros(task.vocab_size, 400, dtype=torch.float64)
    rows[anchors] = torch.from_numpy((P - 1 / task.vocab_size) @ turn)
    model[0].weight.data = rows.float()
    row = Recorder(model, task).record()
    assert row["pearson/labels"] == pytest.approx(1, abs=1e-4)
    cosines = cosine_matrix(P - P.mean(axis=0)), cosine_matrix(P - 1 / task.vocab_size)
    expected = np.corrcoef(*(off_diagonal(c) for c in cosines))[0, 1]
    assert row["pearson/labels, centred"] == pytest.approx(expected, abs=1e-3)
    assert abs(row["control/labels"]) < 0.6
    # Matrices that begin at zero have no known distance from there.
    for value, unknown in ((math.nan, "pearson/labels"), (0.0, "gamma distance")):
        nn.init.constant_(model[0].weight, value)
        nn.init.constant_(model[1].weight, value)
        assert math.isnan(Recorder(model, task).record()[unknown])


@pytest.mark.parametrize("embedding", [None, "body.weight", "W_E"])
def test_any_table_can_be_named_and_else_the_only_long_one_has_the_tokens(embedding):
    """As in a module of Lightning that has its model's body, which is not tied, under a second name.

    Some models have a table of one row, for the kind of each token; norms are not rounded to half precision.
    """
    model = nn.Sequential(nn.Embedding(V, 8), nn.Linear(8, V))
    model.body, model.kinds, model.W_E = model[0], nn.Embedding(1, 8), nn.Parameter(torch.randn(V, 8))
    row = Recorder(model.to(torch.bfloat16), CORPUS, embedding=embedding).record()
    assert math.isfinite(row["pearson/bigram"])
    assert "pearson/tied" not in row
    norm = float(model[1].weight.detach().double().norm())
    assert row["norm/1.weight"] == pytest.approx(norm, rel=1e-5)


class Padded(nn.Module):
    """Rows for more tokens than there are, and more positions than that; ``read`` makes the output."""

    def __init__(self, read):
        super().__init__()
        self.positions, self.words, self.read = nn.Embedding(4 * V, 8), nn.Embedding(2 * V, 8), read

    def forward(self, tokens):
        return self.read(self, self.words(tokens) + self.positions(torch.arange(tokens.shape[1])))


def test_the_table_that_tokens_look_up_is_compared_and_tied_if_the_code_ties_it():
    def unknown(model, h):
        raise RuntimeError

    model = Padded(lambda model, h: nn.functional.linear(h, model.words.weight))
    row = Recorder(model, CORPUS).record()
    E = model.words.weight.detach().double()
    found = compare_embedding(E, CORPUS, predictors=("tied",), controls=1, top=200, padded=True)
    assert row["pearson/tied"] == found.comparisons[0].association.pearson.mean
    assert "pearson/bigram" not in row
    with pytest.raises(InputError, match=r"positions\.weight .*words\.weight "):
        Recorder(Padded(unknown), CORPUS)
    both = Recorder(Padded(unknown), CORPUS, embedding="words.weight").record()
    assert both["pearson/tied"] != both["pearson/bigram"]


def test_parameters_that_are_replaced_are_recorded_and_not_the_old_ones():
    model = language()
    recorder = Recorder(model, CORPUS)
    recorder.record()
    new = {name: 3 * value for name, value in model.state_dict().items()}
    model.load_state_dict(new, assign=True)
    first, second = recorder.rows[0], recorder.record()
    assert second["norm/wte.weight"] == pytest.approx(3 * first["norm/wte.weight"])
    assert second["pearson/tied"] == pytest.approx(first["pearson/tied"])
    model.wte.weight.data = model.wte.weight.data[:0]
    with pytest.raises(InputError, match=r"model = 'wte.weight': an empty shard"):
        recorder.record()


def test_what_is_recorded_by_name_has_the_same_kind_of_rows():
    """More rows are more tokens; another width is another fan-in, and fewer rows are other tokens."""
    model = nn.Sequential(nn.Embedding(V, 8), nn.Linear(8, V))
    recorder = Recorder(model, CORPUS)
    for shape in ((V, 16), (V - 1, 8)):
        model[0] = nn.Embedding(*shape)
        with pytest.raises(InputError, match=r"model = '0\.weight': of shape .*make the recorder afterwards"):
            recorder.record()
    model[0] = nn.Embedding(V + 1, 8)
    assert recorder.record()["norm/0.weight"] == pytest.approx(float(model[0].weight.detach().norm()))


def test_double_precision_is_kept():
    model = nn.Sequential(nn.Embedding(V, 8), nn.Linear(8, V)).double()
    row = Recorder(model, CORPUS).record()
    with torch.no_grad():
        model[1].weight.mul_(1e-60)
    small = Recorder(model, CORPUS).record()
    assert small["norm/1.weight"] == pytest.approx(1e-60 * row["norm/1.weight"])
    assert small["gamma/1.weight"] == pytest.approx(row["gamma/1.weight"] + 60 * math.log(10) / math.log(8))


def test_steps_told_several_at_once_are_recorded_when_one_of_every_is_among_them():
    recorder = Recorder(language(), CORPUS, every=10)
    with recorder:
        for step in range(0, 29, 7):
            recorder.at(step)
    assert [row["step"] for row in recorder.rows] == [0, 14, 21, 28]
    odd: list[Any] = [2.5, "5", None, math.nan, -1]
    for refused in odd:
        with pytest.raises(InputError, match=r"^step = .*; give"):
            recorder.at(refused)
    with pytest.warns(UserWarning, match="steps go back"):
        recorder.at(3)


@pytest.mark.filterwarnings("error")
def test_a_loss_that_is_noted_is_a_number_or_nan():
    recorder = Recorder(language(), CORPUS)
    recorder.note(plain=torch.tensor(2.0, requires_grad=True))
    for loss in (None, torch.ones(3), "x"):
        with pytest.warns(UserWarning, match="the loss 'odd' gave no number"):
            recorder.note(odd=loss)
        recorder._warned.clear()
    row = recorder.record()
    assert row["loss/plain"] == 2
    assert math.isnan(row["loss/odd"])


@pytest.fixture(params=["csv", "parquet"])
def kind(request):
    if request.param == "parquet":
        pytest.importorskip("pyarrow.parquet", reason="needs the extra anchorflow[table]")
    return request.param


@pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::UserWarning")
def test_sharded_parameters_are_gathered():
    """One process of FSDP2's own sharding; its parameters are DTensors."""
    from torch import distributed
    from torch.distributed.device_mesh import DeviceMesh
    from torch.distributed.fsdp import fully_shard

    model = language()
    plain = Recorder(copy.deepcopy(model), CORPUS, ranks=["*c_fc.weight"]).record()
    distributed.init_process_group("gloo", store=torch._C._distributed_c10d.HashStore(), rank=0, world_size=1)
    try:
        fully_shard(model, mesh=DeviceMesh("cpu", [0]))
        sharded = Recorder(model, CORPUS, ranks=["*c_fc.weight"]).record()
    finally:
        distributed.destroy_process_group()
    assert sharded == pytest.approx(plain | {"seconds": sharded["seconds"]})


def test_a_recording_goes_on_where_the_training_does(tmp_path, kind):
    """Its rows past the step are dropped, the others kept; distances count from its own beginning.

    No step is recorded because of the error that ended it.
    """
    out, model = tmp_path / f"record.{kind}", language()
    with suppress(KeyError), Recorder(model, CORPUS, every=2, out=out, resume=True) as whole:
        whole.at(0)
        train(model, whole, 5)
        at_five = copy.deepcopy(model.state_dict())
        train(model, whole, 4)
        raise KeyError
    assert [row["step"] for row in read_rows(out)] == [0, 2, 4, 6, 8]
    model.load_state_dict(at_five)
    if kind == "csv":
        out.write_text(out.read_text() + "10,3.5,0.2")  # Cut off while it was written.
    with Recorder(model, CORPUS, every=2, out=out, resume=True) as again:
        with pytest.raises(InputError, match=r"resume = True: the step .* is not known; call at"):
            again.step()
        again.at(5)
        train(model, again, 2)
    assert [row["step"] for row in again.rows] == [0, 2, 4, 6, 7]
    assert again.rows[:3] == [whole.rows[i] for i in range(3)]
    assert again.rows[3]["gamma distance"] == pytest.approx(whole.rows[3]["gamma distance"])
    assert again.rows[3]["seconds"] >= again.rows[2]["seconds"]
    assert read_rows(out) == again.rows


def test_nothing_is_recorded_before_a_step_is_known(tmp_path):
    """A loop that goes on at step 20 has no step 0 of these weights."""
    with Recorder(language(), CORPUS, every=10) as recorder:
        assert not recorder.rows
        recorder.at(21)
        recorder.at(30)
    assert [row["step"] for row in recorder.rows] == [30]
    with Recorder(language(), CORPUS, out=tmp_path / "record.csv") as idle:
        pass
    assert not idle.rows


def test_a_file_holds_the_rows_whenever_a_column_comes(here, monkeypatch, kind):
    """Losses that the loop notes later, in any order, and in whatever folder, stand in every row."""
    out = here / f"record.{kind}"
    with Recorder(language(), CORPUS, every=2, out=out.name) as recorder:
        monkeypatch.chdir("/")
        recorder.at(0)
        recorder.at(2)
        recorder.note(train=3.5)
        recorder.at(4)
        recorder.note(test=1.5, train=2.5)
        recorder.at(6)
        recorder.at(8)
    read = read_rows(out)
    assert read == recorder.rows
    assert [row.get("loss/train") for row in read] == [None, None, 3.5, 2.5, 2.5]
    assert [row["step"] for row in read] == [0, 2, 4, 6, 8]


@pytest.mark.parametrize(
    ("settings", "refusal"),
    [
        ({"out": "record.txt"}, "out"),
        ({"embedding": "wpe.weight"}, "embedding"),
        ({"embedding": "none"}, "embedding"),
        ({"ranks": ["none*"]}, "ranks"),
        ({"data": Task.paper()}, "embedding"),
        ({"losses": {"held out": 0.5}}, r"losses\['held out'\]"),
        ({"resume": True, "out": "loss.csv"}, "out = .*not a recording"),
        ({"resume": True}, "resume = True: needs out"),
        ({"tensorboard": "board"}, "package = 'tensorboard': not installed"),
        ({"resume": True, "out": "b.csv", "overwrite": True}, "resume = True: excludes overwrite"),
    ],
)
def test_a_refusal_names_the_argument(settings, refusal, here, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)
    Path("loss.csv").write_text("step,loss\n0,1\n")
    with pytest.raises(InputError, match=rf"^{refusal}.*; "):
        Recorder(language(), **{"data": CORPUS} | settings)
