//! The JSON schema of programs beside what reads them.

use rquickjs::{Context, Runtime};
use serde_json::{Value, json};
use warpsmith::design_rules::Dag;

use crate::folder::Folder;

/// Returns whether a value is valid, by the keywords of JSON Schema (draft 2020-12) that the
/// schema uses.
fn valid(schema: &Value, root: &Value, value: &Value) -> bool {
    let list = |value: &Value| value.as_array().unwrap().clone();
    let among = |key: &str| list(&schema[key]).iter().filter(|other| valid(other, root, value)).count();
    schema.as_object().unwrap().iter().all(|(key, rule)| match &**key {
        "$schema" | "title" | "description" | "$defs" => true,
        "$ref" => valid(root.pointer(rule.as_str().unwrap().strip_prefix('#').unwrap()).unwrap(), root, value),
        "oneOf" => among(key) == 1,
        "not" => !valid(rule, root, value),
        "const" => value == rule,
        "enum" => list(rule).contains(value),
        "type" => match rule.as_str().unwrap() {
            "object" => value.is_object(),
            "array" => value.is_array(),
            "string" => value.is_string(),
            other => panic!("{other}"),
        },
        "minItems" => value.as_array().is_none_or(|items| items.len() as u64 >= rule.as_u64().unwrap()),
        "maxItems" => value.as_array().is_none_or(|items| items.len() as u64 <= rule.as_u64().unwrap()),
        "contains" => value.as_array().is_none_or(|items| {
            let count = items.iter().filter(|item| valid(rule, root, item)).count() as u64;
            (1..=schema["maxContains"].as_u64().unwrap()).contains(&count)
        }),
        "maxContains" => true,
        "items" => value.as_array().is_none_or(|items| items.iter().all(|item| valid(rule, root, item))),
        "pattern" => value.as_str().is_none_or(|text| matches(rule.as_str().unwrap(), text)),
        "required" => {
            value.as_object().is_none_or(|object| list(rule).iter().all(|key| object.contains_key(key.as_str().unwrap())))
        }
        "properties" => value
            .as_object()
            .is_none_or(|object| object.iter().all(|(key, value)| rule.get(key).is_none_or(|rule| valid(rule, root, value)))),
        "additionalProperties" => {
            assert_eq!(rule, &json!(false));
            value.as_object().is_none_or(|object| object.keys().all(|key| schema["properties"].get(key).is_some()))
        }
        other => panic!("the keyword {other}"),
    })
}

/// As JavaScript has it, which JSON Schema refers to.
fn matches(pattern: &str, text: &str) -> bool {
    let context = Context::full(&Runtime::new().unwrap()).unwrap();
    let code = format!("new RegExp({}, 'u').test({})", json!(pattern), json!(text));
    context.with(|context| context.eval::<bool, _>(code)).unwrap()
}

/// Each file is valid by the schema where the reader takes it, and where it doesn't, the schema refuses it, too, unless
/// it is about what a schema can't say.
#[test]
fn programs_by_schema_and_reader() {
    let folder = Folder::of("rules");
    let schema: Value = serde_json::from_str(&folder.good("schema")).unwrap();
    assert_eq!(schema, serde_json::from_str::<Value>(Dag::SCHEMA).unwrap());
    let operation = |fields: &str| format!(r#"{{"operations": [{{"name": "P", "kind": "gpu"}}, {fields}]}}"#);
    let choice = |ways: &str| operation(&format!(r#"{{"name": "A", "after": ["P"], "alternatives": {ways}}}"#));
    let part = |fields: &str| choice(&format!(r#"[{{"name": "x", "kind": "gpu"}}, {{"name": "y", "operations": {fields}}}]"#));
    let good = [
        r#"{"name": "exchange", "operations": [{"name": "Pack", "kind": "gpu"}]}"#.to_owned(),
        operation(r#"{"name": "über.2+_", "kind": "cpu", "after": ["start"]}"#),
        operation(r#"{"name": "A", "kind": "cpu", "after": ["P", "P"]}"#),
        choice(r#"[{"name": "x", "kind": "gpu"}, {"name": "y", "kind": "cpu"}]"#),
        part(r#"[{"name": "A", "kind": "cpu"}]"#),
        operation(r#"{"name": "A", "kind": "cpu", "reads": ["x", "x"], "writes": ["any name"]}"#),
        choice(r#"[{"name": "x", "kind": "gpu", "reads": ["x"]}, {"name": "y", "kind": "cpu", "writes": []}]"#),
        part(r#"[{"name": "A", "kind": "cpu", "writes": ["x"]}]"#),
        part(r#"[{"name": "B", "kind": "gpu"}, {"name": "C", "kind": "cpu", "after": ["B", "P"]}]"#),
        operation(r#"{"name": "A", "comment": "b", "settings": ["x", "y"]}"#),
    ];
    // Each with what the reader says.
    let bad = [
        ("[]".to_owned(), "case.json: invalid type: sequence, expected an object"),
        (r#"["", null, [{"name": "A", "kind": "gpu"}]]"#.to_owned(), "case.json: invalid type: sequence, expected an object"),
        (operation(r#"["", "A", "gpu", null, null, [], [], []]"#), "`operations[1]`: invalid type: sequence, expected an object"),
        (
            choice(r#"[{"name": "x", "kind": "gpu"}, ["", "y", "gpu", null, [], []]]"#),
            "`operations[1].alternatives[1]`: invalid type",
        ),
        (part(r#"[["", "B", "gpu", [], [], []]]"#), "`operations[1].alternatives[1].operations[0]`: invalid type"),
        ("{}".to_owned(), "case.json: missing field `operations`"),
        (r#"{"operations": []}"#.to_owned(), "case.json: program `case`: it has no operations"),
        (r#"{"operations": {}}"#.to_owned(), "invalid type"),
        (r#"{"name": 1, "operations": [{"name": "A", "kind": "gpu"}]}"#.to_owned(), "`name`: invalid type"),
        (r#"{"edges": [], "operations": [{"name": "A", "kind": "gpu"}]}"#.to_owned(), "unknown field `edges`"),
        (operation(r#"{"name": "A"}"#), "case.json: `A` has none of `kind`, `alternatives` and `settings`"),
        (operation(r#"{"kind": "gpu"}"#), "missing field `name`"),
        (
            operation(r#"{"name": "A", "kind": "tpu"}"#),
            "`operations[1].kind`: unknown variant `tpu`, expected `cpu` or `gpu` at line 1",
        ),
        (operation(r#"{"name": "A", "kind": "gpu", "before": []}"#), "unknown field `before`"),
        (operation(r#"{"name": "A", "kind": "gpu", "after": "P"}"#), "after`: invalid type"),
        (operation(r#"{"name": "A", "kind": "gpu", "after": [1]}"#), "after[0]`: invalid type"),
        (operation(r#"{"name": "A", "kind": "gpu", "after": ["end"]}"#), "leads out of the end"),
        (operation(r#"{"name": "", "kind": "gpu"}"#), "an operation has an empty name"),
        (operation(r#"{"name": "A B", "kind": "gpu"}"#), "the name `A B` has a ' '"),
        (operation(r#"{"name": "A-B", "kind": "gpu"}"#), "the name `A-B` has a '-'"),
        (operation(r#"{"name": "A=B", "kind": "gpu"}"#), "the name `A=B` has a '='"),
        (operation(r#"{"name": "start", "kind": "gpu"}"#), "the name `start` is reserved"),
        (operation(r#"{"name": "end", "kind": "gpu"}"#), "the name `end` is reserved"),
        (operation("1"), "invalid type"),
        (format!("{{\"operations\": [{}]}}", vec![r#"{"name": "A", "kind": "gpu"}"#; 64].join(",")), "it has 64 operations"),
        (choice("[]"), "case.json: `alternatives` of `A` is empty"),
        (choice(r#"[{"name": "x", "kind": "gpu"}]"#), "program `case`: `A` has one alternative, `x`: a choice takes two"),
        (choice(r#"[{"name": "x", "kind": "gpu"}, {"name": "y"}]"#), "`A` as `y` has neither `kind` nor `operations`"),
        (choice(r#"[{"name": "x", "kind": "gpu"}, {"kind": "gpu"}]"#), "missing field `name`"),
        (choice(r#"[{"name": "x", "kind": "gpu"}, {"name": "y", "kind": "gpu", "after": []}]"#), "unknown field `after`"),
        (choice(r#"[{"name": "x=", "kind": "gpu"}, {"name": "y", "kind": "gpu"}]"#), "the name `x=` has a '='"),
        (choice(r#"[{"name": "", "kind": "gpu"}, {"name": "y", "kind": "gpu"}]"#), "an alternative has an empty name"),
        (
            choice(
                r#"[{"name": "x", "kind": "gpu"}, {"name": "y", "kind": "gpu", "operations": [{"name": "B", "kind": "gpu"}]}]"#,
            ),
            "`A` as `y` has both `kind` and `operations`",
        ),
        (
            operation(
                r#"{"name": "A", "kind": "gpu", "alternatives": [{"name": "x", "kind": "gpu"}, {"name": "y", "kind": "gpu"}]}"#,
            ),
            "case.json: `A` has both `kind` and `alternatives`",
        ),
        (part("[]"), "`operations` of `A` as `y` is empty"),
        (operation(r#"{"name": "A", "kind": "gpu", "reads": "x"}"#), "reads`: invalid type"),
        (
            operation(
                r#"{"name": "A", "reads": ["x"], "alternatives": [{"name": "x", "kind": "gpu"}, {"name": "y", "kind": "gpu"}]}"#,
            ),
            "`A` is a choice: its alternatives say what they read and write",
        ),
        (
            choice(
                r#"[{"name": "x", "kind": "gpu"}, {"name": "y", "writes": ["x"], "operations": [{"name": "B", "kind": "gpu"}]}]"#,
            ),
            "`A` as `y` has `operations`, which say what they read and write",
        ),
        (operation(r#"{"name": "A", "settings": []}"#), "`settings` of `A` is empty"),
        (operation(r#"{"name": "A", "settings": ["x"]}"#), "`A` has one alternative, `x`: a choice takes two"),
        (operation(r#"{"name": "A", "settings": ["x", "y="]}"#), "the name `y=` has a '='"),
        (operation(r#"{"name": "A", "settings": ["x", 1]}"#), "settings[1]`: invalid type"),
        (operation(r#"{"name": "A", "kind": "cpu", "settings": ["x", "y"]}"#), "`A` has `settings`, and so nothing else"),
        (operation(r#"{"name": "A", "after": ["P"], "settings": ["x", "y"]}"#), "`A` has `settings`, and so nothing else"),
        (part(r#"[{"name": "B"}]"#), "missing field `kind`"),
        (part(r#"[{"name": "B", "kind": "gpu", "alternatives": []}]"#), "unknown field `alternatives`"),
    ];
    // No schema can express these: names that are taken, unknown, or depend on each other.
    let beyond = [
        (operation(r#"{"name": "P", "kind": "gpu"}"#), "two operations have the name `P`"),
        (operation(r#"{"name": "A", "kind": "gpu", "after": ["B"]}"#), "names `B`, which is not an operation"),
        (operation(r#"{"name": "A", "kind": "gpu", "after": ["A"]}"#), "`A` depends on itself"),
        (
            operation(r#"{"name": "A", "kind": "gpu", "after": ["B"]}, {"name": "B", "kind": "cpu", "after": ["A"]}"#),
            "depend on each other in a cycle",
        ),
        (choice(r#"[{"name": "x", "kind": "gpu"}, {"name": "x", "kind": "cpu"}]"#), "two alternatives of `A` have the name `x`"),
        (operation(r#"{"name": "A", "settings": ["x", "x"]}"#), "two alternatives of `A` have the name `x`"),
        (operation(r#"{"name": "P", "settings": ["x", "y"]}"#), "the setting `P` has the name of an operation"),
        (
            operation(r#"{"name": "A", "settings": ["x", "y"]}, {"name": "B", "kind": "cpu", "after": ["A"]}"#),
            "the edge A -> B names `A`, which is not an operation",
        ),
        (part(r#"[{"name": "P", "kind": "gpu"}]"#), "two operations have the name `P`"),
        (part(r#"[{"name": "B", "kind": "gpu", "after": ["A"]}]"#), "the edge A -> A=y/B leads from a choice into itself"),
        (part(r#"[{"name": "B", "kind": "gpu", "after": ["Q"]}]"#), "the edge Q -> A=y/B names `Q`, which is not an operation"),
    ];
    let good = good.map(|text| (text, ""));
    for (cases, by_schema, by_reader) in [(&good[..], true, true), (&bad[..], false, false), (&beyond[..], true, false)] {
        for (text, said) in cases {
            folder.write("case.json", text);
            let read = Dag::read(&folder.path("case.json")).map_err(|error| error.to_string());
            assert_eq!(read.is_ok(), by_reader, "{text}: {read:?}");
            assert!(read.err().is_none_or(|error| error.contains("case.json: ") && error.contains(said)), "{text}: {said}");
            let value: Value = serde_json::from_str(text).unwrap();
            assert_eq!(valid(&schema, &schema, &value), by_schema, "{text}");
        }
    }
}
