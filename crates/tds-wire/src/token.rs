//! Reads the tokens of a reply that are not rows: what the server says of its state and ours.

use crate::column::Column;
use crate::error::WireError;
use crate::reader::{narrow, Reader, Stop};
use crate::value::read_bytes;

// "Token Type".
pub(crate) const RETURN_STATUS: u8 = 0x79;
pub(crate) const COLUMNS: u8 = 0x81;
pub(crate) const TABLE_NAME: u8 = 0xa4;
pub(crate) const COLUMN_INFO: u8 = 0xa5;
pub(crate) const ORDER: u8 = 0xa9;
pub(crate) const ERROR: u8 = 0xaa;
pub(crate) const INFO: u8 = 0xab;
pub(crate) const RETURN_VALUE: u8 = 0xac;
pub(crate) const LOGIN_ACK: u8 = 0xad;
pub(crate) const FEATURES: u8 = 0xae;
pub(crate) const ROW: u8 = 0xd1;
pub(crate) const ROW_WITH_NULLS: u8 = 0xd2;
pub(crate) const CHANGE: u8 = 0xe3;
pub(crate) const SESSION_STATE: u8 = 0xe4;
pub(crate) const DONE: u8 = 0xfd;
pub(crate) const DONE_PROCEDURE: u8 = 0xfe;
pub(crate) const DONE_IN_PROCEDURE: u8 = 0xff;

/// The last feature of FEATUREEXTACK.
const LAST_FEATURE: u8 = 0xff;

/// The end of a statement, or of all of them ("DONE").
#[derive(Clone, Copy, Debug)]
pub(crate) struct Done(u16);

impl Done {
    #[inline]
    pub fn parse(reader: &mut Reader) -> Result<Done, Stop> {
        let status = reader.u16()?;
        reader.skip(2 + 8)?; // the command, the rows it touched
        Ok(Done(status))
    }

    #[inline]
    pub fn more_follow(self) -> bool {
        self.0 & 0x0001 != 0
    }

    #[inline]
    pub fn in_transaction(self) -> bool {
        self.0 & 0x0004 != 0
    }

    /// It answers an attention signal.
    #[inline]
    pub fn attention(self) -> bool {
        self.0 & 0x0020 != 0
    }
}

/// What a login is answered by.
#[derive(Debug, Default)]
pub(crate) struct Greeting {
    pub let_in: bool,
    /// The version of TDS.
    pub protocol: u32,
    /// Of the product.
    pub version: String,
    pub packet_size: Option<usize>,
    /// The host and port where the server wants us to be.
    pub elsewhere: Option<(String, u16)>,
}

impl Greeting {
    /// Reads the body of LOGINACK.
    #[cold]
    pub fn let_in(&mut self, body: &[u8]) -> Result<(), Stop> {
        let mut reader = Reader::new(body);
        reader.skip(1)?; // the dialect of SQL
        self.protocol = u32::from_be_bytes(reader.array()?);
        reader.short_text()?; // the program's name
        let [major, minor, high, low] = reader.array()?;
        let build = u16::from_be_bytes([high, low]);
        self.version = format!("{major}.{minor}.{build}");
        self.let_in = true;
        Ok(())
    }
}

/// A change of what the server keeps of a connection ("ENVCHANGE").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// A transaction began, under this number.
    Began(u64),
    /// There is none any more.
    Ended,
    Other,
}

impl Change {
    /// Reads the body of ENVCHANGE; what concerns the login goes to `greeting`.
    #[inline]
    pub fn parse(body: &[u8], greeting: &mut Greeting) -> Result<Change, Stop> {
        let mut reader = Reader::new(body);
        match reader.u8()? {
            8 | 11 => {
                let number = reader.short_bytes()?;
                let number = number.try_into().map_err(|_| Stop::Early)?;
                Ok(Change::Began(u64::from_le_bytes(number)))
            }
            // Committed, rolled back, defected from a distributed one, ended otherwise.
            9 | 10 | 12 | 17 => Ok(Change::Ended),
            4 => {
                let size = reader.short_text()?;
                let size = size.parse().map_err(|_| Stop::Early)?;
                greeting.packet_size = Some(size);
                Ok(Change::Other)
            }
            20 => {
                reader.skip(2 + 1)?; // a length, TCP
                let port = reader.u16()?;
                greeting.elsewhere = Some((reader.long_text()?, port));
                Ok(Change::Other)
            }
            _ => Ok(Change::Other),
        }
    }
}

/// Reads RETURNVALUE: an integer, where it is one. Of values for which nothing was asked, nothing
/// is kept.
pub(crate) fn return_value(reader: &mut Reader) -> Result<Option<i32>, Stop> {
    reader.skip(2)?; // its number
    reader.skip_short_text()?; // its name
    reader.skip(1 + 4 + 2)?; // status, user's type, flags
    let column = Column::parse(reader)?;
    let value = read_bytes(&column, reader)?;
    let number = value.and_then(|bytes| bytes.try_into().ok());
    Ok(number.map(i32::from_le_bytes))
}

/// Steps over FEATUREEXTACK.
#[cold]
pub(crate) fn skip_features(reader: &mut Reader) -> Result<(), Stop> {
    while reader.u8()? != LAST_FEATURE {
        let length = reader.u32()? as usize;
        reader.skip(length)?;
    }
    Ok(())
}

/// Reads COLMETADATA; `None`: there is none. With `names`, the columns' names go there.
#[inline]
pub(crate) fn columns(
    reader: &mut Reader,
    columns: &mut Vec<Column>,
    mut names: Option<&mut Vec<String>>,
) -> Result<bool, Stop> {
    const NONE: u16 = 0xffff;
    let count = reader.u16()?;
    columns.clear();
    if count == NONE {
        return Ok(false);
    }
    for _ in 0..count {
        reader.skip(4 + 2)?; // user's type, flags
        let column = Column::parse(reader)?;
        let name = column.finish(reader)?;
        if let Some(names) = &mut names {
            names.push(narrow(name));
        }
        columns.push(column);
    }
    Ok(true)
}

#[cold]
pub(crate) fn unknown(token: u8) -> Stop {
    WireError::malformed(format!("a token {token:#04x}, which is not known here")).into()
}
