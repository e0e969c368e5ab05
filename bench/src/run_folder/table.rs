//! Parquet tables: columns to bytes and back, for the tables of a cell.
//!
//! Knows the file format and none of the tables. All integers are 64 bits wide with a sign, so that differences of
//! columns need no care in any tool; the encoding makes them as small as they are. The same columns
//! give the same bytes.

use std::fs::File;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, BooleanArray, Float64Array, Int64Array, RecordBatch, StringArray};
use arrow_schema::{ArrowError, DataType, Field, Schema};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::arrow::arrow_writer::ArrowWriterOptions;
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::metadata::{KeyValue, ParquetMetaData, RowGroupMetaData};
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterVersion};
use parquet::schema::types::ColumnPath;

/// What is wrong with a table that was read.
#[derive(Debug, thiserror::Error)]
pub enum TableProblem {
    /// It cannot be opened.
    #[error("{0}")]
    Io(#[from] std::io::Error),
    /// It is no whole Parquet file.
    #[error("it is not a whole Parquet file ({0})")]
    Damaged(String),
    /// It does not say that it is this table of arcbench's.
    #[error("it is not a table of the format `{wanted}`")]
    OtherFormat {
        /// What it should be.
        wanted: &'static str,
    },
    /// A later arcbench wrote it.
    #[error("its version {found} is newer than {known}, the last that this build reads")]
    Newer {
        /// Its version.
        found: u32,
        /// The last version that is understood.
        known: u32,
    },
    /// It is larger than any cell makes it.
    #[error("it is too large: {rows} rows, {bytes} bytes")]
    TooLarge {
        /// Rows it says it has.
        rows: u64,
        /// Bytes it says they take, or those of the file if these are more.
        bytes: u64,
    },
    /// It has not as many rows as the cell's summary says.
    #[error("it has {found} rows, and the cell's summary says {wanted}")]
    Rows {
        /// Rows that it has.
        found: u64,
        /// Rows that it should have.
        wanted: u64,
    },
    /// A column is not there, or not of its type.
    #[error("its column `{0}` is missing or of another type")]
    Column(&'static str),
    /// A value is outside its column's range.
    #[error("its column `{column}` has a value out of range in row {row}")]
    Value {
        /// The column.
        column: &'static str,
        /// The row, from 0, within its part of the file.
        row: usize,
    },
}

/// A column with its values.
pub(super) struct Column {
    name: &'static str,
    values: ArrayRef,
    nullable: bool,
}

impl Column {
    fn new(name: &'static str, values: impl Array + 'static, nullable: bool) -> Self {
        Self { name, values: Arc::new(values), nullable }
    }

    pub(super) fn int(name: &'static str, values: impl Iterator<Item = u64>) -> Self {
        Self::new(name, values.map(signed).collect::<Int64Array>(), false)
    }

    pub(super) fn maybe_int(name: &'static str, values: impl Iterator<Item = Option<u64>>) -> Self {
        Self::new(name, values.map(|value| value.map(signed)).collect::<Int64Array>(), true)
    }

    pub(super) fn float(name: &'static str, values: impl Iterator<Item = f64>) -> Self {
        Self::new(name, values.map(Some).collect::<Float64Array>(), false)
    }

    pub(super) fn maybe_float(name: &'static str, values: impl Iterator<Item = Option<f64>>) -> Self {
        Self::new(name, values.collect::<Float64Array>(), true)
    }

    pub(super) fn flag(name: &'static str, values: impl Iterator<Item = bool>) -> Self {
        Self::new(name, values.map(Some).collect::<BooleanArray>(), false)
    }

    pub(super) fn text<'a>(name: &'static str, values: impl Iterator<Item = &'a str>) -> Self {
        Self::new(name, values.map(Some).collect::<StringArray>(), false)
    }

    pub(super) fn maybe_text<'a>(name: &'static str, values: impl Iterator<Item = Option<&'a str>>) -> Self {
        Self::new(name, values.collect::<StringArray>(), true)
    }

    #[cfg(test)]
    pub(super) fn name(&self) -> &'static str {
        self.name
    }
}

/// No table holds a number that does not fit; one that did would be the largest there is.
fn signed(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

/// The bytes of a table.
pub(super) fn encode(
    format: &'static str,
    version: u32,
    columns: Vec<Column>,
) -> Result<Vec<u8>, ParquetError> {
    let field = |column: &Column| Field::new(column.name, column.values.data_type().clone(), column.nullable);
    let schema = Arc::new(Schema::new(columns.iter().map(field).collect::<Vec<Field>>()));
    // The Arrow schema would only say once more what Parquet's own says.
    let options = ArrowWriterOptions::new()
        .with_properties(properties(format, version, &schema)?)
        .with_skip_arrow_metadata(true);
    let batch = RecordBatch::try_new(Arc::clone(&schema), columns.into_iter().map(|c| c.values).collect())
        .map_err(|error: ArrowError| ParquetError::General(error.to_string()))?;
    let mut bytes = Vec::new();
    let mut writer = ArrowWriter::try_new_with_options(&mut bytes, schema, options)?;
    writer.write(&batch)?;
    writer.close()?;
    Ok(bytes)
}

fn properties(format: &str, version: u32, schema: &Schema) -> Result<WriterProperties, ParquetError> {
    let about = [(FORMAT_KEY, format.to_owned()), (VERSION_KEY, version.to_string())];
    let about = about.map(|(key, value)| KeyValue::new(key.to_owned(), value)).to_vec();
    let mut builder = WriterProperties::builder()
        .set_created_by("arcbench".to_owned())
        .set_writer_version(WriterVersion::PARQUET_1_0)
        .set_key_value_metadata(Some(about))
        .set_compression(Compression::ZSTD(ZstdLevel::try_new(ZSTD_LEVEL)?))
        .set_statistics_enabled(EnabledStatistics::None)
        .set_offset_index_disabled(true)
        .set_dictionary_enabled(false);
    for field in schema.fields() {
        let column = ColumnPath::from(field.name().as_str());
        builder = match field.data_type() {
            DataType::Int64 => builder.set_column_encoding(column, Encoding::DELTA_BINARY_PACKED),
            DataType::Utf8 => builder.set_column_dictionary_enabled(column, true),
            _ => builder,
        };
    }
    Ok(builder.build())
}

/// Reads the table at `path` and calls `take` with each part of it.
///
/// Whatever is there: what is not such a table is an error, and no more is read than a cell can have.
pub(super) fn decode<T>(
    path: &Path,
    format: &'static str,
    version: u32,
    mut take: impl FnMut(&Part) -> Result<T, TableProblem>,
) -> Result<Vec<T>, TableProblem> {
    let file = File::open(path)?;
    let file_bytes = file.metadata()?.len();
    if file_bytes > BYTES_MAX {
        return Err(TableProblem::TooLarge { rows: 0, bytes: file_bytes });
    }
    let read = || {
        let builder = ParquetRecordBatchReaderBuilder::try_new(file).map_err(|error| damaged(&error))?;
        check(builder.metadata(), format, version)?;
        let mut parts = Vec::new();
        for batch in builder.with_batch_size(BATCH_ROWS).build().map_err(|error| damaged(&error))? {
            let batch = batch.map_err(|error| TableProblem::Damaged(error.to_string()))?;
            parts.push(take(&Part(batch))?);
        }
        Ok(parts)
    };
    // The decoder is not ours, and it asserts here and there what a damaged file does not keep.
    catch_unwind(AssertUnwindSafe(read))
        .unwrap_or_else(|_| Err(TableProblem::Damaged("the decoder gave up".to_owned())))
}

fn check(metadata: &ParquetMetaData, format: &'static str, known: u32) -> Result<(), TableProblem> {
    let pairs = metadata.file_metadata().key_value_metadata();
    let of = |key: &str| pairs?.iter().find(|pair| pair.key == key)?.value.as_deref();
    let version: Option<u32> = of(VERSION_KEY).and_then(|version| version.parse().ok());
    let Some(found) = version.filter(|_| of(FORMAT_KEY) == Some(format)) else {
        return Err(TableProblem::OtherFormat { wanted: format });
    };
    if found > known {
        return Err(TableProblem::Newer { found, known });
    }
    let sum = |of: fn(&RowGroupMetaData) -> i64| {
        let each = metadata.row_groups().iter().map(|group| u64::try_from(of(group)).unwrap_or(u64::MAX));
        each.fold(0, u64::saturating_add)
    };
    let (rows, bytes) = (sum(RowGroupMetaData::num_rows), sum(RowGroupMetaData::total_byte_size));
    if rows > ROWS_MAX || bytes > BYTES_MAX {
        return Err(TableProblem::TooLarge { rows, bytes });
    }
    Ok(())
}

fn damaged(error: &ParquetError) -> TableProblem {
    TableProblem::Damaged(error.to_string())
}

/// Some rows of a table.
pub(super) struct Part(RecordBatch);

impl Part {
    pub(super) fn rows(&self) -> usize {
        self.0.num_rows()
    }

    pub(super) fn ints(&self, name: &'static str) -> Result<Ints<'_>, TableProblem> {
        Ok(Ints { name, values: self.column(name)? })
    }

    pub(super) fn floats(&self, name: &'static str) -> Result<Floats<'_>, TableProblem> {
        Ok(Floats { name, values: self.column(name)? })
    }

    pub(super) fn texts(&self, name: &'static str) -> Result<Texts<'_>, TableProblem> {
        Ok(Texts { name, values: self.column(name)? })
    }

    fn column<A: Array + 'static>(&self, name: &'static str) -> Result<&A, TableProblem> {
        let found = self.0.column_by_name(name).and_then(|column| column.as_any().downcast_ref());
        found.ok_or(TableProblem::Column(name))
    }
}

/// A column of whole numbers.
pub(super) struct Ints<'a> {
    name: &'static str,
    values: &'a Int64Array,
}

impl Ints<'_> {
    pub(super) fn maybe<N: TryFrom<i64>>(&self, row: usize) -> Result<Option<N>, TableProblem> {
        if self.values.is_null(row) {
            return Ok(None);
        }
        let value = N::try_from(self.values.value(row));
        value.map(Some).map_err(|_| TableProblem::Value { column: self.name, row })
    }

    pub(super) fn get<N: TryFrom<i64>>(&self, row: usize) -> Result<N, TableProblem> {
        self.maybe(row)?.ok_or(TableProblem::Value { column: self.name, row })
    }
}

/// A column of other numbers; those that are not finite are out of range.
pub(super) struct Floats<'a> {
    name: &'static str,
    values: &'a Float64Array,
}

impl Floats<'_> {
    pub(super) fn maybe(&self, row: usize) -> Result<Option<f64>, TableProblem> {
        if self.values.is_null(row) {
            return Ok(None);
        }
        let value = Some(self.values.value(row)).filter(|value| value.is_finite());
        value.map(Some).ok_or(TableProblem::Value { column: self.name, row })
    }

    pub(super) fn get(&self, row: usize) -> Result<f64, TableProblem> {
        self.maybe(row)?.ok_or(TableProblem::Value { column: self.name, row })
    }
}

/// A column of texts.
pub(super) struct Texts<'a> {
    name: &'static str,
    values: &'a StringArray,
}

impl Texts<'_> {
    pub(super) fn maybe(&self, row: usize) -> Option<&str> {
        (!self.values.is_null(row)).then(|| self.values.value(row))
    }

    pub(super) fn get(&self, row: usize) -> Result<&str, TableProblem> {
        self.maybe(row).ok_or(TableProblem::Value { column: self.name, row })
    }

    /// What `known` makes of the text, where there is one.
    pub(super) fn known<T>(
        &self,
        row: usize,
        known: impl FnOnce(&str) -> Option<T>,
    ) -> Result<Option<T>, TableProblem> {
        let Some(text) = self.maybe(row) else { return Ok(None) };
        known(text).map(Some).ok_or(TableProblem::Value { column: self.name, row })
    }
}

/// Under which name a table says what it is.
const FORMAT_KEY: &str = "arcbench.format";
/// Under which name a table says its version.
const VERSION_KEY: &str = "arcbench.version";
/// Fastest, and within a tenth of the size of the slow ones for such columns.
const ZSTD_LEVEL: i32 = 1;
/// Rows that are read at once.
const BATCH_ROWS: usize = 8192;
/// More rows than the frames of a day-long cell.
const ROWS_MAX: u64 = 4_000_000;
/// More than so many rows take.
const BYTES_MAX: u64 = 1 << 30;
