# SPDX-License-Identifier: MIT
"""
Energy in the logs of training loops.

With pytorch-lightning 2.1.4, transformers 4.41.2, accelerate 0.30.1 (on Debian's torch 1.13.1), and keras 3.3.3 on jax 0.4.30.
"""

import json
import math
import os
import subprocess
import sys

import pytest
import wattle
from wattle.callbacks import Epochs

J = 1_000_000
T95_2 = 12.706  # Student's, of two values


def train(machine, energy, powers, done=0, of=10):
    logs = []
    for i, joules in enumerate(powers):
        energy.begin_epoch()
        machine.add("intel-rapl:0", joules * J)
        logs.append(energy.end_epoch(of - done - i - 1))
        machine.add("intel-rapl:0", 1 * J)  # an evaluation
    return logs


def test_epochs_total_and_prediction(machine, meter):
    energy = Epochs(meter)
    assert energy.end_epoch() == {} and energy.total is None and energy.prediction is None
    energy.start(0)
    first, second, third = train(machine, energy, [50, 9, 11])
    assert first["energy/epoch_j"] == 50 and first["energy/epoch_uncertainty_j"] == energy.epochs[0].uncertainty_j > 0
    assert first["energy/predicted_j"] == pytest.approx(500) and "energy/predicted_uncertainty_j" not in first
    assert second["energy/predicted_j"] == pytest.approx(60 + 8 * 10) and "energy/predicted_uncertainty_j" not in second
    assert third["energy/total_j"] == 72
    assert third["energy/predicted_j"] == pytest.approx(72 + 7 * 11)
    spread = T95_2 * math.sqrt(2) * math.sqrt(7 + 49 / 2)
    sensors = third["energy/total_uncertainty_j"] / 72 * (72 + 77)
    assert third["energy/predicted_uncertainty_j"] == pytest.approx(math.hypot(spread, sensors), rel=0.02)
    assert third["energy/gco2e"] == pytest.approx(72 / 3.6e6 * meter.carbon.intensity_g_per_kwh, rel=1e-3)
    assert third["energy/predicted_s"] > sum(window.duration_s for window in energy.epochs)
    energy.stop()
    assert meter.open_windows == () and meter.is_open
    assert energy.total.energy_j == 73 and [w.energy_j for w in energy.epochs] == [50, 9, 11]


def test_the_last_epoch_predicts_the_total(machine, meter):
    with Epochs(meter) as energy:
        energy.start(0)
        last = train(machine, energy, [5], of=1)[-1]
    assert last["energy/predicted_j"] == last["energy/total_j"] == 5
    assert last["energy/predicted_uncertainty_j"] == last["energy/total_uncertainty_j"]


def test_step_ranges(machine, meter):
    with Epochs(meter, prefix="power") as energy:
        energy.start(0)
        assert energy.end_steps() == {}
        for joules in (3, 4):
            machine.add("intel-rapl:0", joules * J)
            assert energy.end_steps()["power/steps_j"] == joules
    assert meter.open_windows == ()


def test_a_checkpoint_keeps_the_energy(machine, meter):
    energy = Epochs(meter)
    energy.start(0)
    train(machine, energy, [50, 10, 10])
    state = json.loads(json.dumps(energy.state()))
    energy.stop()
    resumed = Epochs(meter)
    resumed.restore(state)
    resumed.start(0)
    logs = train(machine, resumed, [30, 10], done=3)
    assert logs[-1]["energy/total_j"] == 73 + 30 + 1 + 10
    assert logs[-1]["energy/predicted_j"] == pytest.approx(114 + 5 * 11)
    assert logs[-1]["energy/total_uncertainty_j"] > state["uncertainty_uj"] / 1e6
    resumed.start(0)  # another training with the same object begins at 0
    assert train(machine, resumed, [5])[0]["energy/total_j"] == 5
    resumed.stop()
    resumed.restore(state)
    resumed.start(0)
    assert train(machine, resumed, [5])[0]["energy/total_j"] == 78


def test_other_ranks_leave_it_to_rank_0(machine, meter, monkeypatch):
    energy = Epochs(meter)
    monkeypatch.setenv("LOCAL_RANK", "3")
    energy.start()
    assert train(machine, energy, [5]) == [{}] and energy.end_steps() == {} and energy.state() == {}
    assert energy.reasons == ("process 0 of this node measures it; this is process 3",)
    assert energy.total is None and energy.prediction is None


def test_nothing_is_measured(tmp_path):
    with pytest.warns(wattle.WattleWarning):
        empty = wattle.Meter(root=tmp_path, nvml="", attribution=False)
    energy = Epochs(empty)
    energy.start(0)
    energy.begin_epoch()
    assert energy.end_epoch(3) == {} and energy.total is None and energy.state() == {}
    assert energy.reasons == empty.reasons != ()


def test_frameworks_are_imported_by_their_modules_only(python):
    program = "import sys, wattle.callbacks; print([n for n in ('torch', 'lightning', 'transformers', 'keras', 'numpy') if n in sys.modules])"
    assert python(program).stdout.strip() == "[]"


# ---- PyTorch Lightning ----

PROGRAM = """
import json, os, sys, warnings
warnings.simplefilter("ignore")
import wattle
from pathlib import Path
from conftest import Machine
J = 1_000_000
machine = Machine(Path(sys.argv[1]))
meter = wattle.Meter(root=machine.path, nvml="", attribution=False, interval_s=0)
"""

TORCH = """
import torch
torch.__version__ = type(torch.__version__)("1.13.1")  # Debian's says 1.13.0a0, and Lightning believes it
"""

LIGHTNING = PROGRAM + TORCH + """
import pytorch_lightning as pl
pl.LightningModule._register_sharded_tensor_state_dict_hooks_if_available = lambda self: None  # this torch has none on Python 3.11
from wattle.callbacks.lightning import EnergyCallback
from pytorch_lightning.loggers import CSVLogger
from torch.utils.data import DataLoader, TensorDataset

class Model(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(4, 1)
    def training_step(self, batch, i):
        machine.add("intel-rapl:0", 2 * J)
        if len(sys.argv) > 2 and self.current_epoch == 1:
            raise {"exception": RuntimeError, "interrupt": KeyboardInterrupt}[sys.argv[2]]
        return self.layer(batch[0]).square().mean()
    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), 0.01)

data = DataLoader(TensorDataset(torch.randn(32, 4)), batch_size=8)
def fit(epochs, path=None):
    callback = EnergyCallback(meter, every_n_steps=2)
    trainer = pl.Trainer(max_epochs=epochs, callbacks=[callback], logger=CSVLogger(".", name="", version=str(epochs)),
                         default_root_dir=".", accelerator="cpu", enable_progress_bar=False, enable_model_summary=False)
    try:
        trainer.fit(Model(), data, ckpt_path=path)
    except (RuntimeError, SystemExit):  # Lightning 2.6 ends the program on Ctrl-C, 2.1 returns
        pass
    return trainer, callback
"""


@pytest.fixture
def ml(python, machine):
    """Runs a program with a module of machine learning; skips where that is not installed."""

    def run(module, program, *args, **env):
        if subprocess.run([sys.executable, "-c", f"import importlib.util as u; raise SystemExit(not u.find_spec('{module}'))"]).returncode:
            pytest.skip(f"{module} is not installed: see tests/python/requirements.txt")
        path = os.pathsep.join([os.path.dirname(__file__), os.environ.get("PYTHONPATH", "")])
        return json.loads(python(program, machine.path, *args, timeout=120, PYTHONPATH=path, **env).stdout.splitlines()[-1])

    return run


def test_lightning(ml):
    program = """
import csv
trainer, callback = fit(3)
rows = list(csv.DictReader(open("3/metrics.csv")))
trainer2, callback2 = fit(5, trainer.checkpoint_callback.best_model_path)
print(json.dumps({
    "rows": rows, "metrics": {k: float(v) for k, v in trainer.callback_metrics.items()},
    "resumed": {k: float(v) for k, v in trainer2.callback_metrics.items()}, "open": meter.open_windows}))
"""
    out = ml("pytorch_lightning", LIGHTNING + program)
    epochs = [float(row["energy/epoch_j"]) for row in out["rows"] if row.get("energy/epoch_j")]
    assert epochs == [8, 8, 8]
    assert [float(row["energy/steps_j"]) for row in out["rows"] if row.get("energy/steps_j")] == [4] * 6
    assert out["metrics"]["energy/total_j"] == 24 and out["metrics"]["energy/epoch_uncertainty_j"] > 0
    assert out["metrics"]["energy/predicted_j"] == 24 and out["metrics"]["energy/gco2e"] > 0
    assert out["resumed"]["energy/total_j"] == 40
    assert out["open"] == []


@pytest.mark.parametrize("how", ["exception", "interrupt"])
def test_lightning_ends_early(ml, how):
    program = """
trainer, callback = fit(3)
print(json.dumps({"open": meter.open_windows, "epochs": [w.energy_j for w in callback.energy.epochs],
                  "total": callback.energy.total.energy_j}))
"""
    assert ml("pytorch_lightning", LIGHTNING + program, how) == {"open": [], "epochs": [8], "total": 10}


# ---- Hugging Face ----

TRANSFORMERS = PROGRAM + TORCH + """
import inspect
from transformers import Trainer, TrainingArguments
from wattle.callbacks.transformers import EnergyCallback

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(4, 1)
    def forward(self, x, labels=None):
        if self.training:
            machine.add("intel-rapl:0", 2 * J)
        return {"loss": (self.layer(x) - labels).square().mean(), "logits": self.layer(x)}

data = [{"x": torch.randn(4), "labels": torch.zeros(1)} for _ in range(32)]
def fit(epochs, resume=None, **options):
    callback = EnergyCallback(meter)
    if "save_safetensors" in inspect.signature(TrainingArguments).parameters:  # not from version 5 on
        options["save_safetensors"] = False
    arguments = TrainingArguments("out", num_train_epochs=epochs, per_device_train_batch_size=8, report_to=[], disable_tqdm=True,
                                  use_cpu=True, **{"logging_strategy": "epoch", "save_strategy": "epoch", **options})
    trainer = Trainer(Model(), arguments, train_dataset=data, eval_dataset=data, callbacks=[callback])
    with callback.energy:
        trainer.train(resume_from_checkpoint=resume)
    return trainer, callback
"""


def test_transformers(ml):
    program = """
trainer, callback = fit(3)
kept = json.load(open("out/checkpoint-8/trainer_state.json"))["stateful_callbacks"]["EnergyCallback"]
resumed, callback2 = fit(3, "out/checkpoint-8")
restored, callback3 = fit(3, "out/checkpoint-8", restore_callback_states_from_checkpoint=True)
steps, callback4 = fit(3, logging_strategy="steps", logging_steps=2, max_steps=10)
print(json.dumps({"log": trainer.state.log_history, "kept": kept, "resumed": resumed.state.log_history,
                  "restored": restored.state.log_history, "steps": steps.state.log_history, "open": meter.open_windows}))
"""
    out = ml("transformers", TRANSFORMERS + program)
    epochs = [entry for entry in out["log"] if "energy/epoch_j" in entry]
    assert [entry["energy/epoch_j"] for entry in epochs] == [8, 8, 8]
    assert [entry["energy/steps_j"] for entry in epochs] == [8, 8, 8]
    assert [entry["energy/total_j"] for entry in epochs] == [8, 16, 24]
    assert epochs[0]["energy/predicted_j"] == 24 and epochs[0]["energy/gco2e"] > 0
    assert "loss" in epochs[0] and epochs[-1]["energy/predicted_j"] == 24
    assert out["kept"]["attributes"]["saved"]["energy_uj"] == 16 * J
    assert out["resumed"][-1]["energy/total_j"] == 24
    assert [entry["energy/steps_j"] for entry in out["steps"] if "loss" in entry] == [4] * 5
    assert out["open"] == []


def test_transformers_with_an_exception(ml):
    program = """
def fail(*_, **__): raise RuntimeError
EnergyCallback.on_step_end = fail
try:
    fit(3)
except RuntimeError:
    print(json.dumps(meter.open_windows))
"""
    assert ml("transformers", TRANSFORMERS + program) == []


# ---- Keras ----

KERAS = PROGRAM + """
import keras, numpy
from wattle.callbacks.keras import EnergyCallback

class Draw(keras.callbacks.Callback):
    def on_train_batch_begin(self, batch, logs=None):
        machine.add("intel-rapl:0", 2 * J)
class Stop(keras.callbacks.Callback):
    def on_epoch_begin(self, epoch, logs=None):
        if epoch == 2:
            raise RuntimeError
class Batches(keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        if "energy/steps_j" in logs:
            steps.append(logs["energy/steps_j"])
steps = []

def fit(epochs, *others, **options):
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    callback = EnergyCallback(meter, **options)
    with callback.energy:
        history = model.fit(numpy.ones((32, 4)), numpy.ones((32, 1)), batch_size=8, epochs=epochs, verbose=0,
                            callbacks=[Draw(), callback, *others])
    return history.history
"""


def test_keras(ml):
    program = """
history = fit(3, Batches(), every_n_steps=2)
backup = lambda: keras.callbacks.BackupAndRestore("backup.weights.h5")
try:
    fit(4, backup(), Stop(), backup="energy.json")
except RuntimeError:
    pass
kept = json.load(open("energy.json"))
resumed = fit(4, backup(), backup="energy.json")
print(json.dumps({"history": history, "steps": steps, "open": meter.open_windows, "kept": kept, "resumed": resumed,
                  "left": os.path.exists("energy.json")}))
"""
    out = ml("keras", KERAS + program, KERAS_BACKEND="jax")
    assert out["history"]["energy/epoch_j"] == [8, 8, 8] and out["history"]["energy/total_j"] == [8, 16, 24]
    assert out["history"]["energy/predicted_j"] == [24, 24, 24] and len(out["history"]["energy/gco2e"]) == 3
    assert out["steps"] == [4] * 6
    assert out["kept"]["energy_uj"] == 16 * J
    assert out["resumed"]["energy/total_j"][-1] == 32
    assert out["open"] == [] and not out["left"]


def test_keras_with_a_backup_that_cannot_be_written(ml):
    program = """
warnings.simplefilter("always")
with warnings.catch_warnings(record=True) as given:
    history = fit(3, backup="nowhere/energy.json")
print(json.dumps([history["energy/total_j"], [str(w.message) for w in given if w.category is wattle.WattleWarning]]))
"""
    total, warned = ml("keras", KERAS + program, KERAS_BACKEND="jax")
    assert total == [8, 16, 24] and len(warned) == 1 and "nowhere/energy.json" in warned[0]
