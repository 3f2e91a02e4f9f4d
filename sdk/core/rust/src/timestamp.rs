//! A moment inside a message: `google.protobuf.Timestamp` on the wire, and in JSON always in milliseconds. Start at [`Timestamp`].

use serde::de::Deserialize;
use serde::ser::Error as _;
use serde::{Deserializer, Serialize, Serializer};
use serde_json::Value;

/// A moment. In JSON it is in RFC 3339 in UTC, with three digits of the second, so that texts sort as their times do; what is less than a
/// millisecond is left out there.
#[derive(Clone, Copy, PartialEq, Eq, Hash, prost::Message)]
pub struct Timestamp {
    /// Whole seconds since 1970-01-01T00:00:00Z; negative before that.
    #[prost(int64, tag = "1")]
    pub seconds: i64,
    /// Nanoseconds of the second, from 0 to 999,999,999.
    #[prost(int32, tag = "2")]
    pub nanos: i32,
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if !(0..1_000_000_000).contains(&self.nanos) {
            return Err(S::Error::custom("nanos is out of range"));
        }
        let whole = pbjson_types::Timestamp { seconds: self.seconds, nanos: 0 };
        match serde_json::to_value(whole).map_err(S::Error::custom)? {
            Value::String(text) => {
                let whole = text.trim_end_matches("+00:00");
                serializer.collect_str(&format_args!("{whole}.{:03}Z", self.nanos / 1_000_000))
            }
            _ => Err(S::Error::custom("no moment")),
        }
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let pbjson_types::Timestamp { seconds, nanos } = Deserialize::deserialize(deserializer)?;
        Ok(Self { seconds, nanos })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn every_moment_has_three_digits_of_the_second() {
        for (nanos, text, read) in [
            (0, r#""1970-01-02T00:00:00.000Z""#, 0),
            (40_999_999, r#""1970-01-02T00:00:00.040Z""#, 40_000_000),
            (940_000_000, r#""1970-01-02T00:00:00.940Z""#, 940_000_000),
        ] {
            assert_eq!(serde_json::to_string(&Timestamp { seconds: 86_400, nanos }).unwrap(), text);
            let known: Timestamp = serde_json::from_str(text).unwrap();
            assert_eq!(known, Timestamp { seconds: 86_400, nanos: read });
        }
        assert!(serde_json::to_string(&Timestamp { seconds: 0, nanos: -1 }).is_err());
    }
}
