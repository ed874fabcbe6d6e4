"""Names and shapes as people have them: what is the embedding, what the read-out, and what is tied."""

import json

import numpy as np
import pytest
import safetensors.torch
import torch

from tests.validate.corpus.test_compare_embedding import CORPUS, C, V
from theory import InputError
from validate import compare_series, read_embedding
from validate.corpus.checkpoint import Checkpoint

D = 10
E = torch.from_numpy(C @ np.random.default_rng(0).standard_normal((V, D)))
U = torch.from_numpy(C.T @ np.random.default_rng(1).standard_normal((V, D)))
PADDED = torch.cat([U, torch.ones(7, D, dtype=U.dtype)])
UNTIED = {
    "compiled": {"_orig_mod.transformer.wte.weight": E, "_orig_mod.lm_head.weight": U},
    "DDP": {"module.model.embed_tokens.weight": E, "module.lm_head.weight": U},
    "Megatron": {
        "language_model.embedding.word_embeddings.weight": E,
        "language_model.embedding.position_embeddings.weight": E + 1,
        "language_model.output_layer.weight": U,
    },
    "TransformerLens": {"embed.W_E": E, "pos_embed.W_pos": E + 1, "unembed.W_U": U.T.contiguous()},
    "OLMo": {
        "model.transformer.wte.weight": E,
        "model.transformer.blocks.0.ff_out.weight": U + 1,
        "model.transformer.ff_out.weight": U,
    },
    "torchtitan": {"tok_embeddings.weight": E, "layers.0.attention.wo.weight": E + 1, "output.weight": U},
    "Mamba": {"backbone.embedding.weight": E, "lm_head.weight": U},
    "OPT": {
        "model.decoder.embed_tokens.weight": E,
        "model.decoder.embed_positions.weight": E + 1,
        "lm_head.weight": U,
    },
    "T5": {"shared.weight": E, "encoder.embed_tokens.weight": E.clone(), "lm_head.weight": U},
    "padded": {"wte.weight": E, "lm_head.weight": PADDED},
    "unusual": {"wte.weight": E, "to_logits.weight": U},
}


def saved(folder, tensors, metadata=None, config=None):
    folder.mkdir(exist_ok=True)
    safetensors.torch.save_file(tensors, folder / "model.safetensors", metadata)
    if config is not None:
        (folder / "config.json").write_text(json.dumps(config))
    return folder / "model.safetensors"


def kinds(path, **settings):
    return {(p.matrix, p.predictor) for p in compare_series([path], CORPUS, controls=1, **settings).points}


@pytest.mark.parametrize("layout", UNTIED)
def test_an_untied_read_out_is_found_by_its_shape_whatever_stands_before_its_name(tmp_path, layout):
    path = saved(tmp_path, UNTIED[layout])
    assert kinds(path) == {("embedding", "bigram"), ("read-out", "readout")}
    (_, embedding, _), (_, readout, _) = Checkpoint(path).matrices()
    assert np.array_equal(embedding, E)
    assert np.array_equal(readout[:V], U)


def test_an_untied_file_is_not_compared_as_tied_when_its_embedding_is_named(tmp_path):
    path = saved(tmp_path, UNTIED["compiled"])
    found = kinds(path, tensor="_orig_mod.transformer.wte.weight")
    assert found == {("embedding", "bigram"), ("read-out", "readout")}


def test_tied_is_said_by_the_file_its_configuration_or_the_caller_and_else_unknown(tmp_path):
    tied, unknown = {("embedding", "tied")}, {("embedding", "tied"), ("embedding", "bigram")}
    bloom = {"transformer.word_embeddings.weight": E}
    assert kinds(saved(tmp_path / "none", bloom)) == unknown
    assert kinds(saved(tmp_path / "untied", bloom, config={"tie_word_embeddings": False})) == unknown
    assert kinds(saved(tmp_path / "nothing", bloom, config=[])) == unknown
    assert kinds(saved(tmp_path / "said", bloom, config={"tie_word_embeddings": True})) == tied
    text = {"text_config": {"tie_word_embeddings": True}}
    assert kinds(saved(tmp_path / "nested", bloom, config=text)) == tied
    assert kinds(saved(tmp_path / "caller", bloom), readout="tied") == tied
    alias = {"lm_head.weight": "transformer.word_embeddings.weight"}
    assert kinds(saved(tmp_path / "alias", bloom, alias)) == tied
    assert kinds(saved(tmp_path / "equal", bloom | {"lm_head.weight": E.clone()})) == tied
    (warning,) = compare_series([tmp_path / "none"], CORPUS, controls=1).warnings
    assert "does not say whether its read-out is tied" in warning


def test_a_file_with_only_a_read_out_is_tied_if_it_says_so_and_else_both_readings(tmp_path):
    path = saved(tmp_path / "a", {"lm_head.weight": E}, {"transformer.wte.weight": "lm_head.weight"})
    assert kinds(path) == {("embedding", "tied")}
    assert np.array_equal(read_embedding(path), E)
    path = saved(tmp_path / "b", {"lm_head.weight": E, "norm.weight": torch.ones(D)})
    assert kinds(path) == {("read-out", "tied"), ("read-out", "readout")}
    with pytest.raises(
        InputError, match=r"no embedding, only lm_head.weight, and does not say that it is tied"
    ):
        read_embedding(path)


def test_two_that_may_be_the_read_out_are_refused_by_name(tmp_path):
    path = saved(tmp_path, {"wte.weight": E, "one.weight": U, "two.weight": U + 1})
    with pytest.raises(InputError, match=r"readout = None: one.weight and two.weight both fit"):
        kinds(path)
    assert kinds(path, readout="two.weight") == {("embedding", "bigram"), ("read-out", "readout")}


@pytest.mark.parametrize(
    ("tensors", "refusal"),
    [
        ({"position.embedding.weight": E, "token_table.weight": U}, "tensor = None: none has a usual name"),
        ({"wte.weight": E.to(torch.int8), "wte.scale": E[:, :1]}, r"tensor = 'wte.weight': .*torch\.int8"),
    ],
)
def test_positions_and_codes_are_no_embedding(tmp_path, tensors, refusal):
    with pytest.raises(InputError, match=refusal):
        read_embedding(saved(tmp_path, {name: tensor.contiguous() for name, tensor in tensors.items()}))


def test_a_dict_that_holds_itself_is_read_once(tmp_path):
    held: dict[str, object] = {"wte.weight": E}
    held["all"] = held
    torch.save(held, tmp_path / "held.pt")
    assert np.array_equal(read_embedding(tmp_path / "held.pt", weights_only=True), E)
    torch.save([E], tmp_path / "list.pt")
    with pytest.raises(InputError, match="holds no tensors by name; save"):
        read_embedding(tmp_path / "list.pt", weights_only=True)


def test_a_cache_folder_and_a_file_of_torch_save_are_read_on_request(tmp_path):
    cache = tmp_path / "models--a--b"
    for name in ("0a1b2c3", "4d5e6f7"):
        (cache / "snapshots" / name).mkdir(parents=True)
        saved(cache / "snapshots" / name, {"wte.weight": E if name[0] == "0" else U})
    with pytest.raises(InputError, match="holds 2 snapshots; name one: 0a1b2c3, 4d5e6f7"):
        read_embedding(cache)
    (cache / "refs").mkdir()
    (cache / "refs" / "main").write_text("4d5e6f7")
    assert np.array_equal(read_embedding(cache), U)
    assert np.array_equal(read_embedding(cache / "snapshots" / "0a1b2c3"), E)
    with pytest.raises(InputError, match=r"a folder with neither of model.safetensors"):
        read_embedding(tmp_path)
    torch.save({"model": {"wte.weight": E, "lm_head.weight": U}, "step": 3}, tmp_path / "step3.pt")
    with pytest.raises(InputError, match=r"a file of torch.save; add weights_only=True"):
        read_embedding(tmp_path / "step3.pt")
    assert np.array_equal(read_embedding(tmp_path / "step3.pt", weights_only=True), E)
    found = compare_series([tmp_path / "step3.pt"], CORPUS, weights_only=True, controls=1)
    assert [(p.step, p.matrix) for p in found.points] == [(3, "embedding"), (3, "read-out")]
    torch.save({"f": print}, tmp_path / "code.pt")
    with pytest.raises(InputError, match=r"weights_only=True. refuses it"):
        read_embedding(tmp_path / "code.pt", weights_only=True)
