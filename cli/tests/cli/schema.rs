//! A check of JSON against the part of JSON Schema that the published schemas use, stricter in one
//! point: a field that the schema does not name is a problem, so that none is forgotten.

use serde_json::Value;

/// What in `value` does not keep to `schema`, each with its place.
pub(crate) fn problems(schema: &Value, value: &Value) -> Vec<String> {
    let mut found = Vec::new();
    check(schema, schema, value, "$", &mut found);
    found
}

fn check(root: &Value, schema: &Value, value: &Value, place: &str, found: &mut Vec<String>) {
    if let Some(target) = schema["$ref"].as_str() {
        let pointer = target.strip_prefix('#').expect("schemas refer to themselves alone");
        let target = root.pointer(pointer).unwrap_or_else(|| panic!("no {pointer}"));
        return check(root, target, value, place, found);
    }
    for key in ["anyOf", "oneOf"] {
        if let Some(choices) = schema[key].as_array() {
            let fits = |choice: &Value| {
                let mut problems = Vec::new();
                check(root, choice, value, place, &mut problems);
                problems.is_empty()
            };
            if !choices.iter().any(fits) {
                found.push(format!("{place} is none of what it may be: {value}"));
            }
        }
    }
    let is = |kind: &str| match kind {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        "number" => value.is_number(),
        "integer" => value.is_u64() || value.is_i64(),
        other => panic!("a type that is not known here: {other}"),
    };
    let kinds: Vec<&str> = match &schema["type"] {
        Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).collect(),
        kind => kind.as_str().into_iter().collect(),
    };
    if !kinds.is_empty() && !kinds.iter().any(|kind| is(kind)) {
        found.push(format!("{place} is not {}: {value}", kinds.join(" or ")));
        return;
    }
    let constant = schema.get("const").is_some_and(|constant| constant != value);
    let listed = schema["enum"].as_array().is_some_and(|names| !names.contains(value));
    if constant || listed {
        found.push(format!("{place} is none of the listed values: {value}"));
    }
    if let Some(items) = value.as_array() {
        for (index, item) in items.iter().enumerate() {
            check(root, &schema["items"], item, &format!("{place}[{index}]"), found);
        }
    }
    if value.is_object() && kinds.contains(&"object") {
        fields(root, schema, value, place, found);
    }
}

fn fields(root: &Value, schema: &Value, value: &Value, place: &str, found: &mut Vec<String>) {
    for name in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        if value.get(name).is_none() {
            found.push(format!("{place}.{name} is missing"));
        }
    }
    for (name, inner) in value.as_object().into_iter().flatten() {
        let place = format!("{place}.{name}");
        match schema["properties"].get(name).or(schema.get("additionalProperties")) {
            Some(Value::Bool(_)) | None => found.push(format!("{place} is not in the schema")),
            Some(of) => check(root, of, inner, &place, found),
        }
    }
}
