//! Reads what a server says of a column: how its values lie in a row ("TYPE_INFO").

use crate::error::WireError;
use crate::reader::{Reader, Stop};

/// How a value's length is known ("Data Type Dependent Data Streams").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Layout {
    /// Always so many bytes.
    Fixed(u8),
    /// After a length of one byte; 0 is NULL.
    Byte,
    /// After a length of two bytes; 0xffff is NULL.
    Short,
    /// After a length of four bytes; 0 is NULL.
    Long,
    /// A total of eight bytes, then chunks up to an empty one; a total of 2^64 - 1 is NULL.
    Chunked,
    /// A pointer after its length of one byte, 0 is NULL; a time stamp; a length of four bytes.
    Pointed,
}

/// The type of a column's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Column {
    pub kind: u8,
    pub layout: Layout,
    /// Digits after the point, of numbers and times.
    pub scale: u8,
    /// Of texts.
    pub collation: Collation,
}

/// Language and flags, lowest byte first, and the number of a sort order ("Collation Rule
/// Definition").
pub(crate) type Collation = [u8; 5];

// Types by their tokens, as far as their values are read.
pub(crate) const TINYINT: u8 = 0x30;
pub(crate) const BIT: u8 = 0x32;
pub(crate) const SMALLINT: u8 = 0x34;
pub(crate) const INT: u8 = 0x38;
pub(crate) const SMALLDATETIME: u8 = 0x3a;
pub(crate) const REAL: u8 = 0x3b;
pub(crate) const MONEY: u8 = 0x3c;
pub(crate) const DATETIME: u8 = 0x3d;
pub(crate) const FLOAT: u8 = 0x3e;
pub(crate) const SMALLMONEY: u8 = 0x7a;
pub(crate) const BIGINT: u8 = 0x7f;
pub(crate) const GUID: u8 = 0x24;
pub(crate) const INT_N: u8 = 0x26;
pub(crate) const BIT_N: u8 = 0x68;
pub(crate) const FLOAT_N: u8 = 0x6d;
pub(crate) const MONEY_N: u8 = 0x6e;
pub(crate) const DATETIME_N: u8 = 0x6f;
pub(crate) const DECIMAL_N: u8 = 0x6a;
pub(crate) const NUMERIC_N: u8 = 0x6c;
pub(crate) const DATE: u8 = 0x28;
pub(crate) const TIME: u8 = 0x29;
pub(crate) const DATETIME2: u8 = 0x2a;
pub(crate) const DATETIMEOFFSET: u8 = 0x2b;
pub(crate) const TEXT: u8 = 0x23;
pub(crate) const NTEXT: u8 = 0x63;
pub(crate) const BIG_VARCHAR: u8 = 0xa7;
pub(crate) const BIG_CHAR: u8 = 0xaf;
pub(crate) const NVARCHAR: u8 = 0xe7;
pub(crate) const NCHAR: u8 = 0xef;
pub(crate) const XML: u8 = 0xf1;
const NULL: u8 = 0x1f;
const IMAGE: u8 = 0x22;
const DECIMAL: u8 = 0x37;
const NUMERIC: u8 = 0x3f;
const VARBINARY: u8 = 0x25;
const VARCHAR: u8 = 0x27;
const BINARY: u8 = 0x2d;
const CHAR: u8 = 0x2f;
const VARIANT: u8 = 0x62;
const BIG_VARBINARY: u8 = 0xa5;
const BIG_BINARY: u8 = 0xad;
const UDT: u8 = 0xf0;

/// The most digits after the point of a decimal number; of times it is 7.
const MOST_SCALE: u8 = 38;
const MOST_TIME_SCALE: u8 = 7;
/// A length that says: of any length, in chunks.
const ANY_LENGTH: u16 = 0xffff;

impl Column {
    /// Reads a type.
    #[inline]
    pub fn parse(reader: &mut Reader) -> Result<Column, Stop> {
        let kind = reader.u8()?;
        let mut scale = 0;
        let mut collation = Collation::default();
        let layout = match kind {
            NULL => Layout::Fixed(0),
            TINYINT | BIT => Layout::Fixed(1),
            SMALLINT => Layout::Fixed(2),
            INT | SMALLDATETIME | REAL | SMALLMONEY => Layout::Fixed(4),
            MONEY | DATETIME | FLOAT | BIGINT => Layout::Fixed(8),
            DATE => Layout::Byte,
            GUID | INT_N | BIT_N | FLOAT_N | MONEY_N | DATETIME_N | VARBINARY | VARCHAR
            | BINARY | CHAR => {
                reader.skip(1)?;
                Layout::Byte
            }
            DECIMAL_N | NUMERIC_N | DECIMAL | NUMERIC => {
                reader.skip(2)?; // length, precision
                scale = at_most(reader.u8()?, MOST_SCALE)?;
                Layout::Byte
            }
            TIME | DATETIME2 | DATETIMEOFFSET => {
                scale = at_most(reader.u8()?, MOST_TIME_SCALE)?;
                Layout::Byte
            }
            BIG_VARBINARY | BIG_BINARY => sized(kind, reader.u16()?)?,
            BIG_VARCHAR | BIG_CHAR | NVARCHAR | NCHAR => {
                let length = reader.u16()?;
                collation = reader.array()?;
                sized(kind, length)?
            }
            _ => return Column::parse_rare(kind, reader),
        };
        Ok(Column {
            kind,
            layout,
            scale,
            collation,
        })
    }

    /// Whether its values are texts, of whatever they look like.
    pub fn is_text(&self) -> bool {
        let narrow = matches!(self.kind, BIG_VARCHAR | BIG_CHAR | TEXT);
        narrow || matches!(self.kind, NVARCHAR | NCHAR | NTEXT | XML)
    }

    #[cold]
    fn parse_rare(kind: u8, reader: &mut Reader) -> Result<Column, Stop> {
        let mut collation = Collation::default();
        let layout = match kind {
            IMAGE | TEXT | NTEXT => {
                reader.skip(4)?;
                if kind != IMAGE {
                    collation = reader.array()?;
                }
                Layout::Pointed
            }
            VARIANT => {
                reader.skip(4)?;
                Layout::Long
            }
            XML => {
                if reader.u8()? != 0 {
                    reader.skip_short_text()?; // database
                    reader.skip_short_text()?; // owner
                    reader.skip_long_text()?; // collection of schemas
                }
                Layout::Chunked
            }
            UDT => {
                reader.skip(2)?;
                for _database_schema_type in 0..3 {
                    reader.skip_short_text()?;
                }
                reader.skip_long_text()?; // assembly
                Layout::Chunked
            }
            _ => {
                let what = format!("a column of type {kind:#04x}, which is not known");
                return Err(WireError::malformed(what).into());
            }
        };
        Ok(Column {
            kind,
            layout,
            scale: 0,
            collation,
        })
    }

    /// Steps over what follows a column's type: the table of a text, the column's name, which is
    /// returned as UTF-16.
    #[inline]
    pub fn finish<'a>(&self, reader: &mut Reader<'a>) -> Result<&'a [u8], Stop> {
        if self.layout == Layout::Pointed {
            for _part_of_the_table in 0..reader.u8()? {
                reader.skip_long_text()?;
            }
        }
        let length = usize::from(reader.u8()?);
        reader.take(2 * length)
    }
}

#[inline]
fn at_most(scale: u8, most: u8) -> Result<u8, Stop> {
    match scale <= most {
        true => Ok(scale),
        false => Err(WireError::malformed(format!("a scale of {scale}")).into()),
    }
}

#[inline]
fn sized(kind: u8, length: u16) -> Result<Layout, Stop> {
    match (length, kind) {
        (ANY_LENGTH, BIG_VARBINARY | BIG_VARCHAR | NVARCHAR) => Ok(Layout::Chunked),
        (ANY_LENGTH, _) => Err(WireError::malformed("a column of a fixed and any length").into()),
        _ => Ok(Layout::Short),
    }
}
