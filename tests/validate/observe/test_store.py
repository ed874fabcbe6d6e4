"""Kept files: what comes back, how far off, how large; and what is refused."""

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest

from sim.runs.manifest import Manifest
from theory import InputError
from validate.observe import NoRunsError, find_observations, kept, observe, observe_path, write_kept
from validate.observe.codec import STEPS, SYMMETRIC, pack_arrays, pack_metrics, unpack_arrays, unpack_metrics
from validate.observe.store import Checksums, kept_file, read_kept

QUANTUM = 0.5 / STEPS + 1e-7
"""Half a step of what is kept, relative to the largest entry, and float32's rounding: no error is larger."""


def _kept(observations, folder, variant=None):
    file = kept_file("mine", variant, observations.config, folder)
    write_kept(observations, file)
    return file


@pytest.fixture(scope="module")
def observations(transformer_run):
    return observe(transformer_run)


def test_what_was_kept_comes_back(observations, tmp_path):
    """All but the arrays exactly; large arrays to 1/65534 of the largest beside, others to float32."""
    back = read_kept(_kept(observations, tmp_path))
    for name in ("config", "provenance", "metrics", "epochs", "task", "tokens"):
        assert getattr(back, name) == getattr(observations, name)
    assert set(back.arrays) == set(observations.arrays)
    for name, array in observations.arrays.items():
        assert back.arrays[name].dtype == np.float64
        beside = np.abs(array).reshape(len(array), -1).max(axis=1) if array.ndim > 1 else np.abs(array)
        error = np.abs(back.arrays[name] - array).reshape(len(array), -1).max(axis=1)
        assert (error <= QUANTUM * beside if name != "gram" else 4e-5 * beside).all(), name
    exact = ("first_attention", "last_logits", "effective_rank/W_E", "norms", "lemma1_share")
    for name in exact:
        np.testing.assert_allclose(back.arrays[name], observations.arrays[name], rtol=1e-7, atol=1e-30)


def test_keeping_the_same_again_changes_no_byte(observations, tmp_path):
    """safetensors writes a header's entries in any order; other contents replace the file."""
    file = _kept(observations, tmp_path)
    content = file.read_bytes()
    size = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + size])
    turned = json.dumps(dict(reversed(header.items()))).encode()
    other = len(turned).to_bytes(8, "little") + turned + content[8 + size :]
    file.write_bytes(other)
    _kept(observations, tmp_path)
    assert file.read_bytes() == other
    assert read_kept(file).metrics == observations.metrics
    for spoiled in (content[:-1] + bytes([content[-1] ^ 1]), content[:50], b""):
        file.write_bytes(spoiled)
        with pytest.raises(InputError, match="was changed since"):
            _kept(observations, tmp_path)
        assert file.read_bytes() == spoiled


def test_a_kept_file_can_be_named_from_inside_its_folder(observations, tmp_path, monkeypatch):
    file = _kept(observations, tmp_path)
    monkeypatch.chdir(file.parent)
    for inside in (".", file.name, "../mine"):
        (found,) = find_observations(inside)
        assert found.config == observations.config
    write_kept(observations, Path(file.name))
    file.unlink()
    with pytest.raises(InputError, match="No such file"):
        find_observations(".")


def test_cosines_keep_four_digits_whatever_the_norms(observations, tmp_path):
    """A memory anchor a million times smaller than the rest keeps its cosines."""
    sizes = np.ones(len(observations.tokens))
    sizes[:2] = 1e-6
    arrays = dict(observations.arrays)
    arrays["norms"] = arrays["norms"] * sizes
    arrays["gram"] = arrays["gram"] * sizes[:7, None] * sizes
    small = dataclasses.replace(observations, arrays=arrays)
    back = read_kept(_kept(small, tmp_path))
    anchors, tokens = small.task.anchors, small.tokens
    error = np.abs(back.cosines(anchors, 2, tokens) - small.cosines(anchors, 2, tokens))
    assert error.max() < QUANTUM


@pytest.mark.parametrize("shape", [(5, 5), (3, 5, 5), (1, 1), (2, 1, 1), (5, 5, 5)])
def test_half_of_a_symmetric_matrix_is_kept(shape):
    """Whatever the number of matrices; of one that is not quite symmetric every number is kept."""
    half = np.random.default_rng(0).standard_normal(shape)
    whole = half + half.swapaxes(-1, -2)
    skew = whole.copy()
    whole[..., 0, -1] *= 1 + 1e-15  # Rounding makes no difference.
    skew[..., 0, -1] += 1e-3 * (shape[-1] > 1)
    stored = pack_arrays({"cosine/x": whole, "cosine/y": skew})
    n = shape[-1]
    assert stored["cosine/x"].shape == (*shape[:-2], n * (n + 1) // 2)
    assert "cosine/x" + SYMMETRIC in stored
    assert ("cosine/y" + SYMMETRIC in stored) == (n == 1)
    for back, array in zip(unpack_arrays(stored).values(), (whole, skew), strict=True):
        np.testing.assert_allclose(back, array, rtol=0, atol=QUANTUM * np.abs(array).max())


def test_metrics_come_back_line_by_line():
    """A loss that was not finite is None; epochs may be fractional; a data set's name may hold a slash."""
    accuracy = {"accuracy": {"mem": 0.5, "a/b": 0.25}}
    lines = [
        {"epoch": 0, "step": 0, "sum_learning_rate": 0.0, "loss": {"mem": 5.3, "a/b": 1.0}} | accuracy,
        {"epoch": 0.25, "step": 50, "sum_learning_rate": 0.1, "loss": {"mem": None, "a/b": 0.1}} | accuracy,
    ]
    back = unpack_metrics(pack_metrics(lines))
    assert back == lines
    assert isinstance(back[1]["step"], int)


def test_kept_runs_come_by_variant_gamma_and_seed(observations, tmp_path):
    for variant, rate, seed in (("b", 0.5, 1), ("b", 0.5, 0), ("a", 0.8, 0), ("b", 0.3, 2), ("b_c", 0.3, 3)):
        config = observations.config.model_copy(update={"init_rate": rate, "seed": seed})
        _kept(dataclasses.replace(observations, config=config), tmp_path, variant=variant)
    found = kept("mine", folder=tmp_path)
    seeds = [(o.config.init_rate, o.config.seed) for o in found]
    assert seeds == [(0.8, 0), (0.3, 2), (0.5, 0), (0.5, 1), (0.3, 3)]
    assert [o.config.seed for o in kept("mine", "b", folder=str(tmp_path))] == [2, 0, 1]


def test_run_folders_are_observed_when_asked_for(transformer_run, tmp_path):
    for place in ("mine", "mine/variant"):
        (tmp_path / place).mkdir()
        (tmp_path / place / transformer_run.path.name).symlink_to(transformer_run.path)
    unfinished = tmp_path / "mine" / "gamma0.5_seed9"
    unfinished.mkdir()
    interrupted = json.dumps(transformer_run.provenance | {"status": "interrupted"})
    for name, text in (("config.json", "{}"), ("provenance.json", interrupted)):
        Manifest(unfinished).write(name, text)
    found = kept("mine", root=str(tmp_path))
    assert len(found) == 2
    assert len(kept("mine", "variant", root=tmp_path)) == 1
    again = observe_path(str(transformer_run.path))
    for name, array in found[0].arrays.items():
        np.testing.assert_array_equal(array, again.arrays[name])


def test_where_a_study_has_no_runs_the_command_makes_them_there(tmp_path):
    with pytest.raises(NoRunsError, match=f"anchorflow study emb-mlp --run --root {tmp_path}$"):
        kept("emb-mlp", root=tmp_path)
    with pytest.raises(NoRunsError, match=f"anchorflow study emb-mlp --run --keep --kept {tmp_path}$"):
        kept("emb-mlp", folder=tmp_path)


def test_a_file_that_no_list_names_is_refused(observations, tmp_path):
    file = _kept(observations, tmp_path)
    stranger = file.with_name("gamma0.9_seed0.safetensors")
    stranger.write_bytes(file.read_bytes())
    with pytest.raises(InputError, match="checksum"):
        read_kept(stranger)
    assert [o.config for o in kept("mine", folder=tmp_path)] == [observations.config]
    (tmp_path / "checksums.json").unlink()
    for read in (lambda: read_kept(file), lambda: kept("mine", folder=tmp_path)):
        with pytest.raises(InputError, match=r"has no checksum in checksums\.json"):
            read()


def test_other_versions_and_broken_files_are_refused(observations, tmp_path, monkeypatch):
    monkeypatch.setattr("validate.observe.store.FORMATS", (0, 0))
    file = _kept(observations, tmp_path)
    monkeypatch.undo()
    with pytest.raises(InputError, match="format version 0"):
        read_kept(file)
    file.unlink()
    Checksums(tmp_path).write("mine/gamma0.5_seed0.safetensors", b"nothing")
    with pytest.raises(InputError, match="cannot be read"):
        read_kept(file)
    with pytest.raises(InputError, match="No such file"):
        observe_path(tmp_path / "none.safetensors")
