//! `nodesift party`: a party for tests and demonstrations, which answers as a script says and prints what it is asked.
//!
//! ```text
//! script   what it answers
//! ```
//!
//! It attends again whenever its stream ends, until it is interrupted. Start at [`run`].

mod script;

use std::path::Path;
use std::pin::pin;
use std::time::{Duration, SystemTime};

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
use script::{Script, Timed};

/// Attends until it is interrupted.
///
/// # Errors
///
/// [`Failure::Usage`] for a server that is none, [`Failure::Files`] for a script that cannot be read at the start.
pub(crate) fn run(args: &PartyArgs) -> anyhow::Result<()> {
    let endpoint = client::channel(&args.server)?.connect_timeout(limits::CLIENT_CONNECT);
    let mut known = Known { changed: None, script: Script::default() };
    known.read(&args.script).map_err(Failure::Files)?;
    let runtime = Builder::new_current_thread().enable_all().build().context("cannot start the network client")?;
    runtime.block_on(async {
        tokio::select! {
            outcome = attend(args, &endpoint, &mut known) => outcome,
            interrupted = tokio::signal::ctrl_c() => interrupted.context("cannot listen for signals"),
        }
    })
}

/// The script, and when its file was written.
struct Known {
    changed: Option<SystemTime>,
    script: Script,
}

impl Known {
    /// Reads the script where its file has changed; true where it is another one now.
    fn read(&mut self, path: &Path) -> anyhow::Result<bool> {
        let named = || format!("cannot read {}", path.display());
        let changed = std::fs::metadata(path).and_then(|file| file.modified()).with_context(named)?;
        if self.changed.replace(changed) == Some(changed) {
            return Ok(false);
        }
        let text = std::fs::read_to_string(path).with_context(named)?;
        let script = serde_saphyr::from_str(&text).map_err(|error| anyhow!("{}: {error}", path.display()))?;
        let is_other = self.script != script;
        self.script = script;
        Ok(is_other)
    }
}

async fn attend(args: &PartyArgs, endpoint: &Endpoint, known: &mut Known) -> anyhow::Result<()> {
    loop {
        match attend_once(args, endpoint, known).await {
            Ok(()) => say(&args.name, "the stream has ended")?,
            Err(error) => say(&args.name, &format!("cannot attend: {error:#}"))?,
        }
        sleep(limits::PARTY_RETRY).await;
    }
}

async fn attend_once(args: &PartyArgs, endpoint: &Endpoint, known: &mut Known) -> anyhow::Result<()> {
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
                    match known.read(&args.script) {
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
        let (line, timed) = reply(&known.script, call);
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
fn reply(script: &Script, call: Call) -> (String, Option<Timed>) {
    match call {
        Call::Ask(ask) => {
            let nodes = ask.nodes.len() + ask.recheck.len();
            let refused = ask.nodes.iter().chain(&ask.recheck).filter(|node| script.reason(node).is_some()).count();
            let asked = format!("asked about {} for {}", terminal::counted(nodes, "node"), pod(ask.pod.as_ref()));
            match script.answer(&ask) {
                Some(timed) => (format!("{asked}: {refused} do not suit"), Some(timed)),
                None => (format!("{asked}: says nothing"), None),
            }
        }
        Call::Allocate(call) => {
            let told = format!("told to allocate for {} on {}", pod(call.pod.as_ref()), call.nodes.join(", "));
            let timed = script.allocate(&call);
            let outcome = match timed.as_ref().and_then(|(_, messages)| messages.first()) {
                Some(Message::Allocated(allocated)) => format!("allocated on {}", allocated.nodes.join(", ")),
                Some(Message::Failed(failed)) => format!("fails: {}", failed.reason),
                _ => "says nothing".to_owned(),
            };
            (format!("{told}: {outcome}"), timed)
        }
        Call::Deallocate(call) => {
            let done = Message::Deallocated(PartyDeallocated { id: call.id });
            (format!("gives back what call {} has allocated", call.id), Some((Duration::ZERO, vec![done])))
        }
        Call::Withdraw(call) => (format!("call {} is withdrawn", call.id), None),
    }
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
