//! The state machine alone: outcomes in, states and effects out, on a clock that is moved by hand.

use super::*;
use crate::limits::{RETRY_FIRST, RETRY_JITTER, RETRY_MOST};
use nodesift_object::Kind;

/// The reflector of one kind, and a clock.
struct Walk {
    reflector: Reflector,
    now: Instant,
}

impl Walk {
    fn new(kind: Kind) -> Self {
        let now = Instant::now();
        Self { reflector: Reflector::new(Resource::from(kind), fastrand::Rng::with_seed(1)), now }
    }

    /// A reflector that has listed at version 100 and watches.
    fn watching() -> Self {
        let mut walk = Self::new(Kind::Pod);
        assert_eq!(walk.page("100", None), whole("100"));
        walk
    }

    fn page(&mut self, version: &str, next: Option<&str>) -> Effect {
        self.reflector.step(Outcome::Page { version: Arc::from(version), next: next.map(Arc::from) }, self.now)
    }

    fn no_page(&mut self, failure: Failure) -> Effect {
        self.reflector.step(Outcome::NoPage(failure), self.now)
    }

    /// The answer to a probe that is sent now.
    fn probed(&mut self, version: &str) -> Effect {
        let (_, asked) = self.reflector.probe();
        self.reflector.step(Outcome::Probed { asked, version: Arc::from(version) }, self.now)
    }

    fn ended(&mut self, end: End, lasted: Duration) -> Effect {
        self.now += lasted;
        self.reflector.step(Outcome::WatchEnded { end, lasted }, self.now)
    }

    fn reached(&mut self, version: &str) -> Option<Ordering> {
        self.reflector.reached(&Arc::from(version))
    }

    /// Ends a wait, if there is one. Returns its length.
    fn wait(&mut self) -> Duration {
        let State::Waiting { until, .. } = *self.reflector.state() else { return Duration::ZERO };
        let waited = until - self.now;
        self.now = until;
        self.reflector.step(Outcome::Waited, self.now);
        waited
    }

    fn is_listing_from_the_start(&self) -> bool {
        *self.reflector.state() == State::Listing { next: None }
    }

    fn watch_uri(&self) -> String {
        assert_eq!(*self.reflector.state(), State::Watching);
        self.reflector.watch_uri(30)
    }
}

fn expired() -> Failure {
    Failure::Expired { message: String::new() }
}

fn storm() -> Failure {
    Failure::Refused { status: 500, message: String::new(), retry_after: None }
}

/// A whole list that makes nothing void.
fn whole(version: &str) -> Effect {
    Effect::Whole { version: Arc::from(version), void: None }
}

const LONG: Duration = Duration::from_secs(30);

#[test]
fn a_watch_begins_at_the_version_of_the_first_page_whatever_later_pages_say() {
    let mut walk = Walk::new(Kind::Pod);
    assert_eq!(walk.page("100", Some("a")), Effect::Keep);
    assert_eq!(*walk.reflector.state(), State::Listing { next: Some(Arc::from("a")) });
    assert_eq!(walk.page("105", Some("b")), Effect::Keep);
    assert_eq!(walk.page("110", None), whole("100"));
    assert!(walk.watch_uri().ends_with("resourceVersion=100"));
}

#[test]
fn a_watch_that_ends_in_order_goes_on_from_the_newest_version_without_a_list() {
    let mut walk = Walk::watching();
    walk.reached("107");
    walk.reached("103");
    assert_eq!(walk.ended(End::Orderly, LONG), Effect::None);
    assert!(walk.watch_uri().ends_with("resourceVersion=107"));
}

#[test]
fn expiry_leads_to_a_relist_at_once_but_not_in_a_hot_loop() {
    let mut walk = Walk::watching();
    assert_eq!(walk.ended(End::Failed(expired()), Duration::ZERO), Effect::Relist(RelistReason::Expired));
    assert!(walk.is_listing_from_the_start());
    // Listed, and expired again before anything succeeded: now there is a wait.
    assert_eq!(walk.page("100", None), whole("100"));
    assert_eq!(walk.ended(End::Failed(expired()), Duration::ZERO), Effect::Relist(RelistReason::Expired));
    assert!(walk.wait() > Duration::from_millis(500));
    assert!(walk.is_listing_from_the_start());
    // After an event it is at once again.
    walk.page("100", None);
    walk.reached("101");
    walk.ended(End::Failed(expired()), Duration::ZERO);
    assert_eq!(walk.wait(), Duration::ZERO);
}

#[test]
fn expiry_in_the_middle_of_a_list_drops_its_pages() {
    let mut walk = Walk::new(Kind::Pod);
    walk.page("100", Some("a"));
    assert_eq!(walk.no_page(expired()), Effect::Relist(RelistReason::Expired));
    assert!(walk.is_listing_from_the_start());
}

#[test]
fn a_page_that_fails_is_requested_again_and_the_list_goes_on() {
    let mut walk = Walk::new(Kind::Pod);
    walk.page("100", Some("a"));
    assert_eq!(walk.no_page(storm()), Effect::None);
    assert!(walk.wait() > Duration::ZERO);
    assert_eq!(*walk.reflector.state(), State::Listing { next: Some(Arc::from("a")) });
    assert_eq!(walk.page("100", None), whole("100"));
}

#[test]
fn a_list_older_than_what_was_seen_is_refused_on_its_first_page() {
    let mut walk = Walk::watching();
    walk.reached("250");
    walk.ended(End::Failed(expired()), LONG);
    for _ in 0..5 {
        assert_eq!(walk.page("99", Some("more")), Effect::Relist(RelistReason::Lagging));
        assert!(walk.wait() > Duration::ZERO);
        assert!(walk.is_listing_from_the_start());
    }
    assert_eq!(walk.page("250", None), whole("250"));
}

#[test]
fn a_server_whose_lists_stay_older_is_a_restored_one_and_versions_begin_anew() {
    let mut walk = Walk::watching();
    walk.reached("250");
    walk.ended(End::Orderly, LONG);
    let began = walk.now;
    assert_eq!(walk.probed("99"), Effect::Relist(RelistReason::Lagging));
    let mut refused = 0;
    let effect = loop {
        assert!(walk.wait() <= LAGGING_RETRY_MOST && walk.is_listing_from_the_start());
        match walk.page("99", Some("more")) {
            Effect::Relist(RelistReason::Lagging) => refused += 1,
            effect => break effect,
        }
        assert!(refused < 100);
    };
    assert_eq!((effect, walk.now - began >= RESTORED_AFTER), (Effect::Keep, true));
    assert!(walk.now - began <= RESTORED_AFTER + RETRY_FIRST && refused >= RESTORED_LISTS, "{refused}");
    // The token of the list expires; what has been found out stays.
    walk.no_page(expired());
    walk.wait();
    assert_eq!(walk.page("101", None), Effect::Whole { version: Arc::from("101"), void: Some(Arc::from("250")) });
    assert!(walk.watch_uri().ends_with("resourceVersion=101"));
    assert_eq!(walk.reached("102"), Some(Ordering::Greater));
    // Once only: another one has to lag for as long.
    walk.ended(End::Failed(expired()), LONG);
    assert_eq!(walk.page("90", None), Effect::Relist(RelistReason::Lagging));
}

#[test]
fn a_list_that_is_not_older_ends_the_time_of_one_that_lags() {
    let mut walk = Walk::watching();
    walk.reached("250");
    let lag = |walk: &mut Walk| {
        walk.ended(End::Failed(expired()), LONG);
        walk.wait();
        for _ in 0..4 {
            assert_eq!(walk.page("99", None), Effect::Relist(RelistReason::Lagging));
            walk.wait();
        }
    };
    // Each for less than the time of a restored one, and together for longer.
    for version in ["250", "251", "252"] {
        lag(&mut walk);
        assert_eq!(walk.page(version, None), whole(version));
    }
    walk.ended(End::Orderly, LONG);
    assert_eq!(walk.probed("252"), Effect::Confirmed);
}

#[test]
fn lists_that_were_older_long_ago_or_before_an_event_say_nothing_of_now() {
    for is_long_ago in [true, false] {
        let mut walk = Walk::watching();
        walk.reached("250");
        walk.ended(End::Failed(expired()), LONG);
        walk.wait();
        for _ in 0..4 {
            assert_eq!(walk.page("99", None), Effect::Relist(RelistReason::Lagging));
            walk.wait();
        }
        // The watch goes on, as where annotations are not wanted any more.
        walk.reflector.watch_on();
        if is_long_ago {
            walk.now += 2 * LAG_GAP;
        } else {
            walk.reached("260");
            walk.now += RESTORED_AFTER;
        }
        walk.ended(End::Failed(expired()), LONG);
        walk.wait();
        assert_eq!(walk.page("99", None), Effect::Relist(RelistReason::Lagging), "{is_long_ago}");
    }
}

#[test]
fn a_probe_confirms_what_is_not_older_than_what_was_seen_when_it_was_sent() {
    let mut walk = Walk::watching();
    for version in ["100", "101", "opaque"] {
        assert_eq!(walk.probed(version), Effect::Confirmed, "{version}");
        assert!(walk.watch_uri().ends_with("resourceVersion=100"), "a probe shows no changes");
    }
    // On its way the watch has gone on: it is older than that, and says nothing.
    let (_, asked) = walk.reflector.probe();
    walk.reached("120");
    let late = Outcome::Probed { asked, version: Arc::from("99") };
    assert_eq!(walk.reflector.step(late, walk.now), Effect::None);
    assert_eq!(*walk.reflector.state(), State::Watching);
    // A list says more.
    walk.ended(End::Failed(expired()), LONG);
    assert_eq!(walk.probed("5"), Effect::None);
    assert!(walk.is_listing_from_the_start());
}

#[test]
fn versions_that_cannot_be_compared_count_in_the_order_of_arrival() {
    let mut walk = Walk::watching();
    for nothing in ["abc", "", "0", "-1", "1e3"] {
        assert_eq!(walk.reached(nothing), None);
        walk.ended(End::Orderly, LONG);
        assert!(walk.watch_uri().ends_with("resourceVersion=100"), "{nothing:?} after a number");
    }
    let mut walk = Walk::new(Kind::Pod);
    assert_eq!(walk.page("xyz", None), whole("xyz"));
    assert_eq!(walk.reached("abc"), None);
    walk.ended(End::Orderly, LONG);
    assert!(walk.watch_uri().ends_with("resourceVersion=abc"));
    walk.ended(End::Failed(expired()), LONG);
    assert_eq!(walk.page("abb", None), whole("abb"));
}

#[test]
fn flow_control_waits_as_long_as_the_server_asks_and_does_not_relist() {
    let mut walk = Walk::watching();
    let busy = |seconds| Failure::NotNow {
        status: 429,
        message: String::new(),
        retry_after: Some(Duration::from_secs(seconds)),
    };
    assert_eq!(walk.ended(End::Failed(busy(20)), Duration::ZERO), Effect::None);
    assert_eq!(walk.wait(), Duration::from_secs(20));
    assert!(walk.watch_uri().ends_with("resourceVersion=100"));
    // Where the server always asks for less, the backoff grows all the same.
    let waits: Vec<_> = (0..8).map(|_| (walk.ended(End::Failed(busy(1)), Duration::ZERO), walk.wait())).collect();
    assert!(waits.iter().all(|(effect, wait)| *effect == Effect::None && *wait >= Duration::from_secs(1)));
    assert!(waits.iter().skip(5).all(|(_, wait)| *wait > Duration::from_secs(15)), "{waits:?}");
}

#[test]
fn a_storm_of_errors_ends_in_at_most_a_quarter_request_a_second() {
    let mut walk = Walk::watching();
    let from = walk.now;
    let mut asked = Vec::new();
    while walk.now < from + Duration::from_secs(600) {
        asked.push(walk.now - from);
        if *walk.reflector.state() == State::Watching {
            walk.ended(End::Failed(storm()), Duration::ZERO);
        } else {
            walk.no_page(storm());
        }
        walk.wait();
    }
    let within = |seconds: std::ops::Range<u64>| asked.iter().filter(|at| seconds.contains(&at.as_secs())).count();
    assert!((5..=8).contains(&within(0..60)), "{asked:?}");
    assert!(within(60..600) <= 540 / 4, "{asked:?}");
    assert!(asked.windows(2).skip(6).all(|pair| pair[1] - pair[0] > Duration::from_secs(4)), "{asked:?}");
}

#[test]
fn a_version_for_which_every_watch_is_refused_leads_to_a_relist_after_minutes() {
    let mut walk = Walk::watching();
    let from = walk.now;
    for _ in 1..WATCH_REFUSALS {
        assert_eq!(walk.ended(End::Failed(storm()), Duration::ZERO), Effect::None);
        walk.wait();
        assert!(walk.watch_uri().ends_with("resourceVersion=100"));
    }
    assert_eq!(walk.ended(End::Failed(storm()), Duration::ZERO), Effect::Relist(RelistReason::Refused));
    assert!(walk.wait() > Duration::from_secs(10) && walk.is_listing_from_the_start());
    assert!(walk.now - from > Duration::from_secs(60), "not at the first sign of trouble");
    assert_eq!(walk.page("300", None), whole("300"));
    assert!(walk.watch_uri().ends_with("resourceVersion=300"));
    // A success between them resets the count.
    (1..WATCH_REFUSALS).for_each(|_| {
        walk.ended(End::Failed(storm()), Duration::ZERO);
        walk.wait();
    });
    walk.reached("301");
    assert_eq!(walk.ended(End::Failed(storm()), Duration::ZERO), Effect::None);
}

#[test]
fn a_denial_is_retried_soon_and_then_with_growing_backoff_and_leads_to_no_relist() {
    let denied = || Failure::Denied { status: 403, message: String::new() };
    let mut walk = Walk::watching();
    let mut waits = Vec::new();
    for _ in 0..8 {
        assert_eq!(walk.ended(End::Failed(denied()), Duration::ZERO), Effect::None);
        waits.push(walk.wait());
        walk.watch_uri();
    }
    // A server that has just started denies everything for a moment; later requests are as rare as possible.
    assert!(waits[0] <= RETRY_FIRST.mul_f64(1.0 + RETRY_JITTER), "{waits:?}");
    assert!(waits[7] >= RETRY_MOST.mul_f64(1.0 - RETRY_JITTER), "{waits:?}");
}

#[test]
fn a_watch_that_ends_at_once_with_nothing_new_is_not_requested_in_a_hot_loop() {
    for end in [End::Orderly, End::Cut(String::new())] {
        let mut walk = Walk::watching();
        walk.ended(end.clone(), Duration::from_millis(1));
        assert!(walk.wait() > Duration::from_millis(500), "{end:?}");
        // The same version again is nothing new.
        walk.reached("100");
        walk.ended(end.clone(), Duration::from_millis(1));
        assert!(walk.wait() > Duration::from_secs(1), "{end:?}");
        walk.reached("101");
        walk.ended(end.clone(), Duration::from_millis(1));
        assert_eq!(walk.wait(), Duration::ZERO, "{end:?}");
    }
}

#[test]
fn a_silent_watch_is_requested_again_at_once() {
    let mut walk = Walk::watching();
    assert_eq!(walk.ended(End::Silent, Duration::from_secs(45)), Effect::None);
    assert!(walk.watch_uri().ends_with("resourceVersion=100"));
}

#[test]
fn a_malformed_event_leads_to_a_relist() {
    let mut walk = Walk::watching();
    let malformed = Failure::Malformed(String::new());
    assert_eq!(walk.ended(End::Failed(malformed), LONG), Effect::Relist(RelistReason::Malformed));
    assert!(walk.wait() > Duration::ZERO);
    assert!(walk.is_listing_from_the_start());
}

#[test]
fn older_versions_of_an_api_are_tried_and_a_kind_that_is_not_served_is_treated_as_empty() {
    let missing = || Failure::NotServed { message: String::new() };
    let mut walk = Walk::new(Kind::DeviceClass);
    for version in ["v1/", "v1beta2/", "v1beta1/"] {
        assert!(walk.reflector.list_uri(None).contains(version));
        let last = version == "v1beta1/";
        let effect = walk.no_page(missing());
        assert_eq!(effect, if last { Effect::Absent } else { Effect::Relist(RelistReason::NotServed) });
    }
    assert_eq!(walk.wait(), UNSERVED_KIND_PERIOD);
    // Reported once; looked for again from the best version on.
    assert!(walk.reflector.list_uri(None).contains("v1/"));
    walk.no_page(missing());
    walk.no_page(missing());
    assert_eq!(walk.no_page(missing()), Effect::Relist(RelistReason::NotServed), "no page of it is kept");
    walk.wait();
    walk.no_page(missing());
    assert_eq!(walk.page("7", None), whole("7"));
    assert!(walk.watch_uri().contains("v1beta2/"));
}

#[test]
fn a_kind_that_was_served_keeps_its_objects_when_it_is_not_any_more() {
    let missing = || Failure::NotServed { message: String::new() };
    let mut walk = Walk::new(Kind::StorageClass);
    walk.page("7", None);
    assert_eq!(walk.ended(End::Failed(missing()), LONG), Effect::Relist(RelistReason::NotServed));
    for _ in 0..3 {
        assert_eq!(walk.no_page(missing()), Effect::Relist(RelistReason::NotServed));
        assert!(walk.wait() > Duration::from_secs(20));
    }
}

#[test]
fn a_server_without_pods_is_not_an_empty_cluster() {
    for kind in [Kind::Pod, Kind::StorageClass, Kind::ReplicaSet] {
        let mut walk = Walk::new(kind);
        for _ in 0..3 {
            assert_eq!(
                walk.no_page(Failure::NotServed { message: String::new() }),
                Effect::Relist(RelistReason::NotServed)
            );
            assert!(walk.wait() > Duration::from_secs(20));
        }
    }
}

#[test]
fn one_denial_after_an_outage_waits_as_short_as_any_first_failure() {
    let mut walk = Walk::watching();
    let down = || Failure::Transport("connection refused".to_owned());
    let waits: Vec<_> = (0..7).map(|_| (walk.ended(End::Failed(down()), Duration::ZERO), walk.wait()).1).collect();
    assert!(waits[6] > RETRY_MOST.mul_f64(1.0 - RETRY_JITTER), "{waits:?}");
    walk.ended(End::Failed(Failure::Denied { status: 403, message: String::new() }), Duration::ZERO);
    let wait = walk.wait();
    assert!(wait <= RETRY_FIRST.mul_f64(1.0 + RETRY_JITTER), "{wait:?}");
    // It was transient: what follows a success is a first failure again.
    walk.ended(End::Orderly, LONG);
    walk.ended(End::Failed(down()), Duration::ZERO);
    let wait = walk.wait();
    assert!(wait <= RETRY_FIRST.mul_f64(1.0 + RETRY_JITTER), "{wait:?}");
}
