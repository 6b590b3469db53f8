"""The community's modules Json and IOUtils: what their Java computes, files that are read, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from lockstep.tla.explore import explore
from lockstep.tla.loading.load_spec import load_spec
from lockstep.tla.spec import CompileError, Spec
from lockstep.tla.values.kinds import TlaError

#: The declarations of the community's modules; their TLA+ does not define what the Java does.
JSON = """---- MODULE Json ----
ToJson(value) == TRUE
ToJsonArray(value) == TRUE
ToJsonObject(value) == TRUE
JsonSerialize(absoluteFilename, value) == TRUE
JsonDeserialize(absoluteFilename) == CHOOSE val : TRUE
ndJsonSerialize(absoluteFilename, value) == TRUE
ndJsonDeserialize(absoluteFilename) == CHOOSE val : TRUE
Twice(n) == <<n, n>>
====
"""
IO_UTILS = """---- MODULE IOUtils ----
IOSerialize(val, absoluteFilename, compress) == TRUE
IODeserialize(absoluteFilename, compressed) == CHOOSE val : TRUE
Serialize(value, dest, options) == TRUE
Deserialize(src, options) == CHOOSE val : TRUE
IOExec(command) == TRUE
IOEnvExec(env, command) == TRUE
IOExecTemplate(commandTemplate, parameters) == TRUE
IOEnvExecTemplate(env, commandTemplate, parameters) == TRUE
IOEnv == CHOOSE r : TRUE
atoi(str) == CHOOSE i : TRUE
====
"""
CFG = "CONSTANTS n1 = n1 n2 = n2\nINIT Init\nNEXT Next\nINVARIANT Inv\n"


def load(folder: Path, definitions: str) -> Spec:
    modules = folder / "modules"
    modules.mkdir(exist_ok=True)
    (modules / "Json.tla").write_text(JSON)
    (modules / "IOUtils.tla").write_text(IO_UTILS)
    head = "---- MODULE Values ----\nEXTENDS Naturals, Sequences, Json, IOUtils\nCONSTANTS n1, n2\nVARIABLE x\n"
    body = f"J == INSTANCE Json\nInit == x = 1\nNext == UNCHANGED x\n{definitions}\n====\n"
    (folder / "Values.tla").write_text(head + body)
    (folder / "Values.cfg").write_text(CFG)
    return load_spec(folder / "Values.tla", folder / "Values.cfg", search_path=[modules], cache_dir=folder / "cache")


#: What TLC prints with the modules' Java; see docs/own_spec.md.
TEXTS = {
    "ToJson(1)": "1",
    "ToJson(TRUE)": "true",
    r'ToJson("a\"b\\c\n")': r'"a\"b\\c\n"',
    "ToJson(n1)": '"n1"',
    'ToJson(<<1, "x", <<>>>>)': '[1,"x",[]]',
    "ToJson({3, 1, 2})": "[1,2,3]",
    'ToJson({"b", "a"})': '["b","a"]',
    "ToJson([b |-> 1, a |-> {TRUE}])": '{"b":1,"a":[true]}',
    "ToJson([i \\in 1..3 |-> i * i])": "[1,4,9]",
    "ToJson([i \\in 2..3 |-> i])": '{"2":2,"3":3}',
    "ToJson([c \\in {n1, n2} |-> 0])": '{"n1":0,"n2":0}',
    "ToJson({})": "[]",
    "ToJson(1..3)": "[1,2,3]",
    "ToJson([{1, 2} -> {3}])": "[[3,3]]",
    "ToJson(SUBSET {1})": "[[],[1]]",
    "ToJson([p \\in {<<1, 2>>} |-> [q |-> 1]])": '{"<<1, 2>>":{"q":1}}',
    "ToJsonArray({2, 1})": "[1,2]",
    "ToJsonObject(<<7, 8>>)": '{"0":7,"1":8}',
    "ToJsonObject([a |-> 1])": '{"a":1}',
    "J!ToJson(<<1>>)": "[1]",
}


def test_values_are_written_as_the_modules_java_writes_them(tmp_path: Path) -> None:
    spec = load(tmp_path, f"Inv == TRUE\nTexts == <<{', '.join(TEXTS)}>>\nAsIs == Twice(3)")
    assert spec.evaluate("Texts") == tuple(TEXTS.values())
    assert spec.evaluate("AsIs") == (3, 3), "an operator that is TLA+ alone is compiled"


def test_files_and_the_environment_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.json").write_text('{"a": [1, -2, {"b": "x"}], "t": true,\n "s": "n\\u00e9", "e": {}}')
    (tmp_path / "a.ndjson").write_text('{"n": 1}\n\n  {"n": [2]}\n')
    (tmp_path / "a.txt").write_text("one\ntwo")
    monkeypatch.setenv("PORT", "8080")
    spec = load(
        tmp_path,
        f"""Inv == ndJsonDeserialize("{tmp_path}/a.ndjson")[x].n = 1
One == JsonDeserialize("{tmp_path}/a.json")
Lines == ndJsonDeserialize("{tmp_path}/a.ndjson")
Text == Deserialize("{tmp_path}/a.txt", [format |-> "TXT", charset |-> "UTF-8"]).stdout
Numbers == <<atoi("42"), atoi("-17"), atoi("+5"), atoi(IOEnv.PORT), IOEnv["PORT"]>>""",
    )
    one = spec.evaluate("One").d
    assert (one["a"][:2], one["a"][2].d, one["t"], one["s"], one["e"]) == ((1, -2), {"b": "x"}, True, "né", ())
    assert [line.d for line in spec.evaluate("Lines")] == [{"n": 1}, {"n": (2,)}]
    assert spec.evaluate("Text") == "one\ntwo"
    assert spec.evaluate("Numbers") == (42, -17, 5, 8080, "8080")
    assert explore(spec).distinct == 1


BAD = {
    "not JSON": ('{"a": 1,\n"b": ]', r"a\.json:2: not JSON: Expecting value \(column 6\)"),
    "nothing": ("", r"a\.json:1: not JSON"),
    "null": ('{"a": "null",\n\n"b": null}', r"a\.json:3: null is no value of TLA\+"),
    "a fraction": ("[1,\n1.5]", r"a\.json:2: 1\.5 is no integer"),
    "a long number": ("[1,\n3000000000]", r"a\.json:2: 3000000000 has more than 32 bits"),
    "no UTF-8": ("[1,\n\udcff]", r"a\.json:2: not utf-8: invalid start byte"),
    "nested deeply": ("[" * 90_000, r"a\.json:1: nested too deep"),
}


NO_NUMBERS = ("", "x", "1.5", "2147483648", " 1")


@pytest.fixture(scope="module")
def wrong(tmp_path_factory: pytest.TempPathFactory) -> Spec:
    """A spec with a definition for each file that is not to be read, and for each string that is no number."""
    folder = tmp_path_factory.mktemp("wrong")
    definitions = ["Inv == TRUE"]
    for number, (content, _) in enumerate(BAD.values()):
        (folder / str(number)).mkdir()
        (folder / str(number) / "a.json").write_bytes(content.encode("utf-8", "surrogateescape"))
        definitions.append(f'File{number} == JsonDeserialize("{folder}/{number}/a.json")')
    definitions += [f'Number{number} == atoi("{text}")' for number, text in enumerate(NO_NUMBERS)]
    return load(folder, "\n".join(definitions))


@pytest.mark.parametrize("name", BAD)
def test_bad_json_is_an_error_with_file_and_line(name: str, wrong: Spec) -> None:
    with pytest.raises(TlaError, match=BAD[name][1]):
        wrong.evaluate(f"File{list(BAD).index(name)}")


def test_a_bad_line_and_a_missing_file_are_named(tmp_path: Path) -> None:
    (tmp_path / "a.ndjson").write_text('{"n": 1}\n\n{"n": }\n')
    spec = load(
        tmp_path, f'Inv == TRUE\nBad == ndJsonDeserialize("{tmp_path}/a.ndjson")\nNo == JsonDeserialize("no.json")'
    )
    with pytest.raises(TlaError, match=r"a\.ndjson:3: not JSON"):
        spec.evaluate("Bad")
    with pytest.raises(TlaError, match=r"no\.json: No such file"):
        spec.evaluate("No")


REFUSED = {
    'JsonSerialize("a", <<x>>)': "JsonSerialize of the module Json is not supported: it writes a file",
    'ndJsonSerialize("a", <<x>>)': "ndJsonSerialize of the module Json is not supported: it writes a file",
    'Serialize(x, "a", <<>>)': "Serialize of the module IOUtils is not supported: it writes a file",
    'IOExec(<<"ls">>)': "IOExec of the module IOUtils is not supported: it runs a process",
    "JsonDeserialize(x)": "JsonDeserialize needs the name of a file that is constant",
}


@pytest.mark.parametrize(("expression", "said"), REFUSED.items(), ids=list(REFUSED))
def test_an_operator_with_an_effect_is_refused_by_its_place(expression: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(CompileError, match=rf"Values\.tla:8: {said}"):
        load(tmp_path, f"Inv == {expression} = TRUE")


@pytest.mark.parametrize("text", NO_NUMBERS)
def test_a_string_that_is_no_number_is_an_error(text: str, wrong: Spec) -> None:
    with pytest.raises(TlaError, match="atoi needs a string with an integer of 32 bits, but was given"):
        wrong.evaluate(f"Number{NO_NUMBERS.index(text)}")
