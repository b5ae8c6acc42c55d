//! A grid of one machine: an authority, certificates and proxies that it or its users signed (by `openssl`), and
//! XRootD's own server that asks for them.

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use sapwood_testkit::{Scratch, scratch};

/// `daemon`, everywhere: the server refuses to be run by root.
const ACCOUNT: u32 = 1;
const NAME: &str = "/DC=org/DC=sapwood";

/// A folder with an authority and what it signed.
pub struct Grid {
    place: Scratch,
}

/// Kinds of proxies.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Proxy {
    Rfc3820,
    Limited,
    Legacy,
}

impl Grid {
    /// Creates `server.pem` and `client.pem`, their keys, and the authority in the folder `ca`. Returns nothing if a
    /// program is missing, which is an error in CI.
    pub fn new() -> Option<Self> {
        for (program, package) in [("xrootd", "xrootd-server"), ("openssl", "openssl"), ("xrdcp", "xrootd-client")] {
            if !has(program) {
                return missing(&format!("no {program} here (Debian: {package})"));
            }
        }
        let plugin = ["/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib", "/usr/lib64"];
        if !plugin.iter().any(|dir| Path::new(dir).join("libXrdSecgsi-5.so").exists()) {
            return missing("no libXrdSecgsi here (Debian: xrootd-plugins)");
        }
        let grid = Self { place: scratch("grid") };
        for folder in ["ca", "data", "admin", "run"] {
            fs::create_dir_all(grid.path(folder)).expect("the machine works");
        }
        grid.authority("ca", "Authority");
        grid.trust("ca", "ca");
        let host = "subjectAltName=IP:127.0.0.1,DNS:localhost\nbasicConstraints=CA:FALSE\n";
        grid.certificate("server", "ca", host);
        grid.certificate("client", "ca", "basicConstraints=CA:FALSE\nkeyUsage=digitalSignature,keyEncipherment\n");
        grid.certificate("other", "ca", "subjectAltName=DNS:elsewhere.example.org\nbasicConstraints=CA:FALSE\n");
        Some(grid)
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.place.join(name)
    }

    fn openssl(&self, arguments: &str) -> String {
        let done = Command::new("openssl")
            .args(words(arguments))
            .current_dir(&*self.place)
            .output()
            .expect("the machine works");
        assert!(done.status.success(), "openssl {arguments}: {}", String::from_utf8_lossy(&done.stderr));
        String::from_utf8_lossy(&done.stdout).trim().to_owned()
    }

    /// An authority that signed itself.
    pub fn authority(&self, file: &str, name: &str) {
        self.openssl(&format!(
            "req -x509 -newkey rsa:2048 -nodes -days 2 -subj '{NAME}/CN={name}' -keyout {file}.key -out {file}.pem"
        ));
        fs::write(
            self.path(&format!("{file}.cnf")),
            format!("[ca]\ndefault_ca=d\n[d]\ndatabase={file}.index\ncrlnumber={file}.number\ndefault_md=sha256\n"),
        )
        .expect("the machine works");
        fs::write(self.path(&format!("{file}.index")), "").expect("the machine works");
        fs::write(self.path(&format!("{file}.number")), "01\n").expect("the machine works");
    }

    fn hash(&self, authority: &str) -> String {
        self.openssl(&format!("x509 -in {authority}.pem -noout -subject_hash"))
    }

    /// Puts an authority into a folder, under its hash.
    pub fn trust(&self, authority: &str, folder: &str) {
        fs::create_dir_all(self.path(folder)).expect("the machine works");
        let name = format!("{folder}/{}.0", self.hash(authority));
        fs::copy(self.path(&format!("{authority}.pem")), self.path(&name)).expect("the machine works");
    }

    /// A certificate of this name and its key.
    pub fn certificate(&self, name: &str, authority: &str, extensions: &str) {
        fs::write(self.path("extensions"), extensions).expect("the machine works");
        self.openssl(&format!(
            "req -newkey rsa:2048 -nodes -subj '{NAME}/CN={name}' -keyout {name}.key -out {name}.csr"
        ));
        self.openssl(&format!(
            "x509 -req -in {name}.csr -CA {authority}.pem -CAkey {authority}.key -CAcreateserial -days 2 \
             -extfile extensions -out {name}.pem"
        ));
        self.private(&format!("{name}.key"));
    }

    /// A proxy that a certificate, or another proxy, signed: a file with the proxy, its key, and the chain.
    pub fn proxy(&self, name: &str, signer: &str, kind: Proxy, days: i32) -> PathBuf {
        let language = match kind {
            Proxy::Limited => "1.3.6.1.4.1.3536.1.1.1.9",
            _ => "id-ppl-inheritAll",
        };
        let extensions = match kind {
            Proxy::Legacy => String::new(),
            _ => format!("proxyCertInfo=critical,language:{language}\n"),
        };
        fs::write(self.path("extensions"), format!("{extensions}keyUsage=critical,digitalSignature\n"))
            .expect("the machine works");
        let subject = self.openssl(&format!("x509 -in {signer}.pem -noout -subject -nameopt compat"));
        let subject = subject.trim_start_matches("subject=").trim();
        let own = if kind == Proxy::Legacy { "proxy".to_owned() } else { format!("{}", 1_000 + name.len()) };
        self.openssl(&format!(
            "req -newkey rsa:2048 -nodes -subj '{subject}/CN={own}' -keyout {name}.key -out {name}.csr"
        ));
        self.openssl(&format!(
            "x509 -req -in {name}.csr -CA {signer}.pem -CAkey {signer}.key -CAcreateserial -days {days} \
             -extfile extensions -out {name}.crt"
        ));
        let read = |file: String| fs::read_to_string(self.path(&file)).expect("the machine works");
        let chain: String =
            pieces(&read(format!("{signer}.pem"))).filter(|piece| piece.contains("CERTIFICATE")).collect();
        let text = [read(format!("{name}.crt")), read(format!("{name}.key")), chain].concat();
        fs::write(self.path(&format!("{name}.pem")), text).expect("the machine works");
        self.private(&format!("{name}.pem"));
        self.path(&format!("{name}.pem"))
    }

    /// Lists a certificate as revoked, in a folder.
    pub fn revoke(&self, certificate: &str, authority: &str, folder: &str) {
        let by = format!("ca -config {authority}.cnf -cert {authority}.pem -keyfile {authority}.key");
        self.openssl(&format!("{by} -revoke {certificate}.pem"));
        self.openssl(&format!("{by} -gencrl -crldays 2 -out {folder}/{}.r0", self.hash(authority)));
    }

    pub fn private(&self, file: &str) {
        fs::set_permissions(self.path(file), fs::Permissions::from_mode(0o600)).expect("the machine works");
    }

    /// XRootD's server, whose own certificate is `certificate`, and which trusts those of the folder `trusts`.
    pub fn serve(&self, certificate: &str, trusts: &str, more: &str) -> Server {
        let port = TcpListener::bind("127.0.0.1:0")
            .expect("the machine works")
            .local_addr()
            .expect("the machine works")
            .port();
        let here = self.place.display();
        let config = format!(
            "all.export /\noss.localroot {here}/data\nxrd.port {port}\nxrd.network nodnr\n\
             all.adminpath {here}/admin\nall.pidpath {here}/run\nxrd.allow host localhost\nxrd.allow host 127.0.0.1\n\
             xrootd.seclib libXrdSec.so\nsec.protocol gsi -certdir:{here}/{trusts} -cert:{here}/{certificate}.pem \
             -key:{here}/{certificate}.key -crl:1 -gmapopt:0 -vomsat:0 {}\nsec.protbind * only gsi\n{}",
            more.lines().next().unwrap_or_default(),
            more.lines().skip(1).map(|line| line.replace("@", &here.to_string()) + "\n").collect::<String>(),
        );
        let file = self.path(&format!("{port}.cfg"));
        fs::write(&file, config).expect("the machine works");
        let log = self.path(&format!("{port}.log"));
        let mut command = Command::new("xrootd");
        command.arg("-c").arg(&file).arg("-l").arg(&log).args(["-n", &port.to_string(), "-I", "v4"]);
        if is_root() {
            self.give_away(&self.place);
            command.uid(ACCOUNT).gid(ACCOUNT);
        }
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).current_dir(&*self.place);
        let server = Server { child: child.spawn().expect("the machine works"), port };
        self.wait_for(port, &self.path(&format!("{port}/{port}.log")));
        server
    }

    /// OpenSSL's own server over TLS: it serves whom it knows, and takes proxies.
    pub fn serve_https(&self, body: &[u8], clients: Clients) -> Server {
        let head = format!("HTTP/1.0 200 OK\r\nContent-Length: {}\r\nETag: \"1\"\r\n\r\n", body.len());
        fs::write(self.path("data/data.root"), [head.as_bytes(), body].concat()).expect("the machine works");
        let port = TcpListener::bind("127.0.0.1:0")
            .expect("the machine works")
            .local_addr()
            .expect("the machine works")
            .port();
        let verify = match clients {
            Clients::NeedCertificate => "-Verify",
            Clients::MayHaveCertificate => "-verify",
        };
        let arguments = format!(
            "s_server -accept 127.0.0.1:{port} -cert ../server.pem -key ../server.key -CAfile ../ca.pem {verify} 5 \
             -verify_return_error -allow_proxy_certs -HTTP"
        );
        let mut command = Command::new("openssl");
        command.args(words(&arguments)).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let server = Server { child: command.current_dir(self.path("data")).spawn().expect("the machine works"), port };
        self.wait_for(port, &self.path("none"));
        server
    }

    fn wait_for(&self, port: u16, log: &Path) {
        let until = Instant::now() + Duration::from_secs(30);
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            let log = || fs::read_to_string(log).unwrap_or_default();
            assert!(Instant::now() < until, "the server does not run: {}", log());
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Files of an earlier server may go away meanwhile.
    fn give_away(&self, path: &Path) {
        let _ = chown(path, Some(ACCOUNT), Some(ACCOUNT));
        for entry in fs::read_dir(path).into_iter().flatten().flatten() {
            self.give_away(&entry.path());
        }
        // Folders above have to let the server through.
        if let Some(above) = path.parent().filter(|_| path == &*self.place) {
            fs::set_permissions(above, fs::Permissions::from_mode(0o755)).expect("the machine works");
        }
    }
}

/// Whom a server of https lets in. A certificate that is shown has to be good.
#[derive(Clone, Copy)]
pub enum Clients {
    NeedCertificate,
    MayHaveCertificate,
}

/// A server that runs until this is dropped.
pub struct Server {
    child: Child,
    pub port: u16,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn has(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|dir| dir.join(program).is_file())
}

/// Skips by name, and fails where CI should have it.
fn missing<T>(words: &str) -> Option<T> {
    assert!(std::env::var("CI").as_deref() != Ok("true"), "{words}");
    eprintln!("skipped: {words}");
    None
}

fn is_root() -> bool {
    fs::metadata("/proc/self").is_ok_and(|found| std::os::unix::fs::MetadataExt::uid(&found) == 0)
}

/// Words of a command, some of them in quotes.
fn words(text: &str) -> Vec<String> {
    let quoted = |(number, part): (usize, &str)| match number % 2 {
        1 => vec![part.to_owned()],
        _ => part.split_whitespace().map(str::to_owned).collect(),
    };
    text.split('\'').enumerate().flat_map(quoted).collect()
}

/// The parts of a PEM file.
fn pieces(text: &str) -> impl Iterator<Item = String> {
    text.split_inclusive("-----\n").collect::<Vec<_>>().chunks(2).map(<[&str]>::concat).collect::<Vec<_>>().into_iter()
}
