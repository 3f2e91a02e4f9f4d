//! The state machine alone: outcomes in, next step and effect out, on a clock that stands still or is moved by hand.

use super::*;
use crate::limits::{RETRY_FIRST, RETRY_JITTER, RETRY_MOST};
use nodesift_object::Kind;

/// One kind's course, and a clock.
struct Walk {
    course: Course,
    now: Instant,
}

impl Walk {
    fn of(kind: Kind) -> Self {
        let now = Instant::now();
        Self { course: Course::new(Resource::of(kind), fastrand::Rng::with_seed(1)), now }
    }

    /// A course that has listed everything at version 100 and watches.
    fn watching() -> Self {
        let mut walk = Self::of(Kind::Pod);
        assert_eq!(walk.page("100", None), Effect::Whole(Arc::from("100")));
        walk
    }

    fn page(&mut self, version: &str, next: Option<&str>) -> Effect {
        self.course.step(Outcome::Page { version: Arc::from(version), next: next.map(Arc::from) }, self.now)
    }

    fn no_page(&mut self, failure: Failure) -> Effect {
        self.course.step(Outcome::NoPage(failure), self.now)
    }

    fn ended(&mut self, end: End, lasted: Duration) -> Effect {
        self.now += lasted;
        self.course.step(Outcome::WatchEnded { end, lasted }, self.now)
    }

    fn reached(&mut self, version: &str) -> Option<Ordering> {
        self.course.reached(&Arc::from(version))
    }

    /// Lets a wait pass, if there is one, and says how long it was.
    fn wait(&mut self) -> Duration {
        let State::Waiting { until, .. } = *self.course.state() else { return Duration::ZERO };
        let waited = until - self.now;
        self.now = until;
        self.course.step(Outcome::Waited, self.now);
        waited
    }

    fn is_listing_from_the_start(&self) -> bool {
        *self.course.state() == State::Listing { next: None }
    }

    fn watch_uri(&self) -> String {
        assert_eq!(*self.course.state(), State::Watching);
        self.course.watch_uri(30)
    }
}

fn expired() -> Failure {
    Failure::Expired { message: String::new() }
}

fn storm() -> Failure {
    Failure::Refused { status: 500, message: String::new(), retry_after: None }
}

const LONG: Duration = Duration::from_secs(30);

#[test]
fn a_watch_begins_at_the_version_of_the_first_page_whatever_later_pages_say() {
    let mut walk = Walk::of(Kind::Pod);
    assert_eq!(walk.page("100", Some("a")), Effect::Keep);
    assert_eq!(*walk.course.state(), State::Listing { next: Some(Arc::from("a")) });
    assert_eq!(walk.page("105", Some("b")), Effect::Keep);
    assert_eq!(walk.page("110", None), Effect::Whole(Arc::from("100")));
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
fn gone_lists_anew_at_once_but_not_in_a_hot_loop() {
    let mut walk = Walk::watching();
    assert_eq!(walk.ended(End::Failed(expired()), Duration::ZERO), Effect::Relist(Reason::Expired));
    assert!(walk.is_listing_from_the_start());
    // Listed, and gone again before anything went well: now there is a wait.
    assert_eq!(walk.page("100", None), Effect::Whole(Arc::from("100")));
    assert_eq!(walk.ended(End::Failed(expired()), Duration::ZERO), Effect::Relist(Reason::Expired));
    assert!(walk.wait() > Duration::from_millis(500));
    assert!(walk.is_listing_from_the_start());
    // An event in between, and it is at once again.
    walk.page("100", None);
    walk.reached("101");
    walk.ended(End::Failed(expired()), Duration::ZERO);
    assert_eq!(walk.wait(), Duration::ZERO);
}

#[test]
fn gone_in_the_middle_of_a_list_drops_its_pages() {
    let mut walk = Walk::of(Kind::Pod);
    walk.page("100", Some("a"));
    assert_eq!(walk.no_page(expired()), Effect::Relist(Reason::Expired));
    assert!(walk.is_listing_from_the_start());
}

#[test]
fn a_page_that_fails_is_asked_for_again_and_the_list_goes_on() {
    let mut walk = Walk::of(Kind::Pod);
    walk.page("100", Some("a"));
    assert_eq!(walk.no_page(storm()), Effect::None);
    assert!(walk.wait() > Duration::ZERO);
    assert_eq!(*walk.course.state(), State::Listing { next: Some(Arc::from("a")) });
    assert_eq!(walk.page("100", None), Effect::Whole(Arc::from("100")));
}

#[test]
fn a_list_older_than_what_was_seen_is_refused_on_its_first_page() {
    let mut walk = Walk::watching();
    walk.reached("250");
    walk.ended(End::Failed(expired()), LONG);
    for _ in 0..5 {
        assert_eq!(walk.page("99", Some("more")), Effect::Relist(Reason::Lagging));
        assert!(walk.wait() > Duration::ZERO);
        assert!(walk.is_listing_from_the_start());
    }
    assert_eq!(walk.page("250", None), Effect::Whole(Arc::from("250")));
}

#[test]
fn versions_that_cannot_be_compared_go_by_arrival() {
    let mut walk = Walk::watching();
    assert_eq!(walk.reached("abc"), None);
    walk.ended(End::Orderly, LONG);
    assert!(walk.watch_uri().ends_with("resourceVersion=abc"));
    walk.ended(End::Failed(expired()), LONG);
    assert_eq!(walk.page("abb", None), Effect::Whole(Arc::from("abb")));
}

#[test]
fn a_busy_server_is_left_alone_as_long_as_it_asks_and_not_listed_anew() {
    let mut walk = Walk::watching();
    let busy = |seconds| Failure::NotNow {
        status: 429,
        message: String::new(),
        retry_after: Some(Duration::from_secs(seconds)),
    };
    assert_eq!(walk.ended(End::Failed(busy(20)), Duration::ZERO), Effect::None);
    assert_eq!(walk.wait(), Duration::from_secs(20));
    assert!(walk.watch_uri().ends_with("resourceVersion=100"));
    // Who always asks for little is asked ever more seldom all the same.
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
        if *walk.course.state() == State::Watching {
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
fn a_version_that_every_watch_is_refused_for_is_given_up_after_minutes() {
    let mut walk = Walk::watching();
    let from = walk.now;
    for _ in 1..WATCH_REFUSALS {
        assert_eq!(walk.ended(End::Failed(storm()), Duration::ZERO), Effect::None);
        walk.wait();
        assert!(walk.watch_uri().ends_with("resourceVersion=100"));
    }
    assert_eq!(walk.ended(End::Failed(storm()), Duration::ZERO), Effect::Relist(Reason::Refused));
    assert!(walk.wait() > Duration::from_secs(10) && walk.is_listing_from_the_start());
    assert!(walk.now - from > Duration::from_secs(60), "not at the first sign of trouble");
    assert_eq!(walk.page("300", None), Effect::Whole(Arc::from("300")));
    assert!(walk.watch_uri().ends_with("resourceVersion=300"));
    // What goes well in between starts the count anew.
    (1..WATCH_REFUSALS).for_each(|_| {
        walk.ended(End::Failed(storm()), Duration::ZERO);
        walk.wait();
    });
    walk.reached("301");
    assert_eq!(walk.ended(End::Failed(storm()), Duration::ZERO), Effect::None);
}

#[test]
fn who_is_denied_asks_again_soon_and_then_ever_less_often_and_keeps_what_it_knows() {
    let denied = || Failure::Denied { status: 403, message: String::new() };
    let mut walk = Walk::watching();
    let mut waits = Vec::new();
    for _ in 0..8 {
        assert_eq!(walk.ended(End::Failed(denied()), Duration::ZERO), Effect::None);
        waits.push(walk.wait());
        walk.watch_uri();
    }
    // A server that has just started denies everything for a moment; one that goes on is asked as seldom as possible.
    assert!(waits[0] <= RETRY_FIRST.mul_f64(1.0 + RETRY_JITTER), "{waits:?}");
    assert!(waits[7] >= RETRY_MOST.mul_f64(1.0 - RETRY_JITTER), "{waits:?}");
}

#[test]
fn a_watch_that_ends_at_once_with_nothing_new_is_not_asked_for_in_a_hot_loop() {
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
fn a_silent_watch_is_asked_for_again_at_once() {
    let mut walk = Walk::watching();
    assert_eq!(walk.ended(End::Silent, Duration::from_secs(45)), Effect::None);
    assert!(walk.watch_uri().ends_with("resourceVersion=100"));
}

#[test]
fn what_cannot_be_understood_is_read_anew_as_a_list() {
    let mut walk = Walk::watching();
    let malformed = Failure::Malformed(String::new());
    assert_eq!(walk.ended(End::Failed(malformed), LONG), Effect::Relist(Reason::Malformed));
    assert!(walk.wait() > Duration::ZERO);
    assert!(walk.is_listing_from_the_start());
}

#[test]
fn older_versions_of_an_api_are_tried_and_a_kind_that_nobody_serves_has_no_objects() {
    let missing = || Failure::NotServed { message: String::new() };
    let mut walk = Walk::of(Kind::DeviceClass);
    for version in ["v1/", "v1beta2/", "v1beta1/"] {
        assert!(walk.course.list_uri(None).contains(version));
        let last = version == "v1beta1/";
        let effect = walk.no_page(missing());
        assert_eq!(effect, if last { Effect::Absent } else { Effect::Relist(Reason::NotServed) });
    }
    assert_eq!(walk.wait(), UNSERVED_KIND_PERIOD);
    // Said once; looked at again from the best version on.
    assert!(walk.course.list_uri(None).contains("v1/"));
    walk.no_page(missing());
    walk.no_page(missing());
    assert_eq!(walk.no_page(missing()), Effect::Relist(Reason::NotServed), "no page of it is kept");
    walk.wait();
    walk.no_page(missing());
    assert_eq!(walk.page("7", None), Effect::Whole(Arc::from("7")));
    assert!(walk.watch_uri().contains("v1beta2/"));
}

#[test]
fn a_kind_that_was_served_keeps_its_objects_when_it_is_not_any_more() {
    let missing = || Failure::NotServed { message: String::new() };
    let mut walk = Walk::of(Kind::StorageClass);
    walk.page("7", None);
    assert_eq!(walk.ended(End::Failed(missing()), LONG), Effect::Relist(Reason::NotServed));
    for _ in 0..3 {
        assert_eq!(walk.no_page(missing()), Effect::Relist(Reason::NotServed));
        assert!(walk.wait() > Duration::from_secs(20));
    }
}

#[test]
fn an_answer_without_pods_is_no_empty_cluster() {
    for kind in [Kind::Pod, Kind::StorageClass, Kind::ReplicaSet] {
        let mut walk = Walk::of(kind);
        for _ in 0..3 {
            assert_eq!(walk.no_page(Failure::NotServed { message: String::new() }), Effect::Relist(Reason::NotServed));
            assert!(walk.wait() > Duration::from_secs(20));
        }
    }
}
