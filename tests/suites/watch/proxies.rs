//! Proxies between the sidecar and the API server, by the kubeconfig and by the environment, as kubectl has them.
//!
//! An API server on loopback is asked without the proxy of the environment. So those here have the name `api.invalid`, which only
//! the proxy knows, or the address 0.0.0.0, which is this machine and not loopback.

use std::fs;
use std::net::SocketAddr;
use std::process::Command;
use std::sync::{Arc, Mutex};

use nodesift_tests::apiserver::ApiServer;
use nodesift_tests::http::get;
use nodesift_tests::machine::beside_others;
use nodesift_tests::sidecar::Sidecar;
use nodesift_tests::timeout;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::ServerConfig;
use rustls::pki_types::PrivateKeyDer;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Runtime;
use tokio_rustls::TlsAcceptor;

use crate::oracle;
use crate::world::{command, fill};

const NAME: &str = "api.invalid:6443";

/// Answer of a proxy to `CONNECT`.
const CONNECTED: &str = "HTTP/1.1 200 Connection established\r\n\r\n";

/// An API server behind a proxy, which serves until it is dropped. The proxy leads to the server whatever it is asked for, and has
/// the server's end of TLS, which the server itself does not have.
struct Behind {
    server: ApiServer,
    proxy: SocketAddr,
    /// The heads of the requests to the proxy.
    asked: Arc<Mutex<Vec<String>>>,
    /// With the kubeconfig and the authority of the server's certificate.
    folder: TempDir,
    _runtime: Runtime,
}

impl Behind {
    fn start(answer: &'static str) -> Self {
        let server = ApiServer::start();
        fill(&server, 3, 2);
        let folder = tempfile::tempdir().unwrap();
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let authority = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        fs::write(folder.path().join("ca.pem"), authority.pem()).unwrap();
        let key = KeyPair::generate().unwrap();
        let certificate =
            CertificateParams::new(["api.invalid".to_owned()]).unwrap().signed_by(&key, &authority).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
        let key = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
        let config = builder.with_no_client_auth().with_single_cert(vec![certificate.der().clone()], key).unwrap();
        let tls = TlsAcceptor::from(Arc::new(config));

        let runtime = Runtime::new().unwrap();
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
        let (proxy, asked) = (listener.local_addr().unwrap(), Arc::default());
        let (to, heads) = (address(&server), Arc::clone(&asked));
        runtime.spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(lead(stream, to, tls.clone(), answer, Arc::clone(&heads)));
            }
        });
        Self { server, proxy, asked, folder, _runtime: runtime }
    }

    /// Starts a sidecar with a kubeconfig with these fields of the cluster, and with this environment.
    fn launch(&self, cluster: &Value, environment: &[(&str, &str)]) -> Sidecar {
        let config = json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "c",
            "clusters": [{"name": "k", "cluster": cluster}],
            "users": [{"name": "u", "user": {"token": "of-the-server"}}],
            "contexts": [{"name": "c", "context": {"cluster": "k", "user": "u"}}],
        });
        let path = self.folder.path().join("kubeconfig");
        fs::write(&path, config.to_string()).unwrap();
        let mut command = without_proxies(command());
        command.envs(environment.iter().copied());
        Sidecar::launch(command, &["--kubeconfig", path.to_str().unwrap()])
    }

    fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }

    /// Asserts that the sidecar follows the server through the proxy, and that the proxy gets its own credentials alone.
    fn is_followed_through_the_proxy(&self, sidecar: &Sidecar) {
        sidecar.wait_until_ready();
        oracle::converges(&self.server, sidecar);
        let asked = self.asked();
        assert!(!asked.is_empty());
        for head in asked {
            assert!(head.starts_with(&format!("CONNECT {NAME} HTTP/1.1\r\n")), "{head}");
            // Base64 of `us:pa@ss`.
            assert!(head.contains("Proxy-Authorization: Basic dXM6cGFAc3M=\r\n"), "{head}");
            assert!(!head.contains("of-the-server"), "{head}");
        }
        assert_eq!(self.server.count(|request| request.token != "of-the-server"), 0);
        assert!(!sidecar.output().contains("pa@ss") && !sidecar.output().contains("pa%40ss"), "{}", sidecar.output());
    }
}

/// One connection to the proxy.
async fn lead(
    mut stream: TcpStream,
    to: SocketAddr,
    tls: TlsAcceptor,
    answer: &'static str,
    heads: Arc<Mutex<Vec<String>>>,
) -> Option<()> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.ok()?);
    }
    heads.lock().unwrap().push(String::from_utf8_lossy(&head).into_owned());
    stream.write_all(answer.as_bytes()).await.ok()?;
    if answer != CONNECTED {
        return None;
    }
    let mut stream = tls.accept(stream).await.ok()?;
    let mut server = TcpStream::connect(to).await.ok()?;
    copy_bidirectional(&mut stream, &mut server).await.ok()?;
    Some(())
}

/// The address of a server, as its kubeconfig has it.
fn address(server: &ApiServer) -> SocketAddr {
    let config: Value = serde_json::from_slice(&fs::read(server.kubeconfig()).unwrap()).unwrap();
    let url = config["clusters"][0]["cluster"]["server"].as_str().unwrap();
    url.trim_start_matches("http://").parse().unwrap()
}

/// A command without the proxies of this process's environment.
fn without_proxies(mut command: Command) -> Command {
    for name in ["HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY"] {
        command.env_remove(name).env_remove(name.to_lowercase());
    }
    command
}

#[test]
fn the_proxy_url_of_a_kubeconfig_leads_to_the_server_whatever_the_environment_says() {
    let _beside = beside_others();
    let behind = Behind::start(CONNECTED);
    let cluster = json!({"server": format!("https://{NAME}"), "certificate-authority": "ca.pem",
        "proxy-url": format!("http://us:pa%40ss@{}", behind.proxy)});
    let sidecar = behind.launch(&cluster, &[("HTTPS_PROXY", "http://127.0.0.1:1"), ("NO_PROXY", "*")]);
    behind.is_followed_through_the_proxy(&sidecar);
}

#[test]
fn the_https_proxy_of_the_environment_leads_to_a_server_that_no_proxy_does_not_list() {
    let _beside = beside_others();
    let behind = Behind::start(CONNECTED);
    let cluster = json!({"server": format!("https://{NAME}"), "certificate-authority": "ca.pem"});
    let proxy = format!("us:pa%40ss@{}", behind.proxy);
    let environment =
        [("HTTPS_PROXY", &*proxy), ("HTTP_PROXY", "http://127.0.0.1:1"), ("NO_PROXY", "api.invalid:443,127.0.0.0/8")];
    let sidecar = behind.launch(&cluster, &environment);
    behind.is_followed_through_the_proxy(&sidecar);
}

#[test]
fn a_server_that_no_proxy_lists_is_asked_directly() {
    let _beside = beside_others();
    let behind = Behind::start(CONNECTED);
    let port = address(&behind.server).port();
    let cluster = json!({"server": format!("http://0.0.0.0:{port}")});
    let proxy = format!("http://{}", behind.proxy);
    for no_proxy in ["example.com, 0.0.0.0/8", &format!("0.0.0.0:{port}"), "*"] {
        let environment = [("http_proxy", &*proxy), ("https_proxy", &*proxy), ("no_proxy", no_proxy)];
        let sidecar = behind.launch(&cluster, &environment);
        sidecar.wait_until_ready();
        oracle::converges(&behind.server, &sidecar);
        assert_eq!(behind.asked(), Vec::<String>::new(), "{no_proxy}");
    }
}

#[test]
fn a_proxy_that_refuses_is_named_with_what_it_says() {
    let _beside = beside_others();
    let behind = Behind::start("HTTP/1.1 403 Not by these rules\r\ncontent-length: 4\r\n\r\nPAGE");
    let cluster = json!({"server": format!("https://{NAME}"), "certificate-authority": "ca.pem",
        "proxy-url": format!("http://us:pa%40ss@{}", behind.proxy)});
    let sidecar = behind.launch(&cluster, &[]);
    let said = format!(
        "through the proxy http://{}/: it does not connect to the API server: 403 Not by these rules",
        behind.proxy
    );
    timeout::until(|| sidecar.output().contains(&said).then_some(()))
        .expect("the log says what the proxy has answered");
    let ready = get(&sidecar.unix(), "/readyz").unwrap();
    assert!(ready.status == 503 && ready.body.contains(&said), "{}: {}", ready.status, ready.body);
    let output = sidecar.output();
    assert!(!output.contains("pa@ss") && !output.contains("pa%40ss") && !output.contains("PAGE"), "{output}");
    assert_eq!(behind.server.requests().len(), 0);
}
