"""The public sets are named with their homes, and found where they are."""

from pathlib import Path

from memstow.planner.bench.instances import SETS, local_sets


def test_each_set_says_where_it_comes_from_and_under_which_licence() -> None:
    assert len({public.name for public in SETS}) == len(SETS)
    for public in SETS:
        assert public.description
        assert public.source.startswith("github.com/")
        assert any(public.name in step for step in public.steps)
        assert public.licence in {"Apache-2.0", "MIT", "BSD-3-Clause"}


def test_a_set_is_here_when_its_folder_is(tmp_path: Path) -> None:
    (tmp_path / "minimalloc").mkdir()
    (tmp_path / "minimalloc" / "A.csv").touch()
    (tmp_path / "minimalloc" / "README.md").touch()
    result = {one.public.name: one for one in local_sets(tmp_path)}
    assert (result["minimalloc"].folder, result["minimalloc"].files) == (tmp_path / "minimalloc", 1)
    assert (result["idealloc"].folder, result["idealloc"].files) == (None, 0)
    assert all(one.folder is None for one in local_sets(None))


def test_the_sets_beside_the_project_are_whole(shared_data: Path) -> None:
    for one in local_sets(shared_data):
        assert one.folder is not None
        assert one.files == one.public.count or (one.public.count is None and one.files > 0)
