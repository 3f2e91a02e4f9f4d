//! A histogram of times from which percentiles can be read. Start at [`Latency::observe`].

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use prometheus_client::encoding::{EncodeMetric, MetricEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;

/// Upper bound of the first bucket.
const LEAST: Duration = Duration::from_micros(1);

/// Buckets between one time and its double, at equal distances: a percentile is at most a quarter too large.
const PER_OCTAVE: u32 = 4;

/// Octaves: up to 16 s, more than a policy can grant one call.
const OCTAVES: u32 = 24;

/// Octaves between two bounds that are exposed, from the third on: 4 µs, 16 µs, … 262 ms. All of them would be 96 series.
const EXPOSED_EVERY: u32 = 2;

/// Buckets between two bounds that are exposed.
const EXPOSED_STEP: usize = (EXPOSED_EVERY * PER_OCTAVE) as usize;

/// Number of finite bounds that are exposed.
const EXPOSED: usize = 9;

/// Buckets between the first and the last.
const INNER: usize = (OCTAVES * PER_OCTAVE) as usize;

/// Times, counted in buckets that grow with them.
#[derive(Debug)]
pub(crate) struct Latency {
    /// The first has what is at most [`LEAST`], the last everything beyond the others.
    buckets: [AtomicU64; INNER + 2],
    nanoseconds: AtomicU64,
}

impl Default for Latency {
    fn default() -> Self {
        Self { buckets: [const { AtomicU64::new(0) }; INNER + 2], nanoseconds: AtomicU64::new(0) }
    }
}

impl Latency {
    pub(crate) fn observe(&self, time: Duration) {
        if let Some(bucket) = self.buckets.get(bucket(time)) {
            bucket.fetch_add(1, Ordering::Relaxed);
        }
        self.nanoseconds.fetch_add(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    /// The time that this share of the observed ones does not exceed: the upper bound of its bucket. `None` where none was
    /// observed.
    pub(crate) fn quantile(&self, share: f64) -> Option<Duration> {
        let counts: Vec<u64> = self.buckets.iter().map(|bucket| bucket.load(Ordering::Relaxed)).collect();
        let all: u64 = counts.iter().sum();
        let mut below = 0;
        let found = counts.iter().position(|count| {
            below += count;
            below > 0 && below as f64 >= share * all as f64
        });
        found.map(bound)
    }
}

/// The index of the bucket of a time.
fn bucket(time: Duration) -> usize {
    let least = LEAST.as_nanos();
    let nanoseconds = time.as_nanos();
    if nanoseconds <= least {
        return 0;
    }
    // Bounds belong to the bucket below them.
    let octave = ((nanoseconds - 1) / least).ilog2();
    if octave >= OCTAVES {
        return INNER + 1;
    }
    let within = (nanoseconds - 1 - (least << octave)) * u128::from(PER_OCTAVE) / (least << octave);
    1 + (octave * PER_OCTAVE) as usize + usize::try_from(within).unwrap_or(0)
}

/// The upper bound of a bucket; of the last one, that of the one before.
fn bound(bucket: usize) -> Duration {
    let bucket = u32::try_from(bucket.min(INNER)).unwrap_or(0);
    let Some(above) = bucket.checked_sub(1) else { return LEAST };
    let start = LEAST * (1 << (above / PER_OCTAVE));
    start + start * (above % PER_OCTAVE + 1) / PER_OCTAVE
}

impl EncodeMetric for Latency {
    fn encode(&self, mut encoder: MetricEncoder<'_>) -> fmt::Result {
        let mut exposed = [(f64::INFINITY, 0); EXPOSED + 1];
        for (at, (known, _)) in exposed.iter_mut().take(EXPOSED).enumerate() {
            *known = bound((at + 1) * EXPOSED_STEP).as_secs_f64();
        }
        for (at, count) in self.buckets.iter().map(|bucket| bucket.load(Ordering::Relaxed)).enumerate() {
            let place = at.div_ceil(EXPOSED_STEP).saturating_sub(1).min(EXPOSED);
            if let Some((_, known)) = exposed.get_mut(place) {
                *known += count;
            }
        }
        let sum = Duration::from_nanos(self.nanoseconds.load(Ordering::Relaxed)).as_secs_f64();
        let count = exposed.iter().map(|(_, count)| count).sum();
        encoder.encode_histogram::<NoLabelSet>(sum, count, &exposed, None)
    }

    fn metric_type(&self) -> MetricType {
        MetricType::Histogram
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use prometheus_client::encoding::text::encode;
    use prometheus_client::registry::Registry;

    use super::*;

    #[test]
    fn a_time_is_in_the_bucket_whose_bounds_contain_it() {
        for nanoseconds in (0..5_000).chain((1..200).map(|at| at * at * at * 2_000)) {
            let time = Duration::from_nanos(nanoseconds);
            let at = bucket(time);
            assert!(time <= bound(at), "{time:?} is not in the bucket up to {:?}", bound(at));
            assert!(at == 0 || time > bound(at - 1), "{time:?} is in a bucket above {:?}", bound(at - 1));
        }
        assert_eq!(bucket(Duration::MAX), INNER + 1);
        assert!(bound(usize::MAX) >= Duration::from_secs(16));
    }

    #[test]
    fn percentiles_are_those_of_a_sorted_list_up_to_a_quarter() {
        let seed = nodesift_seed::seed();
        let mut random = fastrand::Rng::with_seed(seed);
        assert_eq!(Latency::default().quantile(0.5), None);
        for _ in 0..100 {
            let latency = Latency::default();
            let most = 1 << random.u32(10..30);
            let mut times: Vec<Duration> =
                (0..random.usize(1..500)).map(|_| Duration::from_nanos(random.u64(1..most))).collect();
            times.iter().for_each(|time| latency.observe(*time));
            times.sort_unstable();
            for percent in [50, 99, 100] {
                let exact = times[(percent * times.len()).div_ceil(100) - 1];
                let found = latency.quantile(percent as f64 / 100.0).unwrap();
                assert!(found >= exact && found <= LEAST.max(exact * 5 / 4), "{percent}: {found:?}, exactly {exact:?}");
            }
        }
    }

    #[test]
    fn what_is_exposed_is_cumulative_and_has_every_time() {
        #[derive(Debug)]
        struct Shared(std::sync::Arc<Latency>);
        impl prometheus_client::collector::Collector for Shared {
            fn encode(
                &self,
                mut encoder: prometheus_client::encoding::DescriptorEncoder<'_>,
            ) -> Result<(), fmt::Error> {
                self.0.encode(encoder.encode_descriptor("took", "Time", None, MetricType::Histogram)?)
            }
        }
        let latency = std::sync::Arc::new(Latency::default());
        for time in [1, 4, 5, 16, 300, 300_000, 100_000_000] {
            latency.observe(Duration::from_micros(time));
        }
        let mut registry = Registry::default();
        registry.register_collector(Box::new(Shared(latency)));
        let mut text = String::new();
        encode(&mut text, &registry).unwrap();
        for line in [
            "took_bucket{le=\"0.000004\"} 2",
            "took_bucket{le=\"0.000016\"} 4",
            "took_bucket{le=\"0.000256\"} 4",
            "took_bucket{le=\"0.001024\"} 5",
            "took_bucket{le=\"0.262144\"} 5",
            "took_bucket{le=\"+Inf\"} 7",
            "took_count 7",
        ] {
            assert!(text.lines().any(|known| known == line), "{line} is not in {text}");
        }
    }
}
