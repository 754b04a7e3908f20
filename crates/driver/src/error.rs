//! Defines the error that ends the driver: a primary line, a detail and a hint.

use std::fmt;

/// An error that ends the driver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DriveError {
    pub primary: String,
    pub detail: Option<String>,
    pub hint: Option<String>,
}

impl DriveError {
    pub fn new(primary: impl Into<String>) -> DriveError {
        DriveError {
            primary: primary.into(),
            detail: None,
            hint: None,
        }
    }

    pub fn detail(mut self, detail: impl fmt::Display) -> DriveError {
        self.detail = Some(detail.to_string());
        self
    }

    pub fn hint(mut self, hint: impl Into<String>) -> DriveError {
        self.hint = Some(hint.into());
        self
    }
}

impl fmt::Display for DriveError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.primary)?;
        if let Some(detail) = &self.detail {
            write!(out, ": {detail}")?;
        }
        Ok(())
    }
}

impl std::error::Error for DriveError {}
