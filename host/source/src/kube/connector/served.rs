//! Connections over real sockets of loopback, to a server with TLS and through proxies.

use std::fs;
use std::net::SocketAddr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::ServerConfig;
use rustls::pki_types::PrivateKeyDer;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;

use super::*;

/// A name that no resolver knows.
const NAME: &str = "api.invalid";

/// Requests that a server or a proxy has received.
type Asked = Arc<Mutex<Vec<String>>>;

/// A server with TLS, and the certificates that lead to it.
struct Served {
    folder: TempDir,
    tls: TlsAcceptor,
    address: SocketAddr,
    asked: Asked,
}

fn authority() -> CertifiedIssuer<'static, KeyPair> {
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
}

fn names() -> CertificateParams {
    CertificateParams::new(["127.0.0.1", "localhost", NAME].map(str::to_owned)).unwrap()
}

impl Served {
    /// With a certificate that an authority has signed; `ca` is the authority's.
    async fn start() -> Self {
        let (authority, key) = (authority(), KeyPair::generate().unwrap());
        let certificate = names().signed_by(&key, &authority).unwrap();
        Self::with(&certificate, &key, &authority.pem()).await
    }

    async fn with(certificate: &rcgen::Certificate, key: &KeyPair, ca: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("ca"), ca).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
        let key = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
        let config = builder.with_no_client_auth().with_single_cert(vec![certificate.der().clone()], key).unwrap();
        let tls = TlsAcceptor::from(Arc::new(config));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (address, asked) = (listener.local_addr().unwrap(), Asked::default());
        let (of_task, heads) = (tls.clone(), Arc::clone(&asked));
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                // A client that does not like the certificate leaves.
                let Ok(mut stream) = of_task.accept(stream).await else { continue };
                let head = head(&mut stream).await;
                heads.lock().push(head);
                let _ =
                    stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\nconnection: close\r\n\r\nfine").await;
                let _ = stream.shutdown().await;
            }
        });
        Self { folder, tls, address, asked }
    }

    /// Returns the response, or the error, of a client prepared from a kubeconfig with these fields of the cluster and the user.
    async fn answer(&self, cluster: &Value, user: &Value, environment: Environment) -> Result<String, String> {
        let mut of_cluster = json!({"certificate-authority": "ca"});
        of_cluster.as_object_mut().unwrap().extend(cluster.as_object().unwrap().clone());
        let config = json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "c",
            "clusters": [{"name": "k", "cluster": of_cluster}, {"name": "k", "cluster": {"proxy-url": "http://other.invalid"}}],
            "users": [{"name": "u", "user": user}],
            "contexts": [{"name": "c", "context": {"cluster": "k", "user": "u"}}],
        });
        let path = self.folder.path().join("config");
        fs::write(&path, config.to_string()).unwrap();
        let origin = Origin { kubeconfig: Some(path), context: None };
        let pinned = Pinned { origin, source: Source::Kubeconfig, environment };
        let prepared = prepare(&pinned, &Arc::new(Semaphore::new(1))).await;
        let Prepared { client, .. } = prepared.map_err(|error| error.to_string())?;
        let request = http::Request::get("/version").body(Vec::new()).unwrap();
        client.request_text(request).await.map_err(|error| format!("{error:?}"))
    }

    fn by_address(&self) -> String {
        format!("https://{}", self.address)
    }
}

/// The head of a request.
async fn head(stream: &mut (impl AsyncRead + Unpin)) -> String {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let Ok(byte) = stream.read_u8().await else { break };
        head.push(byte);
    }
    String::from_utf8_lossy(&head).into_owned()
}

/// A proxy that leads everywhere to one server. Its own protocol is in `speak`, which tells what was asked.
async fn proxy<S, F>(served: &Served, speak: impl Fn(TcpStream) -> F + Send + Sync + 'static) -> (SocketAddr, Asked)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    F: Future<Output = Option<(S, String)>> + Send + 'static,
{
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (address, asked, to) = (listener.local_addr().unwrap(), Asked::default(), served.address);
    let heads = Arc::clone(&asked);
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let Some((mut stream, head)) = speak(stream).await else { continue };
            heads.lock().push(head);
            let mut server = TcpStream::connect(to).await.unwrap();
            let _ = copy_bidirectional(&mut stream, &mut server).await;
        }
    });
    (address, asked)
}

async fn connect<S: AsyncRead + AsyncWrite + Unpin>(mut stream: S) -> Option<(S, String)> {
    let asked = head(&mut stream).await;
    stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await.ok()?;
    Some((stream, asked))
}

async fn socks(mut stream: TcpStream) -> Option<(TcpStream, String)> {
    let mut greeting = [0; 3];
    stream.read_exact(&mut greeting).await.ok()?;
    stream.write_all(&[5, 0]).await.ok()?;
    let mut request = [0; 5];
    stream.read_exact(&mut request).await.ok()?;
    let mut name = vec![0; usize::from(request[4]) + 2];
    stream.read_exact(&mut name).await.ok()?;
    stream.write_all(&[5, 0, 0, 1, 0, 0, 0, 0, 0, 0]).await.ok()?;
    name.truncate(name.len() - 2);
    Some((stream, String::from_utf8_lossy(&name).into_owned()))
}

#[tokio::test(flavor = "multi_thread")]
async fn the_proxy_of_the_environment_leads_to_servers_that_are_not_on_loopback() {
    let served = Served::start().await;
    let (address, asked) = proxy(&served, connect).await;
    let environment = |no: &str| Environment {
        https: format!("us%3Aer:pass@{address}"),
        http: "http://127.0.0.1:1".to_owned(),
        no_proxy: no.to_owned(),
    };
    let named = json!({"server": format!("https://{NAME}:6443")});
    let user = json!({"token": "secret"});
    assert_eq!(served.answer(&named, &user, environment("example.com")).await.as_deref(), Ok("fine"));
    let head = asked.lock().pop().unwrap();
    assert!(head.starts_with(&format!("CONNECT {NAME}:6443 HTTP/1.1\r\n")), "{head}");
    // Base64 of `us:er:pass`.
    assert!(head.contains("Proxy-Authorization: Basic dXM6ZXI6cGFzcw==\r\n"), "{head}");
    let request = served.asked.lock().pop().unwrap();
    assert!(request.to_lowercase().contains("authorization: bearer secret"), "{request}");
    assert!(request.contains("nodesift/") && !request.to_lowercase().contains("proxy-authorization"), "{request}");

    let local = json!({"server": served.by_address()});
    assert_eq!(served.answer(&local, &user, environment("")).await.as_deref(), Ok("fine"));
    assert_eq!(served.answer(&named, &user, environment(NAME)).await.map_err(drop), Err(()));
    assert_eq!(*asked.lock(), Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_proxy_of_a_kubeconfig_comes_first_and_no_proxy_does_not_apply_to_it() {
    let served = Served::start().await;
    let environment = || Environment {
        https: "http://127.0.0.1:1".to_owned(),
        http: "http://127.0.0.1:1".to_owned(),
        no_proxy: "*,".to_owned(),
    };
    let tls = served.tls.clone();
    let (plain, asked_plain) = proxy(&served, connect).await;
    let (secure, asked_secure) = proxy(&served, move |stream| {
        let accepted = tls.accept(stream);
        async move { connect(accepted.await.ok()?).await }
    })
    .await;
    let (socks, asked_socks) = proxy(&served, socks).await;
    let asked_all = [("http", plain, asked_plain), ("https", secure, asked_secure), ("socks5", socks, asked_socks)];
    for (scheme, address, asked) in asked_all {
        let cluster = json!({"server": format!("https://localhost:{}", served.address.port()),
            "proxy-url": format!("{scheme}://{address}")});
        assert_eq!(served.answer(&cluster, &json!({}), environment()).await.as_deref(), Ok("fine"), "{scheme}");
        let asked = asked.lock();
        assert!(asked.len() == 1 && asked[0].contains("localhost"), "{asked:?}");
    }
    for (url, part) in [("ftp://proxy", "proxy-url"), ("http://us er@proxy", "proxy-url")] {
        let cluster = json!({"server": served.by_address(), "proxy-url": url});
        let error = served.answer(&cluster, &json!({}), environment()).await.unwrap_err();
        assert!(error.contains(part), "{error}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_proxy_of_a_server_without_tls_is_sent_the_requests_themselves() {
    let served = Served::start().await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let asked = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let head = head(&mut stream).await;
        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nfine").await.unwrap();
        head
    });
    let cluster = json!({"server": format!("http://{NAME}/prefix")});
    let environment = Environment { http: format!("us:pass@{address}"), ..Environment::default() };
    assert_eq!(served.answer(&cluster, &json!({}), environment).await.as_deref(), Ok("fine"));
    let head = asked.await.unwrap();
    assert!(head.starts_with(&format!("GET http://{NAME}/prefix/version HTTP/1.1\r\n")), "{head}");
    assert!(head.to_lowercase().contains(&format!("\r\nhost: {NAME}\r\n")), "{head}");
    // Base64 of `us:pass`.
    assert!(head.contains("\r\nproxy-authorization: Basic dXM6cGFzcw==\r\n"), "{head}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_credential_plugin_is_told_the_proxy_of_the_kubeconfig() {
    let served = Served::start().await;
    let (address, _) = proxy(&served, connect).await;
    let path = served.folder.path().join("told");
    let script = format!(
        r#"printf %s "$KUBERNETES_EXEC_INFO" >{}; printf '{{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{{"token":"t"}}}}'"#,
        path.display()
    );
    let user = json!({"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": "sh", "args": ["-c", script],
        "interactiveMode": "Never", "provideClusterInfo": true}});
    for proxy in [Some(format!("http://{address}")), None] {
        let cluster = json!({"server": served.by_address(), "proxy-url": proxy});
        assert_eq!(served.answer(&cluster, &user, Environment::default()).await.as_deref(), Ok("fine"));
        let told: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        assert_eq!(told["spec"]["cluster"]["proxy-url"].as_str(), proxy.as_deref(), "{told}");
    }
}

/// A certificate that an authority has signed which the client does not have, with changes.
async fn signed_by_unknown_authority(change: impl FnOnce(&mut CertificateParams)) -> Served {
    let (authority, key) = (authority(), KeyPair::generate().unwrap());
    let mut params = names();
    change(&mut params);
    let certificate = params.signed_by(&key, &authority).unwrap();
    Served::with(&certificate, &key, &certificate.pem()).await
}

#[tokio::test(flavor = "multi_thread")]
async fn the_servers_own_certificate_is_as_good_as_that_of_its_authority() {
    let served = signed_by_unknown_authority(|_| {}).await;
    let answer = |served: Served, cluster: Value| async move {
        served.answer(&cluster, &json!({}), Environment::default()).await
    };
    let cluster = json!({"server": served.by_address()});
    assert_eq!(answer(served, cluster).await.as_deref(), Ok("fine"));

    // As `openssl req -x509` makes it: its own authority.
    let key = KeyPair::generate().unwrap();
    let mut params = names();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let certificate = params.self_signed(&key).unwrap();
    let served = Served::with(&certificate, &key, &certificate.pem()).await;
    let cluster = json!({"server": served.by_address()});
    assert_eq!(answer(served, cluster).await.as_deref(), Ok("fine"));

    // Among others, and with `tls-server-name`.
    let served = signed_by_unknown_authority(|_| {}).await;
    let ca = served.folder.path().join("ca");
    fs::write(&ca, authority().pem() + &fs::read_to_string(&ca).unwrap()).unwrap();
    let cluster = json!({"server": served.by_address(), "tls-server-name": NAME});
    assert_eq!(answer(served, cluster).await.as_deref(), Ok("fine"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_servers_own_certificate_must_be_the_listed_one_for_its_name_for_servers_and_valid_now() {
    let refused = |served: Served, more: Value| async move {
        let mut cluster = json!({"server": served.by_address()});
        cluster.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let error = served.answer(&cluster, &json!({}), Environment::default()).await.unwrap_err();
        assert_eq!(*served.asked.lock(), Vec::<String>::new());
        error
    };
    let other = signed_by_unknown_authority(|_| {}).await;
    let served = signed_by_unknown_authority(|_| {}).await;
    fs::copy(other.folder.path().join("ca"), served.folder.path().join("ca")).unwrap();
    let error = refused(served, json!({})).await;
    // The other one may be taken for its authority, by its name.
    assert!(["UnknownIssuer", "BadSignature"].iter().any(|words| error.contains(words)), "{error}");

    let served = signed_by_unknown_authority(|_| {}).await;
    let error = refused(served, json!({"tls-server-name": "other.invalid"})).await;
    assert!(error.contains("NotValidForName"), "{error}");

    let served = signed_by_unknown_authority(|params| params.not_after = rcgen::date_time_ymd(2020, 1, 1)).await;
    assert!(refused(served, json!({})).await.contains("Expired"));

    let served = signed_by_unknown_authority(|params| params.not_before = rcgen::date_time_ymd(4000, 1, 1)).await;
    assert!(refused(served, json!({})).await.contains("NotValidYet"));

    let clients = vec![rcgen::ExtendedKeyUsagePurpose::ClientAuth];
    let served = signed_by_unknown_authority(|params| params.extended_key_usages = clients).await;
    let error = refused(served, json!({})).await;
    assert!(error.contains("InvalidPurpose"), "{error}");
}

/// A certificate of version 1, as `openssl x509 -req` makes it without extensions.
const OF_VERSION_1: &str = "-----BEGIN CERTIFICATE-----\n\
    MIIBHjCBxQIUfRH6gjZ9plsWXnPrmHfGTwnzi5QwCgYIKoZIzj0EAwIwETEPMA0G\n\
    A1UEAwwGY2xpZW50MCAXDTI2MTEyOTEwMjcyMFoYDzIxMjYxMTA1MTAyNzIwWjAR\n\
    MQ8wDQYDVQQDDAZjbGllbnQwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAAQiR/f/\n\
    0zp9f1gvACNllmkU/Uohvpxp9wFOZHAJMaKxsTzfKw2KTRiP0zxtRSdfSu/RqM/+\n\
    wClJ3S9v1R+Jccq7MAoGCCqGSM49BAMCA0gAMEUCIQDWs3GcINiPORScsZs7bYaU\n\
    PmKOV/mbXmhbDy3sFW0GQAIgEMSoWlFJCJIQwlRrGL0DvXX71n52+81Jb7gIg4uf\n\
    uuo=\n\
    -----END CERTIFICATE-----\n";

#[tokio::test(flavor = "multi_thread")]
async fn a_client_has_a_certificate_of_version_1_by_file_or_in_the_kubeconfig() {
    let served = Served::start().await;
    // Any key: that of such a certificate is not compared, and this server does not ask for it.
    let key = KeyPair::generate().unwrap().serialize_pem();
    fs::write(served.folder.path().join("cert"), OF_VERSION_1).unwrap();
    fs::write(served.folder.path().join("key"), &key).unwrap();
    let (certificate, key) = (STANDARD.encode(OF_VERSION_1), STANDARD.encode(key));
    let cluster = json!({"server": served.by_address()});
    for user in [
        json!({"client-certificate": "cert", "client-key": "key"}),
        json!({"client-certificate-data": certificate, "client-key-data": key}),
    ] {
        assert_eq!(served.answer(&cluster, &user, Environment::default()).await.as_deref(), Ok("fine"), "{user}");
    }
    // A key of another certificate is refused at once where it can be seen.
    let (other, its_key) = (signed_by_unknown_authority(|_| {}).await, KeyPair::generate().unwrap().serialize_pem());
    let user =
        json!({"client-certificate": other.folder.path().join("ca"), "client-key-data": STANDARD.encode(its_key)});
    let error = served.answer(&cluster, &user, Environment::default()).await.unwrap_err();
    assert!(error.contains("invalid private key"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_credential_plugin_that_is_missing_is_named_with_how_to_install_it() {
    let served = Served::start().await;
    let error = |hint: Option<&'static str>| {
        let exec = json!({"apiVersion": "client.authentication.k8s.io/v1", "command": "no-such-plugin",
            "interactiveMode": "Never", "installHint": hint});
        let (served, cluster) = (&served, json!({"server": served.by_address()}));
        async move { served.answer(&cluster, &json!({"exec": exec}), Environment::default()).await.unwrap_err() }
    };
    let text =
        r#"kubeconfig: the credential plugin "no-such-plugin" was not found: No such file or directory (os error 2)"#;
    assert_eq!(error(None).await, text);
    assert_eq!(error(Some("brew install\nit\n")).await, format!("{text}; to install it: brew install it"));
}
