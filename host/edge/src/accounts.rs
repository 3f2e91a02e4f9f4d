//! Accounts: what each connection of a listener holds of one budget for its client.
//!
//! A connection that holds much gets no more than it leaves to others. Where one finds no room, the connection that holds most
//! gives way, if it has held something for longer than [`limits::UNSENT_PATIENCE`]: its room is free at once, and it is closed,
//! which frees the memory moments later; until then not much more gives way than [`limits::UNSENT_CLOSING_BYTES`]. Start at
//! [`Account::take`].

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use parking_lot::Mutex;

use super::beginnings::{Beginning, Beginnings};
use super::budget::{Budget, Room, Taker};
use super::holders::Holders;
use super::places::Activity;
use crate::{Error, limits};

/// A budget of which every connection has an account; clones share it.
#[derive(Debug, Clone)]
pub(crate) struct Ledger(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    budget: Budget,
    /// The most bytes of one account, unless they are taken at once.
    share: usize,
    accounts: Holders<Account>,
    /// Bytes of closed accounts that are in use yet.
    closing: AtomicUsize,
}

/// Bytes that one connection holds of a budget.
#[derive(Debug)]
pub(crate) struct Account {
    ledger: Ledger,
    /// Activity of the connection.
    holder: Activity,
    holds: Mutex<Holds>,
}

#[derive(Debug)]
struct Holds {
    room: Room,
    entries: Beginnings,
    /// Whether its room was given to others.
    is_closed: bool,
}

/// Bytes that an account holds, until dropped.
#[derive(Debug)]
pub(crate) struct Entry {
    account: Arc<Account>,
    bytes: usize,
    began: Beginning,
}

impl Ledger {
    /// A ledger without accounts, of which each may have `share` bytes.
    pub(crate) fn new(budget: Budget, share: usize) -> Self {
        Self(Arc::new(Shared { budget, share, accounts: Holders::default(), closing: AtomicUsize::new(0) }))
    }

    /// The account of a new connection.
    pub(crate) fn open(&self, holder: Activity) -> Arc<Account> {
        let holds = Holds { room: self.0.budget.empty(), entries: Beginnings::default(), is_closed: false };
        let account = Arc::new(Account { ledger: self.clone(), holder, holds: Mutex::new(holds) });
        self.0.accounts.enter(&account);
        account
    }

    /// Bytes of all accounts.
    #[cfg(test)]
    pub(crate) fn held(&self) -> usize {
        self.0.budget.held()
    }

    /// Closes the account that holds most, if more than `held`, and for long. False, and none is closed, where those that could be
    /// have less than `needed` together, or too much is in use yet of others that were closed.
    fn close_greediest(&self, held: usize, needed: usize) -> bool {
        let greedy = |account: &Account| {
            let rank = (account.held(), account.unread());
            (rank.1 >= limits::UNSENT_PATIENCE && rank.0 > held).then_some((rank, rank.0))
        };
        let closing = self.0.closing.load(Ordering::Relaxed);
        let has_room =
            |account: &Arc<Account>| closing == 0 || closing + account.held() <= limits::UNSENT_CLOSING_BYTES;
        let greediest = self.0.accounts.first_to_give_way(needed, greedy);
        greediest.filter(has_room).map(|account| account.close()).is_some()
    }
}

impl Account {
    /// The most bytes that it may hold, unless they are taken at once.
    pub(crate) fn share(&self) -> usize {
        self.ledger.0.share
    }

    /// Takes room of `bytes`, at the expense of those who hold more where there is none. An account that holds nothing gets it
    /// for any number of bytes. Others get it for their share, and only while they hold no more than is left: however many
    /// connections do not read, each leaves as much to the next as it has.
    ///
    /// # Errors
    ///
    /// [`Error::Unread`], [`Error::Overloaded`].
    pub(crate) fn take(self: &Arc<Self>, bytes: usize, taker: Taker) -> Result<Entry, Error> {
        let Shared { budget, share, .. } = &*self.ledger.0;
        loop {
            let held = {
                let mut holds = self.holds.lock();
                let held = holds.room.bytes();
                if holds.is_closed || (held > 0 && held + bytes > *share) {
                    return Err(Error::Unread);
                }
                if held <= budget.free(Taker::Small) && holds.room.try_grow(bytes, taker) {
                    return Ok(self.enter(&mut holds, bytes));
                }
                held
            };
            let needed = bytes.saturating_sub(budget.free(taker)).max(held.saturating_sub(budget.free(Taker::Small)));
            if !self.ledger.close_greediest(held, needed) {
                budget.count_refusal();
                return Err(if held > 0 { Error::Unread } else { Error::Overloaded });
            }
        }
    }

    /// An entry of no bytes for one that finds no room although its connection holds nothing.
    pub(crate) fn take_first(self: &Arc<Self>) -> Option<Entry> {
        let mut holds = self.holds.lock();
        holds.entries.is_empty().then(|| self.enter(&mut holds, 0))
    }

    /// Returns the number of bytes that are held.
    pub(crate) fn held(&self) -> usize {
        self.holds.lock().room.bytes()
    }

    fn enter(self: &Arc<Self>, holds: &mut Holds, bytes: usize) -> Entry {
        Entry { account: Arc::clone(self), bytes, began: holds.entries.begin() }
    }

    /// For how long the client has left something unread.
    fn unread(&self) -> Duration {
        self.holds.lock().entries.oldest().unwrap_or_default()
    }

    fn close(&self) {
        let mut holds = self.holds.lock();
        if !holds.is_closed {
            holds.is_closed = true;
            self.ledger.0.closing.fetch_add(holds.room.bytes(), Ordering::Relaxed);
            holds.room.shrink_to(0);
        }
        drop(holds);
        self.holder.end();
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        let mut holds = self.account.holds.lock();
        holds.entries.end(self.began);
        if holds.is_closed {
            self.account.ledger.0.closing.fetch_sub(self.bytes, Ordering::Relaxed);
            return;
        }
        let rest = holds.room.bytes().saturating_sub(self.bytes);
        holds.room.shrink_to(rest);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use tokio::time::sleep;

    use super::*;
    use crate::budget::BudgetMetrics;

    const SHARE: usize = 50;

    fn ledger() -> Ledger {
        Ledger::new(Budget::new(100, 20, BudgetMetrics::default()), SHARE)
    }

    #[tokio::test(start_paused = true)]
    async fn the_connection_that_holds_most_for_long_gives_way() {
        let ledger = ledger();
        let (large, small) = (Activity::default(), Activity::default());
        let (greedy, modest) = (ledger.open(large.clone()), ledger.open(small.clone()));
        let (first, second) = (greedy.take(50, Taker::Large).unwrap(), modest.take(25, Taker::Large).unwrap());
        let newcomer = ledger.open(Activity::default());
        assert!(matches!(newcomer.take(30, Taker::Large), Err(Error::Overloaded)), "both may be read yet");
        sleep(limits::UNSENT_PATIENCE).await;
        let third = newcomer.take(30, Taker::Large).unwrap();
        large.ended().await;
        assert!(!small.is_ended());
        assert!(matches!(greedy.take(1, Taker::Small), Err(Error::Unread)), "it is closed");
        drop(first);
        assert_eq!(ledger.held(), 55);
        drop((second, third));
        assert_eq!(ledger.held(), 0);
        drop((greedy, modest, newcomer));
        assert_eq!(ledger.0.accounts.count(), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn nobody_gives_way_in_vain_or_to_one_who_holds_more() {
        let ledger = ledger();
        let accounts: Vec<_> = (0..4).map(|_| (Activity::default(), ledger.open(Activity::default()))).collect();
        let _held: Vec<_> = accounts.iter().map(|(_, account)| account.take(20, Taker::Large).unwrap()).collect();
        sleep(limits::UNSENT_PATIENCE).await;
        assert!(matches!(ledger.open(Activity::default()).take(90, Taker::Large), Err(Error::Overloaded)));
        let (_, first) = accounts.first().unwrap();
        assert!(matches!(first.take(10, Taker::Large), Err(Error::Unread)));
        assert_eq!(ledger.held(), 80);
    }

    #[tokio::test(start_paused = true)]
    async fn while_much_is_in_use_of_those_that_gave_way_no_more_do() {
        let part = limits::UNSENT_CLOSING_BYTES / 5 * 3;
        let ledger = Ledger::new(Budget::new(3 * part, 0, BudgetMetrics::default()), part);
        let accounts: Vec<_> = (0..3).map(|_| ledger.open(Activity::default())).collect();
        let mut held: Vec<_> = accounts.iter().map(|account| account.take(part, Taker::Large).unwrap()).collect();
        sleep(limits::UNSENT_PATIENCE).await;
        let newcomer = || ledger.open(Activity::default());
        let first = newcomer().take(part, Taker::Large).unwrap();
        assert!(matches!(newcomer().take(part, Taker::Large), Err(Error::Overloaded)), "the memory is not free yet");
        // It is with the one that has given way, the greediest.
        held.retain(|entry| !entry.account.holds.lock().is_closed);
        assert_eq!(held.len(), 2);
        let second = newcomer().take(part, Taker::Large).unwrap();
        assert_eq!(ledger.held(), 3 * part);
        drop((first, second, held));
        assert_eq!((ledger.held(), ledger.0.closing.load(Ordering::Relaxed)), (0, 0));
    }

    #[test]
    fn the_first_of_a_connection_finds_a_place_without_room() {
        let ledger = ledger();
        let (full, other) = (ledger.open(Activity::default()), ledger.open(Activity::default()));
        let _all = full.take(100, Taker::Small).unwrap();
        assert!(matches!(other.take(1, Taker::Small), Err(Error::Overloaded)));
        let first = other.take_first().unwrap();
        assert!(other.take_first().is_none());
        drop(first);
        assert!(other.take_first().is_some());
    }
}
