//! Encodes latency histograms as text and reads them back: HdrHistogram V2, deflated, in base64.

use base64::engine::general_purpose::STANDARD;
use base64::Engine;
use hdrhistogram::serialization::{Deserializer, Serializer, V2DeflateSerializer};
use hdrhistogram::{Counter, Histogram};

use crate::error::DriveError;
use crate::report::encoded::{Counted, Reader};

/// Longest encoded histogram that is accepted; ours stay below 100 kB.
const LONGEST_TEXT: usize = 4 << 20;

/// So many histograms take about as long to merge as ten threads to start.
const FEWEST_OF_A_THREAD: usize = 32;

/// Encodes a histogram; an empty one is an empty text.
pub(crate) fn encode<C: Counter>(histogram: &Histogram<C>) -> Result<String, DriveError> {
    if histogram.is_empty() {
        return Ok(String::new());
    }
    let mut bytes = Vec::new();
    V2DeflateSerializer::new()
        .serialize(histogram, &mut bytes)
        .map_err(|error| {
            DriveError::new("could not encode a histogram").detail(format!("{error:?}"))
        })?;
    Ok(STANDARD.encode(&bytes))
}

fn invalid(why: &dyn std::fmt::Display) -> DriveError {
    DriveError::new("invalid latency histogram").detail(why.to_string())
}

/// The greatest first, so that a histogram that grows grows once.
fn add(merged: &mut Histogram<u64>, counted: &[Counted]) -> Result<(), DriveError> {
    for &(value, count) in counted.iter().rev() {
        merged
            .record_n(value, count)
            .map_err(|error| invalid(&error))?;
    }
    Ok(())
}

/// Several histograms as one.
pub struct Latencies(Histogram<u64>);

/// Count, mean, maximum and quantiles of a merged histogram.
pub struct Summary {
    pub count: u64,
    pub mean_ns: f64,
    pub max_ns: u64,
    /// In the order of the requested quantiles.
    pub values: Vec<u64>,
}

impl Latencies {
    /// Merges encoded histograms, on all processors; empty texts are empty histograms.
    pub fn merge<S: AsRef<str> + Sync>(texts: &[S]) -> Result<Latencies, DriveError> {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        let share = texts.len().div_ceil(processors);
        if share < FEWEST_OF_A_THREAD {
            return Latencies::merge_here(texts);
        }
        std::thread::scope(|scope| {
            let parts: Vec<_> = texts
                .chunks(share)
                .map(|part| scope.spawn(move || Latencies::merge_here(part)))
                .collect();
            let mut merged = Latencies::merge_here::<S>(&[])?;
            for part in parts {
                let part = part.join().expect("merging does not panic")?;
                merged.0.add(&part.0).map_err(|error| invalid(&error))?;
            }
            Ok(merged)
        })
    }

    fn merge_here<S: AsRef<str>>(texts: &[S]) -> Result<Latencies, DriveError> {
        let mut merged = Histogram::<u64>::new(3).map_err(|error| invalid(&error))?;
        let (mut reader, mut deserializer) = (Reader::new(), Deserializer::new());
        for text in texts
            .iter()
            .map(AsRef::as_ref)
            .filter(|text| !text.is_empty())
        {
            if text.len() > LONGEST_TEXT {
                return Err(invalid(&format_args!("{} bytes are too many", text.len())));
            }
            if let Some(counted) = reader.read(text) {
                add(&mut merged, counted)?;
                continue;
            }
            let bytes = STANDARD.decode(text).map_err(|error| invalid(&error))?;
            let one: Histogram<u64> = deserializer
                .deserialize(&mut bytes.as_slice())
                .map_err(|error| invalid(&format_args!("{error:?}")))?;
            merged.add(&one).map_err(|error| invalid(&error))?;
        }
        Ok(Latencies(merged))
    }

    /// None at all.
    pub fn empty() -> Latencies {
        Latencies(Histogram::new(3).expect("three digits are a precision"))
    }

    /// Counts one more.
    pub fn record(&mut self, ns: u64) {
        // A histogram that grows by itself takes every value.
        let _ = self.0.record(ns);
    }

    /// Counts those of another one, which is empty afterwards.
    pub fn absorb(&mut self, other: &mut Latencies) {
        // As above.
        let _ = self.0.add(&other.0);
        other.0.reset();
    }

    /// All of them as one encoded histogram.
    pub fn encoded(&self) -> Result<String, DriveError> {
        encode(&self.0)
    }

    /// Count, mean, greatest value and quantiles (0 … 1), each within 0.1 %.
    pub fn summary(&self, quantiles: &[f64]) -> Summary {
        let values = quantiles
            .iter()
            .map(|&quantile| self.0.value_at_quantile(quantile));
        Summary {
            count: self.0.len(),
            mean_ns: self.0.mean(),
            max_ns: self.0.max(),
            values: values.collect(),
        }
    }

    /// How many values lie in each bin [edge i, edge i+1); edges ascend.
    pub fn counts(&self, edges_ns: &[u64]) -> Vec<u64> {
        let mut counts = vec![0; edges_ns.len().saturating_sub(1)];
        for step in self.0.iter_recorded() {
            let value = step.value_iterated_to();
            let bin = edges_ns.partition_point(|&edge| edge <= value);
            if bin > 0 && bin < edges_ns.len() {
                counts[bin - 1] += step.count_at_value();
            }
        }
        counts
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::tally::new_histogram;

    /// As the library alone reads and adds them.
    fn by_the_library(texts: &[String]) -> Histogram<u64> {
        let mut merged = Histogram::<u64>::new(3).unwrap();
        for text in texts.iter().filter(|text| !text.is_empty()) {
            let bytes = STANDARD.decode(text).unwrap();
            let one: Histogram<u64> = Deserializer::new()
                .deserialize(&mut bytes.as_slice())
                .unwrap();
            merged.add(&one).unwrap();
        }
        merged
    }

    #[test]
    fn merging_gives_what_the_library_gives() {
        let mut state = 1_u64;
        let mut drawn = move || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            state >> 33
        };
        for many in [0, 1, 2, 7, 100] {
            let mut texts = vec![String::new()];
            for _ in 0..many {
                let mut histogram = new_histogram();
                for _ in 0..drawn() % 300 {
                    let widest = 1 << (drawn() % 31);
                    histogram.saturating_record_n(1 + 1000 * (drawn() % widest), 1);
                }
                texts.push(encode(&histogram).unwrap());
            }
            let (ours, theirs) = (Latencies::merge(&texts).unwrap(), by_the_library(&texts));
            assert!(ours.0 == theirs, "{many} histograms");
            assert_eq!(
                (ours.0.min_nz(), ours.0.max()),
                (theirs.min_nz(), theirs.max())
            );
            let again = Latencies::merge(&[ours.encoded().unwrap()]).unwrap();
            assert!(
                again.0 == theirs,
                "{many} histograms, merged and merged again"
            );
        }
    }
}
