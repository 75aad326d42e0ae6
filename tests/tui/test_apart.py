"""Where a run is that another one goes on from."""

from pathlib import Path

import pytest

from inspector.model.run import RunLink
from inspector.tui.apart import whereabouts


def test_it_is_where_the_link_says_or_stands_beside(tmp_path: Path) -> None:
    run, beside = tmp_path / "first", str(tmp_path / "second")
    assert whereabouts(RunLink(run="first", step=3), beside) is None
    run.mkdir()
    for link in (RunLink(run="first", step=3), RunLink(run="other", step=3, path=str(run))):
        found = whereabouts(link, beside)
        assert found is not None
        assert (found.path, found.run, found.step) == (str(run), None, 3)


@pytest.mark.parametrize("run", ["", "/", "a/", "..", "a/..", "."])
def test_a_link_without_a_name_leads_to_no_folder(run: str, tmp_path: Path) -> None:
    assert whereabouts(RunLink(run=run, step=1), str(tmp_path / "second")) is None
