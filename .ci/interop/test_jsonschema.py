"""Section 2 against jsonschema and jsonschema-rs: random schemas, random values, one answer."""

import json
import os
import random

import jsonschema
import jsonschema_rs
import pytest

import toolreg

DRAFTS = {      # dialect: (the class of jsonschema, the class of jsonschema-rs, keywords that only this draft reads so)
    toolreg.DRAFT_2020_12: (jsonschema.Draft202012Validator, jsonschema_rs.Draft202012Validator,
                            {"prefixItems", "items", "minContains", "maxContains", "dependentRequired",
                                "dependentSchemas",
                             "unevaluatedItems", "unevaluatedProperties"}),
    toolreg.DRAFT_2019_09: (jsonschema.Draft201909Validator, jsonschema_rs.Draft201909Validator,
                            {"itemArray", "items", "additionalItems", "minContains", "maxContains",
                                "dependentRequired", "dependentSchemas",
                             "unevaluatedProperties"}),
    toolreg.DRAFT_07: (jsonschema.Draft7Validator, jsonschema_rs.Draft7Validator,
        {"itemArray", "items", "additionalItems", "dependencies"}),
}
PAIRS = int(os.environ.get("TOOLREG_PAIRS", "6000"))       # for each draft and seed
KINDS = ["object", "array", "string", "integer", "number", "boolean", "null"]
PATTERNS = ["^a", "b$", "[0-9]", "^(a|b)*$", "^.{1,2}$", "\\d"]


def random_value(pick, depth=3):
    kind = pick.randrange(9 if depth else 6)
    if kind == 6 or kind == 8:
        return {pick.choice("abcd"): random_value(pick, depth - 1) for _ in range(pick.randrange(4))}
    if kind == 7:
        return [random_value(pick, depth - 1) for _ in range(pick.randrange(4))]
    return pick.choice([None, True, False, 0, 1, 2, 3, -1, 1.0, 2.0, 0.5, 2.5, 1e300, "", "a", "b", "ab", "abc", "1",
        "a b", "\xe9"])


def names(pick):
    return pick.sample("abcd", pick.randrange(3))


def random_schema(pick, drafts_own, depth=3, refs=("#", "#/definitions/d", "#/definitions/e")):
    def sub():
        return random_schema(pick, drafts_own, depth - 1, refs)

    def some():
        return [sub() for _ in range(pick.randrange(1, 3))]

    def named():
        return {name: sub() for name in pick.sample("abcd", pick.randrange(1, 3))}
    if pick.random() < 0.15 or not depth:
        return pick.choice([True, True, False, {}, {"type": pick.choice(KINDS)}, {"type": pick.choice(KINDS)},
            {"type": pick.sample(KINDS, 2)}])
    makers = {
        "type": lambda: pick.choice([pick.choice(KINDS), pick.sample(KINDS, pick.randrange(1, 4))]),
        "enum": lambda: [random_value(pick, 2) for _ in range(pick.randrange(1, 4))],
            "const": lambda: random_value(pick, 2),
        "minimum": lambda: pick.choice([-1, 0, 1, 1.5, 2]), "maximum": lambda: pick.choice([0, 1, 1.5, 2.0]),
        "exclusiveMinimum": lambda: pick.choice([-1, 0, 1]), "exclusiveMaximum": lambda: pick.choice([1, 2, 2.5]),
            "multipleOf": lambda: pick.choice([1, 2, 0.5]),
        "minLength": lambda: pick.randrange(3), "maxLength": lambda: pick.randrange(3),
            "pattern": lambda: pick.choice(PATTERNS),
        "minItems": lambda: pick.randrange(3), "maxItems": lambda: pick.randrange(4),
            "uniqueItems": lambda: pick.random() < 0.8,
        "minProperties": lambda: pick.randrange(3), "maxProperties": lambda: pick.randrange(4),
            "required": lambda: names(pick),
        "properties": named, "patternProperties": lambda: {pick.choice(PATTERNS): sub()}, "additionalProperties": sub,
            "propertyNames": sub,
        "items": sub, "itemArray": some, "prefixItems": some, "additionalItems": sub, "contains": sub,
            "minContains": lambda: pick.randrange(3),
        "maxContains": lambda: pick.randrange(3), "allOf": some, "anyOf": some, "oneOf": some, "not": sub, "if": sub,
            "then": sub, "else": sub,
        "dependentRequired": lambda: {pick.choice("abcd"): names(pick)}, "dependentSchemas": named,
            "unevaluatedItems": sub, "unevaluatedProperties": sub,
        "dependencies": lambda: {pick.choice("abcd"): pick.choice([names(pick), sub()])},
            "$ref": lambda: pick.choice(refs)}
    only_in_some = set().union(*(own for _, _, own in DRAFTS.values()))
    usable = [keyword for keyword in makers if keyword in drafts_own or keyword not in only_in_some]
    schema = {}
    for keyword in pick.sample(usable, pick.randrange(1, 5)):
        schema["items" if keyword == "itemArray" else keyword] = makers[keyword]()
    return schema


def random_pairs(dialect, seed, pairs):
    """Yield (schema, values, toolreg's validator); schemas that refer to themselves without end are left out."""
    pick, own, made, left_out = random.Random(seed), DRAFTS[dialect][2], 0, 0
    while made < pairs:
        schema = {**(whole if isinstance(whole := random_schema(pick, own), dict) else {"not": whole}),
            "$schema": dialect + "#" * ("07" in dialect),
                  "definitions": {"d": random_schema(pick, own, 2), "e": random_schema(pick, own, 2)}}
        try:
            validator = toolreg.Validator(schema)
        except toolreg.SchemaError as error:
            assert "refers to itself without end" in str(error), (error, schema)
            left_out += 1
            continue
        values = [random_value(pick) for _ in range(6)]
        made += len(values)
        yield schema, values, validator
    assert left_out < made / 6


def answers(validator, values):
    found = [validator.is_valid(value) for value in values]
    assert [not list(validator.iter_errors(value)) for value in values] == found
    return found


SEEDS = [1, 2, random.SystemRandom().randrange(10**9)]

# Where jsonschema answers otherwise, and the section of the specification that toolreg follows
KNOWN = {
    "multipleOf is decided by the decimal numbers, not by dividing floats (validation 6.2.1)": [
        (toolreg.DRAFT_2020_12, {"multipleOf": 0.1}, 0.3, True),
            (toolreg.DRAFT_2020_12, {"multipleOf": 0.01}, 1.13, True)],
    "patterns are ECMA-262's, where $ is the end and \\d is ASCII (core 6.4, validation 6.3.3)": [
        (toolreg.DRAFT_2020_12, {"pattern": "^a$"}, "a\n", False),
            (toolreg.DRAFT_2020_12, {"pattern": "^\\d$"}, "\u0663", False),
        (toolreg.DRAFT_07, {"pattern": "^\\w$"}, "\xe9", False)],
    "what additionalProperties judged is evaluated (2019-09 core 9.3.2.4)": [
        (toolreg.DRAFT_2019_09, {"additionalProperties": {"maxProperties": 2},
            "unevaluatedProperties": {"type": "number"}}, {"d": []}, True)],
}


@pytest.mark.parametrize("kind", KNOWN)
def test_each_known_disagreement_is_one(kind):
    for dialect, schema, value, ours in KNOWN[kind]:
        assert toolreg.Validator(schema, dialect=dialect).is_valid(value) is ours
        assert DRAFTS[dialect][0](schema).is_valid(value) is not ours


def is_known(dialect, schema, value, ours):
    """Tell whether it is the one known kind that random schemas can meet; then jsonschema-rs has to agree with us."""
    return (dialect == toolreg.DRAFT_2019_09 and "unevaluatedProperties" in json.dumps(schema)
            and DRAFTS[dialect][1](schema).is_valid(value) is ours)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("dialect", DRAFTS)
def test_jsonschema_gives_the_same_answers(dialect, seed):
    peer, checked, crashed = DRAFTS[dialect][0], 0, 0
    for schema, values, validator in random_pairs(dialect, seed, PAIRS):
        theirs = peer(schema)
        for value, ours in zip(values, answers(validator, values)):
            try:
                same = theirs.is_valid(value) is ours
            except TypeError as error:      # jsonschema 4.26 wants the length of `items: false`
                assert "has no len()" in str(error) and dialect != toolreg.DRAFT_2020_12, (seed, error, schema)
                crashed += 1
                continue
            checked += 1
            assert same or is_known(dialect, schema, value, ours), f"seed {seed}: {value} with {json.dumps(schema)}"
    assert checked >= PAIRS - crashed and crashed < PAIRS / 50


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("dialect", DRAFTS)
def test_jsonschema_rs_gives_the_same_answers(dialect, seed):
    peer = DRAFTS[dialect][1]
    for schema, values, validator in random_pairs(dialect, seed + 1, PAIRS):
        theirs = peer(schema)
        assert answers(validator, values) == [theirs.is_valid(value)
            for value in values], f"seed {seed}: {values} with {json.dumps(schema)}"


def random_reference_graph(pick):
    """Give a schema whose references lead to any of its schemas: to ancestors, into each other, from several sides."""
    pointers, references = ["#"], []

    def schema(pointer, depth):
        pointers.append(pointer)
        whole = {"type": pick.choice(["object", "array", "integer", ["object", "integer"], ["array", "string"]])}
        if pick.random() < 0.3:
            references.append(whole)
            if pick.random() < 0.7:
                return whole
        if depth:
            for keyword in pick.sample(["properties", "items", "additionalProperties", "allOf", "anyOf", "oneOf", "not",
                    "required", "prefixItems", "$defs"], pick.randrange(1, 4)):
                where = f"{pointer}/{keyword}"
                if keyword == "required":
                    whole[keyword] = names(pick)
                elif keyword in ("properties", "$defs"):
                    whole[keyword] = {name: schema(f"{where}/{name}", depth - 1) for name in names(pick) or "a"}
                elif keyword in ("allOf", "anyOf", "oneOf", "prefixItems"):
                    whole[keyword] = [schema(f"{where}/{at}", depth - 1) for at in range(pick.randrange(1, 3))]
                else:
                    whole[keyword] = schema(where, depth - 1)
        return whole
    root = {**schema("#", 3), "$schema": toolreg.DRAFT_2020_12}
    for whole in references:
        if pick.random() < 0.7:
            del whole["type"]
        whole["$ref"] = pick.choice(pointers)
    return root


@pytest.mark.parametrize("seed", SEEDS)
def test_references_mean_the_same_whatever_graph_they_make(seed):
    pick, made, endless = random.Random(seed), 0, 0
    while made < PAIRS:
        schema = random_reference_graph(pick)
        try:
            validator = toolreg.Validator(schema)
        except toolreg.SchemaError as error:
            assert "refers to itself without end" in str(error), (error, schema)
            endless += 1
            continue
        values = [random_value(pick, 4) for _ in range(6)]
        made += len(values)
        theirs = jsonschema.Draft202012Validator(schema)
        assert answers(validator, values) == [theirs.is_valid(value) for value in values], (seed, schema, values)
        for value in values:
            assert validator.is_valid(value) <= (validator.coerce(value) == value), (seed, schema, value)
    assert endless < made / 6


def test_the_schemas_of_real_tools_compile_and_fit_alike(shared):
    """Take the tools of real MCP servers, and the calls of the Berkeley leaderboard."""
    for path in sorted((shared / "data" / "mcp_tools").glob("*.json")):
        document = json.loads(path.read_text("utf-8"))
        for tool in document if isinstance(document, list) else document.get("tools") or document["result"]["tools"]:
            for schema in filter(None, (tool["inputSchema"], tool.get("outputSchema"))):
                toolreg.check_schema(schema)
    fits = 0
    for line in (shared / "data" / "bfcl.jsonl").read_text("utf-8").splitlines():
        case = json.loads(line)
        validators = {tool["name"]: (toolreg.Validator(tool["parameters"]),
            jsonschema.Draft202012Validator(tool["parameters"])) for tool in case["tools"]}
        for call in case["calls"]:
            ours, theirs = validators[call["name"]]
            fits += ours.is_valid(call["arguments"])
            assert ours.is_valid(call["arguments"]) == theirs.is_valid(call["arguments"]) == call["fits"], case["id"]
    assert fits == 1742
