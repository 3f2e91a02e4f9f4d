//! Kubeconfigs, tokens and the files behind them.

use std::fs;
use std::path::Path;

use kube::config::AuthInfo;
use secrecy::{ExposeSecret as _, SecretString};

use super::files::{SERVICE_ACCOUNT, merged};
use super::user::read_token;
use super::*;

fn token(inline: Option<&str>, file: Option<&Path>) -> Result<Option<String>, ConnectError> {
    let mut auth = AuthInfo {
        token: inline.map(SecretString::from),
        token_file: file.map(|file| file.display().to_string()),
        ..AuthInfo::default()
    };
    read_token(&mut auth)?;
    Ok(auth.token.map(|token| token.expose_secret().to_owned()))
}

/// Whatever a kubeconfig holds, a connection is prepared or refused by name, and nothing panics. `NODESIFT_SEED` repeats a run.
#[tokio::test(flavor = "multi_thread")]
async fn no_text_in_a_field_of_a_user_is_taken_for_a_plugin_that_hangs() {
    let seed = nodesift_seed::seed();
    let mut random = fastrand::Rng::with_seed(seed);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("config");
    let mut texts: Vec<String> =
        ["secret\n", "\r\n secret", "se\ncret", "se\u{0}cret", "", "\u{feff}ü", "\u{7f}"].map(str::to_owned).into();
    texts.extend((0..40).map(|_| (0..random.usize(0..12)).map(|_| random.char('\u{0}'..'\u{100}')).collect()));
    let fields = ["token", "tokenFile", "username", "password", "client-certificate-data", "client-key-data", "as"];
    for (field, text) in fields.iter().flat_map(|field| texts.iter().map(move |text| (field, text))) {
        let config = serde_json::json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "c",
            "clusters": [{"name": "k", "cluster": {"server": "https://127.0.0.1:1"}}],
            "users": [{"name": "u", "user": {*field: text}}],
            "contexts": [{"name": "c", "context": {"cluster": "k", "user": "u"}}],
        });
        fs::write(&path, config.to_string()).unwrap();
        let origin = Origin { kubeconfig: Some(path.clone()), context: None };
        let error = Connector::new(&origin).await.err();
        let is_unnamed = matches!(error, Some(ConnectError::Slow | ConnectError::Stuck | ConnectError::Panicked(_)));
        assert!(!is_unnamed, "{field} {text:?}: {error:?}");
        if *field == "token" && text.trim() == "secret" {
            assert!(Connector::new(&origin).await.is_ok(), "{text:?}");
        }
    }
}

#[test]
fn the_token_of_a_file_comes_first_and_without_the_newline_at_its_end() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("token");
    assert!(matches!(token(None, Some(&file)), Err(ConnectError::Token { .. })));
    assert_eq!(token(Some("inline"), Some(&file)).unwrap().as_deref(), Some("inline"));
    fs::write(&file, " secret\r\n").unwrap();
    assert_eq!(token(None, Some(&file)).unwrap().as_deref(), Some("secret"));
    assert_eq!(token(Some("inline"), Some(&file)).unwrap().as_deref(), Some("secret"));
    fs::write(&file, "\n").unwrap();
    assert!(matches!(token(None, Some(&file)), Err(ConnectError::Token { .. })));
    assert_eq!(token(None, None).unwrap(), None);
}

#[test]
fn the_context_that_was_current_at_the_start_stays_the_one_that_is_used() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("kubeconfig");
    let write = |context: &str| {
        fs::write(&file, format!(r#"{{"apiVersion":"v1","kind":"Config","current-context":"{context}"}}"#)).unwrap();
    };
    let origin = |context: Option<&str>| Origin { kubeconfig: Some(file.clone()), context: context.map(str::to_owned) };
    write("first");
    let pinned = |origin: &Origin| with_context(origin, Source::Kubeconfig);
    let first = pinned(&origin(None));
    write("second");
    assert_eq!(first.context.as_deref(), Some("first"));
    assert_eq!(pinned(&first).context.as_deref(), Some("first"));
    assert_eq!(pinned(&origin(Some("named"))).context.as_deref(), Some("named"));
    fs::remove_file(&file).unwrap();
    assert_eq!(pinned(&origin(None)).context, None);
}

#[test]
fn files_of_a_list_that_are_missing_are_passed_over_and_the_first_that_says_something_counts() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let write = |name: &str, context: &str, server: &str| {
        let config = serde_json::json!({
            "apiVersion": "v1", "kind": "Config", "current-context": context,
            "clusters": [{"name": "k", "cluster": {"server": server}}], "users": null, "contexts": null,
        });
        fs::write(path(name), config.to_string()).unwrap();
    };
    // As `kubectl config unset current-context` leaves it.
    write("unset", "", "http://first");
    write("set", "c", "http://second");
    fs::write(path("empty"), "").unwrap();
    let files = |names: &[&str]| names.iter().map(|name| path(name)).collect::<Vec<_>>();
    let read = merged(&files(&["gone", "empty", "unset", "set", "gone too"])).unwrap();
    assert_eq!(read.current_context.as_deref(), Some("c"));
    let servers =
        read.clusters.iter().map(|named| named.cluster.as_ref().and_then(|cluster| cluster.server.as_deref()));
    assert_eq!(servers.collect::<Vec<_>>(), [Some("http://first")]);
    assert_eq!(merged(&files(&["unset"])).unwrap().current_context, None);

    for names in [["gone", "gone too"].as_slice(), &[]] {
        let error = merged(&files(names)).unwrap_err();
        assert!(is_absent(&error) && error.to_string().contains(names.last().unwrap_or(&"the path")), "{error}");
    }
    // What is there and is no kubeconfig.
    fs::write(path("binary"), [0xc3, 0x28]).unwrap();
    for name in [".", "binary"] {
        let error = merged(&files(&[name, "set"])).unwrap_err();
        assert!(!is_absent(&error), "{error}");
    }
}

#[tokio::test]
async fn a_sidecar_that_began_in_a_pod_never_reads_a_kubeconfig_that_appears_later() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("kubeconfig");
    let kubeconfig = serde_json::json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "other",
        "clusters": [{"name": "other", "cluster": {"server": "http://127.0.0.1:1"}}],
        "contexts": [{"name": "other", "context": {"cluster": "other", "user": ""}}],
    });
    fs::write(&file, kubeconfig.to_string()).unwrap();
    let pinned = |source| Pinned {
        origin: Origin { kubeconfig: Some(file.clone()), context: None },
        source,
        environment: Environment::default(),
    };
    let preparing = Arc::new(Semaphore::new(1));
    let Prepared { config, .. } = prepare(&pinned(Source::Kubeconfig), &preparing).await.unwrap();
    assert_eq!(config.cluster_url.port_u16(), Some(1));
    let in_pod = pinned(Source::ServiceAccount);
    assert!(in_pod.files().0.iter().all(|(path, _)| path.starts_with(SERVICE_ACCOUNT)));
    assert_eq!(with_context(&in_pod.origin, Source::ServiceAccount).context, None);
    let prepared = prepare(&in_pod, &preparing).await.map(|prepared| prepared.config.cluster_url.port_u16());
    // Where the test runs in a pod, it is that pod's cluster.
    let is_own = prepared
        .as_ref()
        .map_or_else(|error| matches!(error, ConnectError::ServiceAccount(_)), |port| *port != Some(1));
    assert!(is_own, "{prepared:?}");
}

#[tokio::test]
async fn no_more_than_a_few_attempts_hang() {
    let preparing = Arc::new(Semaphore::new(0));
    let pinned = Pinned { origin: Origin::default(), source: Source::Kubeconfig, environment: Environment::default() };
    assert!(matches!(prepare(&pinned, &preparing).await, Err(ConnectError::Stuck)));
}

/// A connection that is prepared from a kubeconfig, and its address.
async fn prepared(
    path: &Path,
    cluster: serde_json::Value,
    user: serde_json::Value,
) -> Result<(Connector, String), String> {
    let config = serde_json::json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "c",
        "clusters": [{"name": "k", "cluster": cluster}], "users": [{"name": "u", "user": user}],
        "contexts": [{"name": "c", "context": {"cluster": "k", "user": "u"}}],
    });
    fs::write(path, config.to_string()).unwrap();
    let origin = Origin { kubeconfig: Some(path.to_owned()), context: None };
    Connector::new(&origin).await.map_err(|error| error.to_string())
}

#[tokio::test]
async fn a_server_is_completed_or_refused_by_name_and_never_asked_where_it_is_not() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("config");
    let none = || serde_json::json!({});
    for (cluster, address) in [
        (serde_json::json!({"server": "127.0.0.1:1"}), "http://127.0.0.1:1/"),
        (serde_json::json!({"server": "127.0.0.1:1", "insecure-skip-tls-verify": true}), "https://127.0.0.1:1/"),
    ] {
        let (connector, completed) = prepared(&path, cluster, none()).await.unwrap();
        assert_eq!(completed, address);
        let request = http::Request::get("/version").body(Vec::new()).unwrap();
        // Nothing listens there, and nothing panics.
        assert!(connector.client().await.request_text(request).await.is_err());
    }
    for server in ["ftp://127.0.0.1:1", "http://127.0.0.1:99999", "http://user:SECRET@127.0.0.1:1", ""] {
        let error = prepared(&path, serde_json::json!({"server": server}), none()).await.err().unwrap();
        assert!(error.starts_with("kubeconfig: the server of the cluster cannot be used: "), "{server}: {error}");
        assert!(!error.contains("SECRET"), "{error}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_is_trimmed_or_refused_wherever_it_comes_from() {
    let folder = tempfile::tempdir().unwrap();
    let (path, file, answer) =
        (folder.path().join("config"), folder.path().join("token"), folder.path().join("answer"));
    let cluster = || serde_json::json!({"server": "http://127.0.0.1:1"});
    for (text, is_sendable) in [("ab\n", true), (" \r\nab\t", true), ("a\nb", false), ("a\u{0}b", false)] {
        fs::write(&file, text).unwrap();
        fs::write(&answer, serde_json::json!({"status": {"token": text}}).to_string()).unwrap();
        for user in [
            serde_json::json!({"token": text}),
            serde_json::json!({"tokenFile": file}),
            serde_json::json!({"auth-provider": {"name": "oidc", "config": {"id-token": text}}}),
            noting(folder.path()),
        ] {
            let error = prepared(&path, cluster(), user.clone()).await.err();
            assert_eq!(error.is_none(), is_sendable, "{user} {text:?}: {error:?}");
            assert!(error.is_none_or(|error| error.contains("no header may have")), "{user} {text:?}");
        }
    }
    fs::write(&file, "\u{feff}ab\r\n").unwrap();
    assert_eq!(token(None, Some(&file)).unwrap().as_deref(), Some("ab"));
    // A blank token is none, so that the plugin is asked.
    fs::write(&answer, "no answer").unwrap();
    let mut user = noting(folder.path());
    user["token"] = serde_json::json!(" \n");
    let error = prepared(&path, cluster(), user).await.err().unwrap();
    assert!(error.contains(r#"the credential plugin "sh" has printed"#), "{error}");
    let gcp = serde_json::json!({"auth-provider": {"name": "gcp", "config": {"cmd-path": "sh", "cmd-args": "SECRET"}}});
    let error = prepared(&path, cluster(), gcp).await.err().unwrap();
    assert!(error.contains(r#"the auth-provider "gcp" is not supported"#) && !error.contains("SECRET"), "{error}");
}

#[tokio::test]
async fn a_kubeconfig_that_cannot_be_read_is_told_by_its_place_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("config");
    for (text, place) in [
        ("users:\n- name: u\n  user:\n    token: SECRET\n    exec: [\nclusters: []\n", "line 5, "),
        ("users:\n- name: u\n  user:\n    token: SECRET\n    exec: SECRET\n", "line "),
        ("users:\n- name: u\n  user: {token: [SECRET]}\n", "line "),
        ("SECRET", ""),
    ] {
        fs::write(&path, text).unwrap();
        let error = Connector::new(&Origin { kubeconfig: Some(path.clone()), context: None }).await.err().unwrap();
        let text = error.to_string();
        assert!(!format!("{text} {error:?}").contains("SECRET"), "{error:?}");
        assert!(text.starts_with(&format!("kubeconfig: {place}")) && text.ends_with("in YAML or JSON"), "{text}");
    }
}

/// A plugin that notes each run, and answers what is in `answer`.
fn noting(folder: &Path) -> serde_json::Value {
    let script = format!("cd {}; echo >> runs; cat answer", folder.display());
    serde_json::json!({"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": "sh", "args": ["-c", script],
        "interactiveMode": "Never"}})
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plugin_runs_once_for_each_client_and_never_at_a_request() {
    let folder = tempfile::tempdir().unwrap();
    let (path, answer) = (folder.path().join("config"), folder.path().join("answer"));
    let runs = || fs::read_to_string(folder.path().join("runs")).unwrap().lines().count();
    let credential = |token: &str, end: &str| {
        let status = serde_json::json!({"token": token, "expirationTimestamp": end});
        fs::write(&answer, serde_json::json!({"status": status}).to_string()).unwrap();
    };
    let request = || http::Request::get("/version").body(Vec::new()).unwrap();
    credential("first", "2001-01-01T00:00:00Z");
    let cluster = serde_json::json!({"server": "http://127.0.0.1:1"});
    let (connector, _) = prepared(&path, cluster, noting(folder.path())).await.unwrap();
    connector.current.lock().read = Instant::now() + KUBE_REFRESH_LEAST * 100;
    for _ in 0..3 {
        // Nothing listens there. The token has ended, and is asked for again after a while only.
        assert!(connector.client().await.request_text(request()).await.is_err());
        assert_eq!(runs(), 1);
    }
    let a_while_passes = || {
        connector.current.lock().read = Instant::now().checked_sub(KUBE_REFRESH_LEAST).unwrap();
    };
    let refreshed = || async {
        connector.client().await;
        let refresh = connector.current.lock().refresh.as_ref().map(|refresh| refresh.end.clone());
        refresh.unwrap().await;
    };
    a_while_passes();
    fs::write(&answer, "no answer").unwrap();
    refreshed().await;
    assert_eq!(runs(), 2, "one that fails leaves the token from before");
    a_while_passes();
    credential("second", "9999-01-01T00:00:00Z");
    refreshed().await;
    assert_eq!(runs(), 3);
    a_while_passes();
    for _ in 0..3 {
        assert!(connector.client().await.request_text(request()).await.is_err());
    }
    assert_eq!(runs(), 3, "a token that is good for long is kept");
}

#[test]
fn files_that_are_larger_than_any_are_refused_by_name_before_they_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    fs::File::create(path("large")).unwrap().set_len(1 << 30).unwrap();
    let large = path("large").display().to_string();
    let config = |of_cluster: &str, of_user: &str| {
        let cluster = format!("{{server: 'https://127.0.0.1:1', {of_cluster}}}");
        format!("clusters: [{{name: c, cluster: {cluster}}}]\nusers: [{{name: u, user: {{{of_user}}}}}]\n")
    };
    for (text, named) in [
        (config("", &format!("tokenFile: {large}")), "large"),
        (config("", "tokenFile: /dev/zero"), "zero"),
        (config("", &format!("client-key: {large}")), "large"),
        (config("", &format!("client-certificate: {large}")), "large"),
        (config(&format!("certificate-authority: {large}"), ""), "large"),
    ] {
        fs::write(path("config"), &text).unwrap();
        let error = merged(&[path("config")]).unwrap_err();
        assert!(matches!(&error, KubeconfigError::ReadConfig(_, file) if file.ends_with(named)), "{text}{error}");
    }
    assert!(matches!(merged(&[path("large")]), Err(KubeconfigError::ReadConfig(..))));
    // What is not there, or is empty, is found out where it is used.
    fs::write(path("config"), config("certificate-authority: /nowhere", "tokenFile: /dev/null")).unwrap();
    assert!(merged(&[path("config")]).is_ok());
}

#[test]
fn a_change_of_any_file_that_the_kubeconfig_names_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let kubeconfig = serde_json::json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "c",
        "clusters": [{"name": "c", "cluster": {"server": "https://127.0.0.1", "certificate-authority": "ca"}}],
        "users": [{"name": "u", "user": {"tokenFile": "token", "client-certificate": "cert", "client-key": "key"}}],
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
    });
    fs::write(path("kubeconfig"), kubeconfig.to_string()).unwrap();
    ["ca", "token", "cert"].iter().for_each(|name| fs::write(path(name), "1").unwrap());
    let mut files = Pinned {
        origin: Origin { kubeconfig: Some(path("kubeconfig")), context: None },
        source: Source::Kubeconfig,
        environment: Environment::default(),
    }
    .files();
    assert!(!files.have_changed());
    // One is replaced by a rename, as Kubernetes updates volumes; one appears; one goes.
    fs::write(path("new"), "2").unwrap();
    fs::rename(path("new"), path("token")).unwrap();
    assert!(files.have_changed());
    files.look();
    let changes: [&dyn Fn() -> io::Result<()>; 4] = [
        &|| fs::write(path("key"), "1"),
        &|| fs::remove_file(path("ca")),
        &|| fs::write(path("cert"), "another"),
        &|| fs::write(path("kubeconfig"), "{}"),
    ];
    for change in changes {
        assert!(!files.have_changed());
        change().unwrap();
        assert!(files.have_changed());
        files.look();
    }
}
