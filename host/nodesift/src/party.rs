//! `nodesift party`: a party for tests and demonstrations, which answers as a script says, or has seats to give, and prints what it is
//! asked.
//!
//! ```text
//! source   where its answers come from: a script, or seats
//! script   answers that are written down
//! seats    a number of seats, of which each allocation takes one
//! ```
//!
//! It attends again whenever its stream ends, until it is interrupted. Start at [`run`].

mod script;
mod seats;
mod source;

use std::pin::pin;
use std::time::Duration;

use anyhow::{Context as _, anyhow};
use futures_util::stream;
use nodesift_proto::v1::parties_client::PartiesClient;
use nodesift_proto::v1::party_call::Call;
use nodesift_proto::v1::party_message::Message;
use nodesift_proto::v1::{Invalidate, PartyAttend, PartyCall, PartyDeallocated, PartyMessage, PartyPod};
use tokio::runtime::Builder;
use tokio::sync::mpsc;
use tokio::time::{interval, sleep};
use tonic::Status;
use tonic::transport::Endpoint;

use crate::args::PartyArgs;
use crate::exit::Failure;
use crate::{client, limits, terminal};
use script::Timed;
use source::Source;

/// Attends until it is interrupted.
///
/// # Errors
///
/// [`Failure::Usage`] for a server that is none, [`Failure::Files`] for a script or a file of seats that cannot be read at the start.
pub(crate) fn run(args: &PartyArgs) -> anyhow::Result<()> {
    let endpoint = client::channel(client::SERVER, &args.server)?.connect_timeout(limits::CLIENT_CONNECT);
    let mut source = Source::open(args).map_err(Failure::Files)?;
    let runtime = Builder::new_current_thread().enable_all().build().context("cannot start the network client")?;
    runtime.block_on(async {
        tokio::select! {
            outcome = attend(args, &endpoint, &mut source) => outcome,
            interrupted = tokio::signal::ctrl_c() => interrupted.context("cannot listen for signals"),
        }
    })
}

async fn attend(args: &PartyArgs, endpoint: &Endpoint, source: &mut Source) -> anyhow::Result<()> {
    loop {
        match attend_once(args, endpoint, source).await {
            Ok(()) => say(&args.name, "the stream has ended")?,
            Err(error) => say(&args.name, &format!("cannot attend: {error:#}"))?,
        }
        sleep(limits::PARTY_RETRY).await;
    }
}

async fn attend_once(args: &PartyArgs, endpoint: &Endpoint, source: &mut Source) -> anyhow::Result<()> {
    let channel = endpoint.connect().await.context("the sidecar cannot be reached")?;
    let (sender, said) = mpsc::unbounded_channel();
    let said = stream::unfold(said, |mut said: mpsc::UnboundedReceiver<Message>| async move {
        let message = Some(said.recv().await?);
        Some((PartyMessage { message }, said))
    });
    // Where the stream has ended, what is said is lost with it.
    let send = |message: Message| drop(sender.send(message));
    send(Message::Attend(PartyAttend { party: args.name.clone() }));
    let mut calls = PartiesClient::new(channel).attend(said).await.map_err(|status| words(&status))?.into_inner();
    say(&args.name, &format!("attends at {}", args.server))?;
    let mut looks = interval(limits::PARTY_LOOK);
    loop {
        let call = {
            let call = pin!(calls.message());
            tokio::select! {
                call = call => call.map_err(|status| words(&status))?,
                _ = looks.tick() => {
                    match source.read() {
                        Ok(false) => {}
                        Ok(true) => {
                            say(&args.name, "the script has changed: earlier answers are taken back")?;
                            send(Message::Invalidate(Invalidate::default()));
                        }
                        Err(error) => say(&args.name, &format!("the script stays as it was: {error:#}"))?,
                    }
                    continue;
                }
            }
        };
        let Some(PartyCall { call: Some(call) }) = call else { return Ok(()) };
        let (line, timed) = reply(source, call)?;
        say(&args.name, &line)?;
        if let Some((delay, messages)) = timed {
            let sender = sender.clone();
            let later = async move {
                if delay > Duration::ZERO {
                    sleep(delay).await;
                }
                messages.into_iter().for_each(|message| drop(sender.send(message)));
            };
            tokio::spawn(later);
        }
    }
}

/// Describes a call in one line, and returns the answer to it.
///
/// # Errors
///
/// Where seats cannot be written down: nothing is said then, and the call comes again.
fn reply(source: &mut Source, call: Call) -> anyhow::Result<(String, Option<Timed>)> {
    Ok(match call {
        Call::Ask(ask) => {
            let nodes = ask.nodes.len() + ask.recheck.len();
            let refused = ask.nodes.iter().chain(&ask.recheck).filter(|node| source.reason(node).is_some()).count();
            let asked = format!("asked about {} for {}", terminal::counted(nodes, "node"), pod(ask.pod.as_ref()));
            match source.answer(&ask) {
                Some(timed) => (format!("{asked}: {refused} do not suit"), Some(timed)),
                None => (format!("{asked}: says nothing"), None),
            }
        }
        Call::Allocate(call) => {
            let told = format!("told to allocate for {} on {}", pod(call.pod.as_ref()), call.nodes.join(", "));
            let timed = source.allocate(&call)?;
            let outcome = match timed.as_ref().and_then(|(_, messages)| messages.first()) {
                Some(Message::Allocated(allocated)) => format!("allocated on {}", allocated.nodes.join(", ")),
                Some(Message::Failed(failed)) => format!("fails: {}", failed.reason),
                _ => "says nothing".to_owned(),
            };
            (format!("{told}: {outcome}{}", source.state()), timed)
        }
        Call::Deallocate(call) => {
            let mut messages = source.deallocate(call.id)?;
            messages.push(Message::Deallocated(PartyDeallocated { id: call.id }));
            let given = format!("gives back what call {} has allocated{}", call.id, source.state());
            (given, Some((Duration::ZERO, messages)))
        }
        Call::Bound(call) => {
            let bound = format!(
                "{} is bound to {}, and keeps what call {} has allocated",
                pod(call.pod.as_ref()),
                call.node,
                call.id
            );
            (bound, None)
        }
        Call::Withdraw(call) => (format!("call {} is withdrawn", call.id), None),
    })
}

fn pod(pod: Option<&PartyPod>) -> String {
    pod.map_or_else(|| "a pod".to_owned(), |pod| format!("{}/{}", pod.namespace, pod.name))
}

fn words(status: &Status) -> anyhow::Error {
    anyhow!("{}", status.message())
}

/// Prints one line of text, after the party's name.
fn say(party: &str, text: &str) -> anyhow::Result<()> {
    terminal::print(&terminal::escaped(&format!("{party}: {text}\n")))
}
