"""The operators of the standard modules, by (module, name).

Each names its function as generated code imports it (:mod:`lockstep.tla.compile.module_text`), says of each argument
whether it is a value (``v``) or an operator (``o``), and may give Python's own operator for arguments known to be
integers (small ones, where the result is one, too).
"""

from __future__ import annotations

#: The operators whose result has a part of an argument in it, or is one.
PASSING = frozenset(
    {"Append", "\\o", "Head", "Tail", "SubSeq", "SelectSeq", "SortSeq", "@@", ":>", "Print", "TLCEval", "BagUnion"}
    | {"TLCGetOrDefault", "TLCGetAndSet"}
)

#: The operators that read and write the registers of a search, so that it matters when they are evaluated.
REGISTERS = frozenset({("TLC", "TLCGet"), ("TLC", "TLCSet"), ("TLCExt", "TLCGetOrDefault"), ("TLCExt", "TLCGetAndSet")})

#: The operators that print whenever they are evaluated.
PRINTING = frozenset({("TLC", "Print"), ("TLC", "PrintT"), ("TLCExt", "AssertEq")})

#: The counts of a search by ``TLCGet`` that depend on the spec alone, with one worker.
SEARCH_COUNTS = frozenset({"level", "distinct", "queue", "diameter"})

#: The operators that read a file, whose name must be a constant.
READING = frozenset({("Json", "JsonDeserialize"), ("Json", "ndJsonDeserialize"), ("IOUtils", "Deserialize")})

_RANDOM = "it is random, and a search takes every choice: write "
_BY_JAVA = "its TLA+ text is none of its meaning, which Java has"

#: The operators of known modules that are refused, and why, or what to write instead.
REFUSED: dict[tuple[str, str], str] = {
    ("TLC", "RandomElement"): _RANDOM + "`\\E x \\in S : ...`, or `x \\in S` in Init",
    ("TLC", "JavaTime"): "it is the time of a clock, and no function of the spec",
    ("TLC", "Any"): "everything is an element of it; write the set that is meant",
    ("Randomization", "RandomSubset"): _RANDOM + "`\\E T \\in {T \\in SUBSET S : Cardinality(T) = k} : ...`",
    ("Randomization", "RandomSetOfSubsets"): _RANDOM + "`SUBSET S`",
    ("Randomization", "TestRandomSetOfSubsets"): "it is random",
    ("TLCExt", "Trace"): "a search does not keep how it came to a state; write a variable for the history",
    ("TLCExt", "CounterExample"): "it is the counterexample as a value; `lockstep model --format json` prints it",
    ("TLCExt", "ToTrace"): "it is the counterexample as a value; `lockstep model --format json` prints it",
    ("TLCExt", "PickSuccessor"): "it asks a person which step to take; `lockstep play` does so",
    ("TLCExt", "AssertError"): "it compares the words of an error, which are TLC's own",
    ("TLCExt", "TLCFP"): "it is a fingerprint, which is TLC's own",
    ("TLCExt", "TLCEvalDefinition"): "write the name of the definition itself, without quotes",
    **dict.fromkeys([("CSV", "CSVWrite"), ("CSV", "CSVWriteRecord"), ("SVG", "SVGSerialize")], "it writes a file"),
    **dict.fromkeys([("CSV", "CSVRead"), ("CSV", "CSVRecords")], "ndJsonDeserialize of the module Json reads a file"),
    **dict.fromkeys([("SVG", "NodeOfRingNetwork"), ("SVG", "NodesOfDirectedMultiGraph")], _BY_JAVA),
    **dict.fromkeys([("SVG", "SVGElemToString"), ("GraphViz", "DotDiGraph"), ("Statistics", "ChiSquare")], _BY_JAVA),
    **dict.fromkeys([("Json", "JsonSerialize"), ("Json", "ndJsonSerialize")], "it writes a file"),
    **dict.fromkeys([("IOUtils", "IOSerialize"), ("IOUtils", "Serialize")], "it writes a file"),
    ("IOUtils", "IODeserialize"): "it reads what Java has written",
    **{
        ("IOUtils", name): "it runs a process"
        for name in ("IOExec", "IOEnvExec", "IOExecTemplate", "IOEnvExecTemplate")
    },
}

STANDARD_VALUES: dict[tuple[str, str], str] = {
    ("Naturals", "Nat"): "_NAT",
    ("Integers", "Int"): "_INT",
    ("Bags", "EmptyBag"): "()",
}

STANDARD: dict[tuple[str, str], tuple[str, str, str]] = {
    ("Naturals", "+"): ("_add", "vv", "+"),
    ("Naturals", "-"): ("_sub", "vv", "-"),
    ("Naturals", "*"): ("_mul", "vv", ""),
    ("Naturals", "^"): ("_power", "vv", ""),
    ("Naturals", "<"): ("_lt", "vv", "<"),
    ("Naturals", ">"): ("_gt", "vv", ">"),
    ("Naturals", "\\leq"): ("_le", "vv", "<="),
    ("Naturals", "\\geq"): ("_ge", "vv", ">="),
    ("Naturals", "%"): ("_mod", "vv", ""),
    ("Naturals", "\\div"): ("_div", "vv", ""),
    ("Naturals", ".."): ("_interval", "vv", ""),
    ("Integers", "-."): ("_neg", "v", ""),
    ("Sequences", "Seq"): ("_sequences_over", "v", ""),
    ("Sequences", "Len"): ("_length", "v", ""),
    ("Sequences", "\\o"): ("_concatenate", "vv", ""),
    ("Sequences", "Append"): ("_append", "vv", ""),
    ("Sequences", "Head"): ("_head", "v", ""),
    ("Sequences", "Tail"): ("_tail", "v", ""),
    ("Sequences", "SubSeq"): ("_sub_seq", "vvv", ""),
    ("Sequences", "SelectSeq"): ("_select_seq", "vo", ""),
    ("FiniteSets", "IsFiniteSet"): ("_is_finite_set", "v", ""),
    ("FiniteSets", "Cardinality"): ("_cardinality", "v", ""),
    ("Bags", "IsABag"): ("_is_a_bag", "v", ""),
    ("Bags", "BagToSet"): ("_bag_to_set", "v", ""),
    ("Bags", "SetToBag"): ("_set_to_bag", "v", ""),
    ("Bags", "BagIn"): ("_bag_in", "vv", ""),
    ("Bags", "\\oplus"): ("_bag_cup", "vv", ""),
    ("Bags", "\\ominus"): ("_bag_minus", "vv", ""),
    ("Bags", "BagUnion"): ("_bag_union", "v", ""),
    ("Bags", "\\sqsubseteq"): ("_bag_within", "vv", ""),
    ("Bags", "BagOfAll"): ("_bag_of_all", "ov", ""),
    ("Bags", "BagCardinality"): ("_bag_cardinality", "v", ""),
    ("Bags", "CopiesIn"): ("_copies_in", "vv", ""),
    ("TLC", "Assert"): ("_tlc_assert", "vv", ""),
    ("TLC", "Print"): ("_tlc_print", "vv", ""),
    ("TLC", "PrintT"): ("_tlc_print_t", "v", ""),
    ("TLC", ":>"): ("_single", "vv", ""),
    ("TLC", "@@"): ("_merge", "vv", ""),
    ("TLC", "Permutations"): ("_permutations", "v", ""),
    ("TLC", "SortSeq"): ("_sort_seq", "vo", ""),
    ("TLC", "ToString"): ("_to_string", "v", ""),
    ("TLC", "TLCGet"): ("_tlc_get", "v", ""),
    ("TLC", "TLCSet"): ("_tlc_set", "vv", ""),
    ("Json", "ToJson"): ("_to_json", "v", ""),
    ("Json", "ToJsonArray"): ("_to_json_array", "v", ""),
    ("Json", "ToJsonObject"): ("_to_json_object", "v", ""),
    ("Json", "JsonDeserialize"): ("_read_json", "v", ""),
    ("Json", "ndJsonDeserialize"): ("_read_json_lines", "v", ""),
    ("IOUtils", "Deserialize"): ("_read_text", "vv", ""),
    ("IOUtils", "IOEnv"): ("_io_env", "", ""),
    ("IOUtils", "atoi"): ("_atoi", "v", ""),
    ("TLC", "TLCEval"): ("_frozen", "v", ""),
    ("TLCExt", "AssertEq"): ("_assert_eq", "vv", ""),
    ("TLCExt", "TLCGetOrDefault"): ("_tlc_get_or_default", "vv", ""),
    ("TLCExt", "TLCGetAndSet"): ("_tlc_get_and_set", "vovv", ""),
    ("TLCExt", "TLCModelValue"): ("_model_value", "v", ""),
}
