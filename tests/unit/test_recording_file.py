"""Recorded windows in the folder of a run: read with one call, and the same after a kill."""

from __future__ import annotations

import numpy as np
import pytest

from brian_lda.errors import CheckpointError, RecordingFileError
from brian_lda.runs import RunConfig, resume_run, saving, train_run
from brian_lda.simulation import Spikes, read_recording, write_recording

EVERYTHING_IN_IT = Spikes(
    name="tokens 3:5",
    first_token=3,
    iteration=2,
    index={"topic": np.array([1, 0]), "word": np.array([7, 7, 8])},
    time={"topic": np.array([0.001, 0.002]), "word": np.array([0.0, 0.001, 0.002])},
    tick=1e-3,
    latency=np.array([0.5, 0.25]),
    state={"u": np.array([[0.0, 1.0], [2.0, 3.0]])},
    chosen={"topics": np.array([0, 1])},
)


def assert_same(found, expected):
    assert [window.name for window in found] == [window.name for window in expected]
    for one, other in zip(found, expected, strict=True):
        for name in ("first_token", "iteration", "tick"):
            assert getattr(one, name) == getattr(other, name)
        for group in ("index", "time", "state", "chosen"):
            arrays, others = getattr(one, group), getattr(other, group)
            assert arrays.keys() == others.keys()
            for key in arrays:
                np.testing.assert_array_equal(arrays[key], others[key], err_msg=key)
        np.testing.assert_array_equal(one.latency, other.latency)


def test_what_is_read_is_what_was_written(tmp_path):
    write_recording(tmp_path / "recording.h5", [EVERYTHING_IN_IT, EVERYTHING_IN_IT])
    assert_same(read_recording(tmp_path), [EVERYTHING_IN_IT, EVERYTHING_IN_IT])
    assert_same(read_recording(tmp_path / "recording.h5"), [EVERYTHING_IN_IT] * 2)


def test_damaged_and_missing_files_are_refused(tmp_path):
    with pytest.raises(RecordingFileError, match="there is no recording"):
        read_recording(tmp_path)
    path = tmp_path / "recording.h5"
    write_recording(path, [EVERYTHING_IN_IT])
    content = bytearray(path.read_bytes())
    content[-100] ^= 1
    path.write_bytes(content)
    with pytest.raises(RecordingFileError, match="checksum"):
        read_recording(tmp_path)
    with pytest.raises(RecordingFileError, match="cannot write"):
        write_recording(tmp_path / "nowhere" / "recording.h5", [EVERYTHING_IN_IT])


class Killed(BaseException):
    """Stands for a SIGKILL: nothing in the library catches it."""


@pytest.mark.complete(but="ed_spike_lda")
@pytest.mark.parametrize("algorithm", ["ed_spike_lda", "semi_spike_lda"])
def test_a_run_that_was_killed_has_recorded_the_same(algorithm, smaller_corpus, tmp_path):
    options = {"brian2_options": {"simulator": "numpy"}}
    if algorithm == "semi_spike_lda":
        options |= {"batch_size": 4, "local_iterations": 1}
    config = RunConfig(
        algorithm=algorithm, backend="brian2", corpus=smaller_corpus, n_topics=3, iterations=4,
        seed=3, options=options,
        record={"windows": ["first", "middle", "last", [2, 40]], "tokens": 5, "u": True},
    )  # fmt: skip
    whole, _ = train_run(config, tmp_path / "whole", quiet=True)
    for when in ("before", "after"):  # ... the checkpoint of pass 2; the recording is written first
        folder = tmp_path / when
        with pytest.MonkeyPatch.context() as patch, pytest.raises(Killed):
            write = saving.write_checkpoint

            def write_and_die(path, content, when=when, write=write):
                if when == "after" or len(content.history) < 2:
                    write(path, content)
                if len(content.history) == 2:
                    raise Killed

            patch.setattr(saving, "write_checkpoint", write_and_die)
            train_run(config, folder, quiet=True, checkpoint_every=1)
        model, _ = resume_run(folder, quiet=True)
        np.testing.assert_array_equal(model.components_, whole.components_)
        assert_same(read_recording(folder), read_recording(tmp_path / "whole"))
    assert_same(read_recording(folder), whole.recorded_)
    assert len(whole.recorded_) == 4


def test_runs_without_spikes_leave_no_recording(smaller_corpus, tmp_path):
    config = RunConfig(algorithm="cgs", corpus=smaller_corpus, n_topics=3, iterations=2)
    model, _ = train_run(config, tmp_path / "run", quiet=True)
    assert model.recorded_ == [] and not (tmp_path / "run" / "recording.h5").exists()
    with pytest.raises(CheckpointError, match="record"):
        resume_killed_with_another_recording(smaller_corpus, tmp_path / "other")


def resume_killed_with_another_recording(corpus, folder):
    config = RunConfig(algorithm="cgs", corpus=corpus, n_topics=3, iterations=3)
    with pytest.MonkeyPatch.context() as patch, pytest.raises(Killed):

        def die(self, model):
            raise Killed

        patch.setattr(saving.CheckpointSaver, "save", die)
        train_run(config, folder, quiet=True, checkpoint_every=1)
    resume_run(folder, given={"record": {"windows": ["first"]}}, quiet=True)
