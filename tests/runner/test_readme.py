"""The program of the README runs as it stands there."""

import re
import subprocess
import sys
from pathlib import Path

README = Path(__file__).parent.parent.parent / "README.md"


def test_the_program_of_the_readme(tmp_path: Path) -> None:
    programs = re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL)
    (program,) = [text for text in programs if "from inspector import Agent" in text]
    program += "\nassert (result.status, result.output) == ('completed', 'On its way.'), result\n"
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
