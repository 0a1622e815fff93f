"""Files of the disk cache: others' files stay, others' code is not run, and whatever is damaged is written anew."""

import contextlib
import os
import random
import shutil
import stat
import subprocess
import sys
import textwrap
import threading

import numpy as np
import pytest
from covering import few

import jitrt
from jitrt.__main__ import main
from jitrt.codegen import cache, cachefiles

on_unix = pytest.mark.skipif(not hasattr(os, "geteuid"), reason="owners, modes, links and pipes of Unix")
NOBODY = 65534
KINDS = ("module", "entry", "program", "table")


@pytest.fixture
def own_cache(tmp_path, monkeypatch):
    directory = tmp_path / "cache"
    monkeypatch.setenv("JITRT_CACHE_DIR", str(directory))
    monkeypatch.setattr(cache, "_complained", False)
    return directory


def wait_for_cleaning():
    for thread in threading.enumerate():
        if thread.name == "jitrt cache":
            thread.join()


def folder(directory):
    return directory / cachefiles.fingerprint()


def name(number, kind="module"):
    return f"{number:032x}.{kind}"


def snapshot(directory, without):
    """What everything under a folder is, but for one folder."""
    found = {}
    for path in sorted(directory.rglob("*")):
        if without not in (path, *path.parents):
            status = path.lstat()
            content = os.readlink(path) if path.is_symlink() else path.read_bytes() if path.is_file() else None
            found[path] = stat.S_IMODE(status.st_mode), status.st_mtime_ns * (not path.is_dir()), content
    return found


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A home full of files, some of which look nearly like those of the cache, that is the folder of the cache."""
    elsewhere = tmp_path / "elsewhere"
    home = tmp_path / "home"
    looks_marked = home / ("a" * 32)
    for path in (
        home / ".ssh" / "id_rsa",
        home / "stored",
        home / "CACHEDIR.TAG",
        home / name(1),
        home / "notes" / "thesis.txt",
        home / "notes" / name(2, "entry"),
        home / ("b" * 32) / name(3),  # an object of git, say: nothing marks its folder
        looks_marked / "CACHEDIR.TAG",
        looks_marked / name(4, "program"),
        elsewhere / name(5),
        elsewhere / "important",
    ):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(path.name.encode())
    (looks_marked / "CACHEDIR.TAG").write_bytes(b"Signature: 8a477f597d28d172789f06886806bc55\n# of another program\n")
    (elsewhere / "CACHEDIR.TAG").write_bytes(cachefiles._MARKED)
    for path in (elsewhere, home):
        path.chmod(0o700)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("JITRT_CACHE_DIR", str(home))
    monkeypatch.setattr(cache, "_complained", False)
    cachefiles.write(name(6), b"ours")
    if os.name == "posix":
        (home / ("c" * 32)).symlink_to(elsewhere, target_is_directory=True)
        (home / "link").symlink_to(elsewhere / "important")
        (folder(home) / name(7)).symlink_to(elsewhere / "important")
        (folder(home) / name(8, "entry")).symlink_to(elsewhere, target_is_directory=True)
    (folder(home) / "thesis.txt").write_text("in the wrong place")
    (folder(home) / name(9, "program")).mkdir()
    (folder(home) / name(9, "program") / "thesis.txt").write_text("in the wrong place, too")
    return home


@pytest.mark.parametrize(
    "stores", [pytest.param(2000, id="short"), pytest.param(1_000_000, id="long", marks=pytest.mark.slow)]
)
def test_a_home_survives(home, tmp_path, monkeypatch, capsys, stores):
    """Commands, compiles and many stores, each time with cleaning, leave all but the cache's own files alone."""
    monkeypatch.setenv("JITRT_CACHE_SIZE", "200000")
    before = snapshot(tmp_path, without=folder(home))
    x = np.ones(30)
    np.testing.assert_array_equal(jitrt.jit(lambda x: x * 3 - 1.5)(x), x * 3 - 1.5)
    for number in range(stores):
        cachefiles.write(name(100 + number, KINDS[number % 4]), bytes(300))
    for number in (7, 8, 9):
        for kind in KINDS:
            cachefiles.write(name(number, kind), b"in the place of a link or a folder")
            assert cachefiles.read(name(number, kind)) == b"in the place of a link or a folder"
    wait_for_cleaning()
    assert cache.summary()["bytes"] <= 200_000
    assert main(["cache"]) == 0 and main(["cache", "--clear"]) == 0
    assert "bytes      0" in capsys.readouterr().out
    assert snapshot(tmp_path, without=folder(home)) == before
    texts = [path.read_text() for path in folder(home).rglob("thesis.txt")]
    assert sorted(texts) == ["in the wrong place", "in the wrong place, too"]


@on_unix
@pytest.mark.parametrize("umask", [0o000, 0o002, 0o022, 0o077])
def test_nobody_else_may_write(tmp_path, monkeypatch, umask):
    monkeypatch.setenv("JITRT_CACHE_DIR", str(tmp_path / "made" / "too" / "cache"))
    before = os.umask(umask)
    try:
        cachefiles.write(name(1), b"code")
        cache.note("a note")
        cache.extend_table("table", {"a": True})
    finally:
        os.umask(before)
    made = list((tmp_path / "made").rglob("*"))
    assert len(made) == 8  # of them two folders, the mark and the counter
    for path in [tmp_path / "made", *made]:
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600), path
    assert cachefiles.read(name(1)) == b"code"


def let_others_write(path, how, monkeypatch):
    if how == "owner" and os.geteuid() == 0:
        os.chown(path, NOBODY, -1)
    elif how == "owner":
        monkeypatch.setattr(os, "geteuid", lambda: NOBODY)
    elif how == "link":
        moved = path.parent / "moved"
        path.rename(moved)
        path.symlink_to(moved)
    else:
        path.chmod(path.stat().st_mode | {"group": 0o020, "others": 0o002, "sticky": 0o1002}[how])


@on_unix
@pytest.mark.parametrize("how", ["owner", "group", "others", "sticky", "link"])
@pytest.mark.parametrize("what", ["directory", "folder", "file"])
def test_what_others_may_write_is_not_read(own_cache, monkeypatch, caplog, what, how):
    cachefiles.write(name(1), b"code")
    files = {"directory": own_cache, "folder": folder(own_cache), "file": folder(own_cache) / name(1)}
    let_others_write(files[what], how, monkeypatch)
    if (what, how) == ("directory", "link"):  # which the user has made
        assert cachefiles.read(name(1)) == b"code"
        return
    with pytest.raises(OSError if (what, how) == ("file", "link") else cachefiles.Unsafe):
        cachefiles.read(name(1))
    if what != "file":
        with pytest.raises(cachefiles.Unsafe):
            cachefiles.write(name(1), b"other code")
        assert ("not used" in cache.summary()) and not cache.has("a text") and cache.load("a text") is None
        assert caplog.text.count("the disk cache is not used") == 1 and "Unsafe" in caplog.text
        x = np.ones(7)
        np.testing.assert_array_equal(jitrt.jit(lambda x: x * 5 - 1.25)(x), x * 5 - 1.25)
    else:
        monkeypatch.undo()
        monkeypatch.setenv("JITRT_CACHE_DIR", str(own_cache))
        cachefiles.write(name(1), b"code")
        assert cachefiles.read(name(1)) == b"code"


RESULT = textwrap.dedent(
    """
    import sys
    import numpy as np
    import jitrt
    x = np.linspace(1.0, 2.0, 1000)
    functions = [lambda x: np.sqrt(x) * x + 1.5, lambda x: np.sqrt(x) / x - 1.5]
    print(jitrt.jit(functions[int(sys.argv[1])])(x)[-1])
    """
)
RIGHT = [2**0.5 * 2 + 1.5, 2**0.5 / 2 - 1.5]


def result(directory, number, **options):
    """What a new process gets of a function, and what it logs."""
    settings = dict(os.environ, JITRT_CACHE_DIR=str(directory), JITRT_STRICT="1", **options)
    command = [sys.executable, "-c", RESULT, str(number)]
    done = subprocess.run(command, env=settings, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr
    return float(done.stdout), done.stderr


@pytest.fixture(scope="module")
def known(tmp_path_factory):
    """A cache that has both functions."""
    directory = tmp_path_factory.mktemp("known")
    assert [result(directory, number)[0] for number in (0, 1)] == RIGHT
    return directory


@pytest.fixture(scope="module")
def planted(known, tmp_path_factory):
    """A cache with the code of the other function in the files of the first, with checksums that are right."""
    directory, alone = tmp_path_factory.mktemp("planted") / "cache", tmp_path_factory.mktemp("alone")
    shutil.copytree(known, directory)
    result(alone, 0)
    (path,) = alone.glob("*/*.program")
    (other,) = {p.name for p in directory.glob("*/*.program")} - {path.name}
    with pytest.MonkeyPatch.context() as patches:
        patches.setenv("JITRT_CACHE_DIR", str(directory))
        patches.setattr(cachefiles, "fingerprint", lambda: path.parent.name)
        cachefiles.write(path.name, cachefiles.read(other))
    (directory / path.parent.name / other).unlink()
    assert result(directory, 0)[0] == RIGHT[1]  # it would be run
    return directory


@pytest.mark.wide
@on_unix
@pytest.mark.parametrize("how", ["owner", "group", "others"])
@pytest.mark.parametrize("what", ["directory", "folder", "program", "module"])
def test_planted_code_is_not_run(planted, tmp_path, monkeypatch, what, how):
    if how == "owner" and os.geteuid() != 0:
        pytest.skip("only root can give files away")
    directory = tmp_path / "cache"
    shutil.copytree(planted, directory)
    files = {"directory": [directory], "folder": directory.glob("*")}.get(what) or directory.glob(f"*/*.{what}")
    for file in files:
        let_others_write(file, how, monkeypatch)
    got, said = result(directory, 0)
    assert got == RIGHT[0] and said.count("the disk cache is not used") == 1 and "Unsafe" in said


@on_unix
@pytest.mark.skipif(hasattr(os, "geteuid") and os.geteuid() != 0, reason="only root can be another user")
def test_the_cache_of_another_user(tmp_path):
    os.chown(tmp_path, NOBODY, NOBODY)
    got, said = result(tmp_path, 0)
    assert got == RIGHT[0] and "belongs to another user" in said
    assert not list(tmp_path.iterdir())


def exchanged(paths):
    """Give each file the content of the next one."""
    contents = [path.read_bytes() for path in paths]
    for path, content in zip(paths, contents[1:] + contents[:1]):
        path.write_bytes(content)


@pytest.mark.parametrize("kind", few(["program", "module", "entry", "table"], 2))
def test_exchanged_files_are_not_used(known, tmp_path, kind):
    directory = tmp_path / "cache"
    shutil.copytree(known, directory)
    if kind != "program":  # which would be found without the others
        for path in directory.glob("*/*.program"):
            path.unlink()
    exchanged(sorted(directory.glob(f"*/*.{kind}")))
    assert result(directory, 0)[0] == RIGHT[0]
    assert result(directory, 1)[0] == RIGHT[1]
    assert result(directory, 0) == (RIGHT[0], "")


def test_files_of_another_fingerprint_are_damaged(own_cache, monkeypatch):
    cachefiles.write(name(1), b"code")
    path = folder(own_cache)
    other = own_cache / ("0" * 32)
    path.rename(other)
    monkeypatch.setattr(cachefiles, "fingerprint", lambda: other.name)
    with pytest.raises(ValueError, match="damaged"):
        cachefiles.read(name(1))


def flip(path, chance):
    data = bytearray(path.read_bytes())
    data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
    path.write_bytes(data)


def cut(path, chance):
    path.write_bytes(path.read_bytes()[: chance.randrange(path.stat().st_size)])


def extend(path, chance):
    path.write_bytes(path.read_bytes() + bytes(chance.randrange(1, 100)))


def exchange(path, chance):
    exchanged([path, chance.choice([p for p in path.parent.iterdir() if p.is_file() and p != path])])


def delete(path, chance):
    path.unlink()


def become_folder(path, chance):
    path.unlink()
    path.mkdir()


def become_full_folder(path, chance):
    become_folder(path, chance)
    (path / "file").write_bytes(b"?")


def become_link(path, chance):
    path.rename(path.parent / "linked")
    path.symlink_to("linked")


def become_dangling_link(path, chance):
    path.unlink()
    path.symlink_to(path.parent.parent / "nothing")


def become_pipe(path, chance):
    path.unlink()
    os.mkfifo(path)


DAMAGES = [flip, cut, extend, exchange, delete, become_folder, become_full_folder]
if os.name == "posix":
    DAMAGES += [become_link, become_dangling_link, become_pipe]


@pytest.mark.parametrize("seed", [*range(4), *(pytest.param(k, marks=pytest.mark.slow) for k in range(4, 100))])
def test_damaged_files_are_never_read_and_always_repaired(own_cache, seed):
    """Two damages each: a file is what was written, or is not there, or is refused; writing makes it whole again."""
    chance = random.Random(seed)
    known = {name(k, kind): chance.randbytes(chance.randrange(200)) for k in range(3) for kind in KINDS}
    for file, data in known.items():
        cachefiles.write(file, data)
    for _ in range(100):
        damaged = {chance.choice(list(known)) for _ in range(2)}
        for file in damaged:
            for damage in chance.sample(DAMAGES, 2):
                if (folder(own_cache) / file).is_file():
                    damage(folder(own_cache) / file, chance)
        special = chance.choice([None, *known, cachefiles._MARK, cachefiles._COUNTER])
        if special and (folder(own_cache) / special).is_file():
            chance.choice(DAMAGES[4:])(folder(own_cache) / special, chance)
        for file, data in known.items():
            with contextlib.suppress(ValueError, OSError):
                assert cachefiles.read(file) in (None, data)
        for file, data in known.items():
            cachefiles.write(file, data)
        assert all(cachefiles.read(file) == data for file, data in known.items())
    cachefiles.clean(0)
    assert not [path for path in folder(own_cache).iterdir() if path.name in known]
    assert not (own_cache / "nothing").exists()


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(d, id=d.__name__, marks=[] if d in (flip, become_full_folder, become_link) else pytest.mark.slow)
        for d in DAMAGES
        if d is not exchange
    ],
)
def test_a_process_with_damaged_files_repairs_them(known, tmp_path, damage):
    directory, chance = tmp_path / "cache", random.Random(0)
    shutil.copytree(known, directory)
    for path in [p for p in directory.glob("*/*") if p.is_file()]:
        if path.stat().st_size or damage not in (cut, flip):
            damage(path, chance)
    assert result(directory, 0)[0] == RIGHT[0]
    got, said = result(directory, 0, JITRT_LOG="cache")
    assert got == RIGHT[0] and "not used" not in said
    assert "a program of" in said and "comes from the disk cache" in said
