//! The header envelope: the schema as it was when the RNTuple was created.

use std::sync::Arc;

use super::descriptor::Descriptors;
use super::envelope::{Envelope, EnvelopeType, read_feature_flags};
use crate::error::Result;

/// What the header holds.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Header {
    /// Features of the format that are used.
    pub(crate) features: u64,
    pub(crate) name: Arc<str>,
    pub(crate) description: Arc<str>,
    /// Program that wrote it.
    pub(crate) writer: Arc<str>,
    pub(crate) schema: Descriptors,
}

impl Header {
    pub(crate) fn read(envelope: &Envelope) -> Result<Self> {
        let read = || {
            let mut reader = envelope.payload();
            let features = read_feature_flags(&mut reader)?;
            let (name, description) = (reader.string()?.into(), reader.string()?.into());
            let writer = reader.string()?.into();
            let mut schema = Descriptors::default();
            schema.read_more(&mut reader)?;
            Ok(Self { features, name, description, writer, schema })
        };
        read().map_err(|error| EnvelopeType::Header.name(error))
    }

    pub(crate) fn seal(&self) -> Result<Envelope> {
        Envelope::seal(EnvelopeType::Header, |writer| {
            writer.u64(self.features);
            writer.string(&self.name)?;
            writer.string(&self.description)?;
            writer.string(&self.writer)?;
            self.schema.write(writer)
        })
    }
}
