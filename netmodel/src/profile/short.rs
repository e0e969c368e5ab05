//! Values that may be written short, as one text, or long, as a table.
//!
//! A serde `untagged` enum would do that and lose where an error is; this visitor keeps it.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::MapAccessDeserializer;
use serde::de::{DeserializeOwned, Deserializer, Error, MapAccess, Visitor};
use serde::{Deserialize, Serialize};

/// A table that may also be written as one text.
pub trait Short: DeserializeOwned {
    /// What both forms look like, after "expected".
    const EXPECTING: &'static str;

    /// The table that the text stands for, or why it stands for none.
    ///
    /// # Errors
    ///
    /// The text is not the quantity that it must be; a bare number never is.
    fn short(text: &str) -> Result<Self, units::ParseError>;
}

/// A value written short or long; it is always printed long.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(transparent)]
pub struct MaybeShort<T>(pub T);

impl<'de, T: Short> Deserialize<'de> for MaybeShort<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Either(PhantomData)).map(Self)
    }
}

impl<T: JsonSchema> JsonSchema for MaybeShort<T> {
    fn schema_name() -> Cow<'static, str> {
        format!("{}OrText", T::schema_name()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let long = generator.subschema_for::<T>();
        json_schema!({ "anyOf": [{ "type": "string" }, long] })
    }
}

struct Either<T>(PhantomData<T>);

impl<T: Short> Either<T> {
    fn text<E: Error>(text: &str) -> Result<T, E> {
        T::short(text).map_err(E::custom)
    }
}

impl<'de, T: Short> Visitor<'de> for Either<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(T::EXPECTING)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
        Self::text(text)
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<T, E> {
        Self::text(&value.to_string())
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<T, E> {
        Self::text(&value.to_string())
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<T, E> {
        Self::text(&value.to_string())
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
        T::deserialize(MapAccessDeserializer::new(map))
    }
}
