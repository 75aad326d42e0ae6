"""Today's code, told by another process: afresh each time, and without an effect on this one."""

import sys
from pathlib import Path

from inspector.resume.judge import Asked, judged

APP = """
import sys
from inspector import Agent, ScriptedModel, tool
print("printed at import")
@tool
def {name}(x: int) -> int:
    return x
agent = Agent("refunds", model=ScriptedModel("done"), tools=[{name}])
"""
RUN = "examples/refund-suspended.jsonl"


def test_a_new_process_sees_every_edit_and_imports_nothing_here(tmp_path: Path) -> None:
    file = tmp_path / "judged_app.py"
    file.write_text(APP.format(name="first"))
    asked = Asked(target=f"{file}:agent")
    verdict = judged(asked)
    assert verdict.error is None
    assert verdict.code is not None
    assert [tool.name for tool in verdict.code.tools or ()] == ["first"]
    assert verdict.files == (str(file),)
    file.write_text(APP.format(name="second"))
    again = judged(asked)
    assert again.code is not None
    assert [tool.name for tool in again.code.tools or ()] == ["second"]
    assert "judged_app" not in sys.modules


def test_the_plan_of_the_run_comes_with_it(tmp_path: Path) -> None:
    verdict = judged(Asked(target="examples/refund_agent.py:agent", path=RUN))
    assert verdict.plan is not None
    assert verdict.plan.resumable
    assert [need.call_id for need in verdict.plan.needs] == ["c3"]
    file = tmp_path / "other_app.py"
    file.write_text(APP.format(name="first"))
    refused = judged(Asked(target=f"{file}:agent", path=RUN)).plan
    assert refused is not None
    assert "tool_missing" in [refusal.code for refusal in refused.refusals]


def test_code_that_cannot_be_imported_is_an_error_with_its_place(tmp_path: Path) -> None:
    file = tmp_path / "broken_app.py"
    file.write_text("x = 1\ny = )\n")
    verdict = judged(Asked(target=f"{file}:agent"))
    assert verdict.code is None
    assert "broken_app.py:2" in (verdict.error or "")
    assert verdict.died is None
    file.write_text("import os\nos._exit(3)\n")
    left = judged(Asked(target=f"{file}:agent"))
    assert "os._exit(3) (broken_app.py:2)" in (left.error or "")
    assert left.died is None
    file.write_text("import os\nos.kill(os.getpid(), 11)\n")
    verdict = judged(Asked(target=f"{file}:agent"))
    assert verdict.died == "importing it ends the process without a word (SIGSEGV)"
    assert verdict.error == f"{file}:agent: {verdict.died}"
