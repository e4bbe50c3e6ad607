"""A changed equation must not be shadowed by a kernel compiled before."""

import os

from brian_lda.reference.kernel_cache import drop_stale_kernels


def test_kernels_older_than_any_source_file_are_dropped(tmp_path):
    first, second = tmp_path / "first", tmp_path / "second"
    for folder in (first, second):
        (folder / "__pycache__").mkdir(parents=True)
        (folder / "rules.py").write_text("")
        os.utime(folder / "rules.py", (1000, 1000))
    old, new = first / "__pycache__" / "old.nbi", second / "__pycache__" / "new.nbi"
    for index, time in ((old, 1500), (new, 2500)):
        index.write_text("")
        os.utime(index, (time, time))
    assert drop_stale_kernels([first, second]) == []
    os.utime(second / "rules.py", (2000, 2000))  # an equation changes in the other folder
    assert drop_stale_kernels([first, second]) == [old]
    assert new.exists() and not old.exists()
