//! `nodesift why`: why pods are pending.
//!
//! ```text
//! source    a sidecar, or the engine in this process over files or one list; its answers and its pending pods
//! subject   the pods that are named, and the pod of a manifest
//! question  the request about a pod, as the arguments have it
//! groups    pending pods in groups, for `top`
//! edit      what-ifs as they are typed
//! node_help edits of nodes that may help, evaluated
//! known     the pods of which somebody knows, bound ones too
//! near      names like one that is not there
//! objects   whole objects for what-ifs
//! nodes     amounts of nodes, for `top`
//! watch     the cause of one pod until it changes
//! ```
//!
//! How answers look is in [`report::why`](crate::report::why). Start at [`run`].

mod edit;
mod groups;
mod known;
mod near;
mod node_help;
mod nodes;
mod objects;
mod question;
mod source;
mod subject;
mod watch;

use std::io::Read as _;
use std::path::Path;

use anyhow::Context as _;
use nodesift_proto::v1::{self, pod};
use serde_json::Value;
use tonic::Code;

use crate::args::{PodKey, WhyArgs, WhyFormat};
use crate::exit::{self, Failure};
use crate::limits;
use crate::report::why::{self as report, View};
use crate::terminal::{self, Paint};
use edit::{Edit, EditError, WhatIf};
pub(crate) use groups::Grouped;
#[cfg(test)]
pub(crate) use groups::listed;
pub(crate) use known::{KnownPod, of_engine as pods_of_engine, of_sidecar as pods_of_sidecar};
pub(crate) use near::missing_pod;
pub(crate) use nodes::{NodeRow, is_plain};
use nodesift_engine::Clock;
pub(crate) use objects::encoded;
use question::{by_name, request};
use source::Refused;
pub(crate) use source::Source;
use subject::{Selector, named_pods};

/// Bytes of a manifest at most, as the API takes one.
const MANIFEST_BYTES: u64 = nodesift_api::limits::MANIFEST_BYTES as u64;

/// Prints why pods are pending.
///
/// # Errors
///
/// [`Failure::Data`] if a pod is not there, [`Failure::Unavailable`] if nobody answers, and [`Failure::Ended`] with
/// [`exit::NO_NODE`] where that is asked for.
pub(crate) fn run(args: &WhyArgs) -> anyhow::Result<()> {
    check(args)?;
    let edits: Vec<Edit> =
        args.edits.iter().map(|text| text.parse()).collect::<Result<_, _>>().map_err(Failure::Usage)?;
    let manifest = args.filename.as_deref().map(|path| placed_manifest(args, path)).transpose()?;
    let mut source = Source::open(&args.source)?;
    if args.watch {
        note_skipped(&args.source.listed.skip);
        let namespace = namespace(args);
        return watch::watch(args, &named_pods(&args.pods, &namespace)?, source);
    }
    let answers = match manifest {
        Some(manifest) => vec![of_manifest(args, &edits, manifest, &mut source)?],
        None => of_pods(args, &edits, &mut source)?,
    };
    if !has_screens(args, answers.len()) {
        note_skipped(&args.source.listed.skip);
    }
    terminal::print(&written(args, &answers)?)?;
    let fits = answers.iter().all(|answered| answered.after.feasible_count > 0);
    if args.exit_code && !fits { Err(Failure::Ended(exit::NO_NODE).into()) } else { Ok(()) }
}

/// Checks what depends on several arguments.
fn check(args: &WhyArgs) -> Result<(), Failure> {
    let usage = |text: &str| Err(Failure::Usage(text.to_owned()));
    let is_named = !args.pods.is_empty() || args.filename.is_some();
    if !is_named && args.selector.is_none() && !args.all_namespaces && args.namespace.is_none() {
        return usage(
            "name a pod, or ask about pending pods with -A, -n NAMESPACE or -l SELECTOR, or about a manifest with -f FILE",
        );
    }
    if !args.edits.is_empty() && args.filename.is_none() && args.pods.len() != 1 {
        return usage("--try is about one pod: name it, or give its manifest with -f FILE");
    }
    if args.watch && args.pods.len() != 1 {
        return usage("--watch is about one pod: name it");
    }
    Ok(())
}

/// The answer about a pod, or about one with edits.
struct Answered {
    /// Answer about the pod as it is; none without edits.
    before: Option<v1::WhyResponse>,
    after: v1::WhyResponse,
    /// When a core last asked about the pod, in words; empty where nobody knows.
    asked: String,
}

impl Answered {
    fn new(after: v1::WhyResponse) -> Self {
        Self { before: None, after, asked: String::new() }
    }
}

/// Namespace of pods that are named without one.
fn namespace(args: &WhyArgs) -> String {
    let of_context = || source::namespace(&args.source);
    args.namespace.clone().or_else(of_context).unwrap_or_else(|| "default".to_owned())
}

fn of_pods(args: &WhyArgs, edits: &[Edit], source: &mut Source) -> anyhow::Result<Vec<Answered>> {
    if args.pods.is_empty() {
        let selector = args.selector.as_deref().map(str::parse::<Selector>).transpose().map_err(Failure::Usage)?;
        let of = match args.namespace.as_ref() {
            None if args.all_namespaces => None,
            // As kubectl has it, a selector alone is about one namespace.
            _ => Some(namespace(args)),
        };
        let pods = source.pending(of.as_deref(), selector.as_ref())?;
        if pods.is_empty() {
            terminal::note("no pod is pending there");
        }
        if pods.len() > limits::WHY_PODS {
            terminal::note(&format!(
                "warning: {} pods are pending; the first {} are shown",
                pods.len(),
                limits::WHY_PODS
            ));
        }
        let mut ask = |key: &PodKey| source.ask(request(args, by_name(key)));
        let answers = answers_about(pods.iter().take(limits::WHY_PODS), args.node.is_empty(), &mut ask)?;
        if answers.is_empty() && !pods.is_empty() {
            terminal::note("the pods that were pending there are gone or bound since");
        }
        return Ok(answers);
    }
    let keys = named_pods(&args.pods, &namespace(args))?;
    keys.iter().map(|key| of_pod(args, edits, key, source)).collect()
}

/// Asks about each pod that was listed as pending. Those that have gone or been bound since are left out, unless `on_every_node` does not
/// hold: then it may be the nodes that are not there.
fn answers_about<'a>(
    pods: impl Iterator<Item = &'a PodKey>,
    on_every_node: bool,
    ask: &mut dyn FnMut(&PodKey) -> Result<v1::WhyResponse, Refused>,
) -> anyhow::Result<Vec<Answered>> {
    let asked = pods.filter_map(|key| match ask(key) {
        Err(refused) if on_every_node && matches!(refused.code, Code::NotFound | Code::FailedPrecondition) => None,
        answer => Some(answer.map(Answered::new).map_err(Refused::failure)),
    });
    asked.collect()
}

fn of_pod(args: &WhyArgs, edits: &[Edit], key: &PodKey, source: &mut Source) -> anyhow::Result<Answered> {
    let question = request(args, by_name(key));
    let mut before = source.why_named(key, question.clone())?;
    let asked = source.asked(key);
    if edits.is_empty() {
        if args.pods.len() <= limits::NODE_HELP_PODS || has_screens(args, args.pods.len()) {
            node_help::add(&mut before, key, &question, source);
        }
        return Ok(Answered { asked, ..Answered::new(before) });
    }
    let made = WhatIf::new(edits, key, source.objects()).map_err(|error| with_near_nodes(error, source))?;
    let pod = match &made.pod {
        Some(pod) => v1::Pod::from(pod::Pod::Json(pod.to_string())),
        None => by_name(key),
    };
    let edited = v1::WhyRequest { overlay: made.overlay(), ..request(args, pod) };
    let (before, after) = compared(before, &request(args, by_name(key)), &edited, &mut |asked| source.why(asked))?;
    Ok(Answered { before: Some(before), after, asked })
}

/// The failure of an edit; where its node is not there, with names that are near.
fn with_near_nodes(error: EditError, source: &Source) -> Failure {
    let near = error.missing_node().map(|name| source.near_nodes(name)).unwrap_or_default();
    if near.is_empty() {
        return Failure::Data(error.into());
    }
    Failure::Data(anyhow::anyhow!("{error}; nodes with a name like it: {}", near.join(", ")))
}

/// Asks with edits, and asks the older of the two questions again where the cluster has changed between them: what it did meanwhile would
/// count as the gain of the edits. After [`limits::WHY_REPEATS`] of these the answers are as they are.
fn compared(
    before: v1::WhyResponse,
    as_it_is: &v1::WhyRequest,
    edited: &v1::WhyRequest,
    ask: &mut dyn FnMut(v1::WhyRequest) -> anyhow::Result<v1::WhyResponse>,
) -> anyhow::Result<(v1::WhyResponse, v1::WhyResponse)> {
    let (mut before, mut after) = (before, ask(edited.clone())?);
    for turn in 0..limits::WHY_REPEATS {
        if report::generation(&before) == report::generation(&after) {
            break;
        }
        if turn % 2 == 0 {
            before = ask(as_it_is.clone())?;
        } else {
            after = ask(edited.clone())?;
        }
    }
    Ok((before, after))
}

fn of_manifest(args: &WhyArgs, edits: &[Edit], mut document: Value, source: &mut Source) -> anyhow::Result<Answered> {
    let asked = v1::WhyRequest { manifest: document.to_string(), pod: None, ..request(args, v1::Pod::default()) };
    let before = source.why(asked.clone())?;
    if edits.is_empty() {
        return Ok(Answered::new(before));
    }
    let made = match subject::pod_of(&mut document) {
        Some(pod) => WhatIf::of_whole(edits, pod.clone(), source.objects()),
        None => return Err(Failure::Data(anyhow::anyhow!("the manifest has no pod to edit")).into()),
    };
    let mut made = made.map_err(|error| Failure::Data(error.into()))?;
    if let (Some(place), Some(pod)) = (subject::pod_of(&mut document), made.pod.take()) {
        *place = pod;
    }
    let edited = v1::WhyRequest { manifest: document.to_string(), overlay: made.overlay(), ..asked.clone() };
    let (before, after) = compared(before, &asked, &edited, &mut |asked| source.why(asked))?;
    Ok(Answered { before: Some(before), ..Answered::new(after) })
}

/// Reads a manifest and gives it the namespace in which kubectl would create it.
fn placed_manifest(args: &WhyArgs, path: &Path) -> anyhow::Result<Value> {
    let mut document = subject::document(&manifest(path)?)?;
    let default = || namespace(args);
    subject::place(&mut document, args.namespace.as_deref(), &default)?;
    Ok(document)
}

/// Reads the text of a manifest, within [`MANIFEST_BYTES`].
fn manifest(path: &Path) -> anyhow::Result<String> {
    let mut text = String::new();
    let read = match path.as_os_str() == "-" {
        true => std::io::stdin().lock().take(MANIFEST_BYTES + 1).read_to_string(&mut text),
        false => nodesift_file::open(path).and_then(|file| file.take(MANIFEST_BYTES + 1).read_to_string(&mut text)),
    };
    read.with_context(|| path.display().to_string()).map_err(Failure::Data)?;
    if text.len() as u64 > MANIFEST_BYTES {
        let text =
            format!("{}: more than {} KiB, which is no manifest of one workload", path.display(), MANIFEST_BYTES >> 10);
        return Err(Failure::Data(anyhow::anyhow!(text)).into());
    }
    Ok(text)
}

/// Whether the answers are about several pods, however many there are.
fn is_list(args: &WhyArgs) -> bool {
    args.pods.len() != 1 && args.filename.is_none()
}

/// Whether so many answers are a screen or a ticket each, which repeat what was not evaluated.
fn has_screens(args: &WhyArgs, answers: usize) -> bool {
    match args.output {
        WhyFormat::Wide | WhyFormat::Markdown => true,
        WhyFormat::Text => !(is_list(args) && answers > 1),
        WhyFormat::Json | WhyFormat::Jsonl | WhyFormat::Yaml => false,
    }
}

/// Says on stderr which predicates were left out.
pub(crate) fn note_skipped(skipped: &[String]) {
    if !skipped.is_empty() {
        terminal::note(&format!("without {}: not evaluated", skipped.join(", ")));
    }
}

/// The answers in the format of the arguments.
fn written(args: &WhyArgs, answers: &[Answered]) -> anyhow::Result<String> {
    let paint = Paint::for_stdout();
    let width = paint.is_terminal().then(|| comfy_table::Table::new().width()).flatten();
    let is_wide = args.output == WhyFormat::Wide || !args.node.is_empty();
    let skipped = &args.source.listed.skip;
    let view = View { width: width.map(usize::from), paint, now: Clock::default().now(), is_wide, asked: "", skipped };
    let is_list = is_list(args);
    let after: Vec<&v1::WhyResponse> = answers.iter().map(|answered| &answered.after).collect();
    Ok(match args.output {
        WhyFormat::Json | WhyFormat::Yaml if is_list => document(args.output, &after)?,
        WhyFormat::Json | WhyFormat::Yaml => {
            after.first().map(|answer| document(args.output, answer)).transpose()?.unwrap_or_default()
        }
        WhyFormat::Jsonl => {
            after.iter().map(|answer| Ok(serde_json::to_string(answer)? + "\n")).collect::<anyhow::Result<_>>()?
        }
        WhyFormat::Markdown => after.iter().map(|answer| report::ticket(answer, view)).collect::<Vec<_>>().join("\n"),
        WhyFormat::Text if !has_screens(args, after.len()) => {
            after.iter().map(|answer| report::line(answer, view.now) + "\n").collect()
        }
        WhyFormat::Text | WhyFormat::Wide => {
            let screens = answers.iter().map(|Answered { before, after, asked }| {
                let screen = report::screen(after, View { asked, ..view });
                match before {
                    Some(before) => format!("{}\n{screen}", report::changes(before, after, &args.edits, view)),
                    None => screen,
                }
            });
            screens.collect::<Vec<_>>().join("\n")
        }
    })
}

fn document(format: WhyFormat, document: &impl serde::Serialize) -> anyhow::Result<String> {
    match format {
        WhyFormat::Yaml => serde_saphyr::to_string(document).context("cannot encode the answer as YAML"),
        _ => Ok(serde_json::to_string_pretty(document).context("cannot encode the answer as JSON")? + "\n"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_cluster_does_between_two_questions_is_no_gain_of_an_edit() {
        let (plain, edited) =
            (v1::WhyRequest::default(), v1::WhyRequest { by: "edited".to_owned(), ..v1::WhyRequest::default() });
        let at = |generation| v1::WhyResponse {
            version: Some(v1::Version { generation, ..v1::Version::default() }),
            ..v1::WhyResponse::default()
        };
        // Generations of the answers in their order, and those of the two that count.
        for (answers, expected) in [
            (&[1_u64][..], Some((1, 1))),
            (&[2, 2], Some((2, 2))),
            (&[2, 3, 3], Some((3, 3))),
            (&[2, 3, 4, 5], Some((5, 4))),
        ] {
            let mut left = answers.iter();
            let mut asked = Vec::new();
            let mut ask = |request: v1::WhyRequest| {
                asked.push(request.by == "edited");
                left.next().map(|generation| at(*generation)).context("one question too many")
            };
            let pair = compared(at(1), &plain, &edited, &mut ask).ok();
            let generations = pair.map(|(before, after)| (report::generation(&before), report::generation(&after)));
            assert_eq!(generations, expected, "{answers:?}");
            assert_eq!(left.next(), None, "{answers:?}");
            assert!(asked.iter().enumerate().all(|(turn, is_edited)| *is_edited == (turn % 2 == 0)), "{asked:?}");
        }
    }

    #[test]
    fn a_pod_that_has_gone_is_left_out_and_a_node_that_is_not_there_is_told() {
        let pods: Vec<PodKey> = ["a/gone", "a/bound", "a/pending"].iter().filter_map(|key| key.parse().ok()).collect();
        let mut ask = |key: &PodKey| match key.name.as_str() {
            "gone" => Err(Refused::new(Code::NotFound, "no such pod, or no such node")),
            "bound" => Err(Refused::new(Code::FailedPrecondition, "it has a node")),
            _ => Ok(v1::WhyResponse { pod: key.to_string(), ..v1::WhyResponse::default() }),
        };
        let answers = answers_about(pods.iter(), true, &mut ask).map(|answers| answers.len());
        assert_eq!(answers.ok(), Some(1));
        let failed = answers_about(pods.iter(), false, &mut ask).err().map(|error| exit::code_of(&error));
        assert_eq!(failed, Some(exit::DATA));
    }
}
