//! Accounting of negotiations by the client that opened them: their number and their bytes, with a share for each class of listeners and
//! for each client; and beside that the bytes of alternatives that parties have named in them. An order that several negotiations of a
//! client share counts once. Start at [`Ledger::room`] and [`Ledger::left_to`].

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::limits::{
    CLIENT_SHARE, HELD_BYTES, NAME_BYTES, NEGOTIATIONS, REMOTE_HELD_BYTES, REMOTE_NEGOTIATIONS, SAID_ALL_BYTES,
    SAID_BYTES,
};
use crate::request::{Class, Node, Owner, Refusal};

/// Negotiations and deallocations, and their bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Held {
    pub(crate) negotiations: usize,
    pub(crate) bytes: usize,
}

/// Negotiations and bytes that are held, by client and by class of clients.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    owners: BTreeMap<Owner, Held>,
    classes: Classes,
    /// Negotiations of a client that have an order, by its place in memory. Its bytes count with the first of them, until the last ends.
    orders: BTreeMap<(Owner, usize), usize>,
    /// Bytes of what each party has named in negotiations of each class, and of each client.
    said: BTreeMap<(Class, Arc<str>), usize>,
    said_to: BTreeMap<(Owner, Arc<str>), usize>,
}

/// Sums over all clients of each class.
#[derive(Debug, Default)]
struct Classes {
    local: Held,
    remote: Held,
}

impl Classes {
    fn get(&self, class: Class) -> Held {
        match class {
            Class::Local => self.local,
            Class::Remote => self.remote,
        }
    }

    fn get_mut(&mut self, class: Class) -> &mut Held {
        match class {
            Class::Local => &mut self.local,
            Class::Remote => &mut self.remote,
        }
    }
}

/// Limit that a negotiation would exceed, with the name of the resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Full {
    /// The client has its share.
    Client(&'static str),
    /// All clients of the class have theirs together.
    Class(&'static str),
}

impl From<Full> for Refusal {
    fn from(full: Full) -> Self {
        match full {
            Full::Client(what) | Full::Class(what) => Self::Full(what),
        }
    }
}

const NUMBER: &str = "the number of negotiations";

/// Returns the limits of all clients of a class together.
fn most(class: Class) -> Held {
    match class {
        Class::Local => Held { negotiations: NEGOTIATIONS, bytes: HELD_BYTES },
        Class::Remote => Held { negotiations: REMOTE_NEGOTIATIONS, bytes: REMOTE_HELD_BYTES },
    }
}

/// Returns the part of a class's limit that one client may use.
fn share(most: usize) -> usize {
    most - most / CLIENT_SHARE
}

impl Ledger {
    pub(crate) const BYTES: &str = "the memory of pods, orders and candidates that are negotiated";

    /// The most bytes of one client of a class.
    pub(crate) fn most_bytes(class: Class) -> usize {
        share(most(class).bytes)
    }

    /// Returns the sum that all clients of a class hold.
    pub(crate) fn held_by_class(&self, class: Class) -> Held {
        self.classes.get(class)
    }

    /// Returns the number and bytes that a client holds.
    pub(crate) fn held_by(&self, owner: &Owner) -> Held {
        self.owners.get(owner).copied().unwrap_or_default()
    }

    /// Clients of a class, the one that holds most first.
    pub(crate) fn greatest(&self, class: Class) -> Vec<(Owner, Held)> {
        let of_class = self.owners.iter().filter(|(owner, _)| owner.class == class);
        let mut owners: Vec<_> = of_class.map(|(owner, held)| (owner.clone(), *held)).collect();
        owners.sort_by_key(|(_, held)| std::cmp::Reverse(held.share(class)));
        owners
    }

    /// Whether there is room for one more negotiation of so many bytes.
    pub(crate) fn room(&self, owner: &Owner, bytes: usize) -> Result<(), Full> {
        let most = most(owner.class);
        let (own, class) = (self.held_by(owner), self.held_by_class(owner.class));
        if own.negotiations >= share(most.negotiations) {
            return Err(Full::Client(NUMBER));
        }
        if own.bytes.saturating_add(bytes) > Self::most_bytes(owner.class) {
            return Err(Full::Client(Self::BYTES));
        }
        if class.negotiations >= most.negotiations {
            return Err(Full::Class(NUMBER));
        }
        if class.bytes.saturating_add(bytes) > most.bytes {
            return Err(Full::Class(Self::BYTES));
        }
        Ok(())
    }

    /// Bytes that the negotiations of a client may come to hold beside what they hold.
    pub(crate) fn left(&self, owner: &Owner) -> usize {
        let of_client = Self::most_bytes(owner.class).saturating_sub(self.held_by(owner).bytes);
        of_client.min(most(owner.class).bytes.saturating_sub(self.held_by_class(owner.class).bytes))
    }

    /// Bytes that a party may name in negotiations of a client, beside those that it has.
    pub(crate) fn left_to(&self, owner: &Owner, party: &Arc<str>) -> usize {
        let of_class = self.said.get(&(owner.class, party.clone())).copied().unwrap_or(0);
        let of_client = self.said_to.get(&(owner.clone(), party.clone())).copied().unwrap_or(0);
        let left = SAID_ALL_BYTES.saturating_sub(self.said(owner.class));
        left.min(SAID_BYTES.saturating_sub(of_class)).min(share(SAID_BYTES).saturating_sub(of_client))
    }

    /// Bytes that parties have named in negotiations of a class.
    pub(crate) fn said(&self, class: Class) -> usize {
        self.said.iter().filter(|((of, _), _)| *of == class).map(|(_, bytes)| bytes).sum()
    }

    /// Counts what a party has named in a negotiation for other bytes than before.
    pub(crate) fn change_said(&mut self, owner: &Owner, party: &Arc<str>, before: usize, bytes: usize) {
        if before != bytes {
            change(&mut self.said, (owner.class, party.clone()), before, bytes);
            change(&mut self.said_to, (owner.clone(), party.clone()), before, bytes);
        }
    }

    /// Counts a negotiation for other bytes than before.
    pub(crate) fn change(&mut self, owner: &Owner, before: usize, bytes: usize) {
        let Some(held) = self.owners.get_mut(owner) else { return };
        for held in [held, self.classes.get_mut(owner.class)] {
            held.bytes = (held.bytes + bytes).saturating_sub(before);
        }
    }

    /// Counts a negotiation or a deallocation.
    pub(crate) fn add(&mut self, owner: &Owner, bytes: usize) {
        for held in [self.owners.entry(owner.clone()).or_default(), self.classes.get_mut(owner.class)] {
            held.negotiations += 1;
            held.bytes += bytes;
        }
    }

    /// Bytes of an order beside what the negotiations of a client hold: none, where one of them has it.
    pub(crate) fn order_bytes(&self, owner: &Owner, order: &Arc<[Node]>) -> usize {
        if self.orders.contains_key(&(owner.clone(), place(order))) { 0 } else { order.len() * NAME_BYTES }
    }

    /// Counts the order of a negotiation, after that.
    pub(crate) fn add_order(&mut self, owner: &Owner, order: &Arc<[Node]>) {
        if order.is_empty() {
            return;
        }
        let bytes = self.order_bytes(owner, order);
        *self.orders.entry((owner.clone(), place(order))).or_default() += 1;
        self.change(owner, 0, bytes);
    }

    /// Counts the order of a negotiation no more, before that.
    pub(crate) fn remove_order(&mut self, owner: &Owner, order: &Arc<[Node]>) {
        if order.is_empty() {
            return;
        }
        let key = (owner.clone(), place(order));
        let Some(negotiations) = self.orders.get_mut(&key) else { return };
        *negotiations -= 1;
        if *negotiations == 0 {
            self.orders.remove(&key);
            self.change(owner, order.len() * NAME_BYTES, 0);
        }
    }

    /// Counts one that has ended no more.
    pub(crate) fn remove(&mut self, owner: &Owner, bytes: usize) {
        self.classes.get_mut(owner.class).take(bytes);
        if let Some(held) = self.owners.get_mut(owner) {
            held.take(bytes);
            if held.negotiations == 0 {
                self.owners.remove(owner);
            }
        }
    }
}

/// Place of an order in memory, by which those that share it are known while they have it.
fn place(order: &Arc<[Node]>) -> usize {
    Arc::as_ptr(order).cast::<u8>().addr()
}

/// Counts other bytes than before; where none are left, nothing is kept.
fn change<K: Ord>(held: &mut BTreeMap<K, usize>, key: K, before: usize, bytes: usize) {
    let now = held.get(&key).map_or(0, |held| held.saturating_sub(before)).saturating_add(bytes);
    if now == 0 {
        held.remove(&key);
    } else {
        held.insert(key, now);
    }
}

impl Held {
    fn take(&mut self, bytes: usize) {
        self.negotiations -= 1;
        self.bytes -= bytes;
    }

    /// The greater one of its shares of the number and of the bytes of a class, in millionths.
    pub(crate) fn share(&self, class: Class) -> usize {
        let (of, most) = (|held: usize, most: usize| held.saturating_mul(1_000_000) / most, most(class));
        of(self.negotiations, most.negotiations).max(of(self.bytes, most.bytes))
    }
}
