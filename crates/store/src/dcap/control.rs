//! The control connection: lines of text between a client and a door.

use std::time::{Duration, Instant};

use sapwood::{Error, ErrorKind};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::url::DcapUrl;
use crate::net::RequestError;

/// The longest line that is accepted.
const LINE_BYTES: u64 = 16 << 10;
/// A door that says so many other things first never answers.
const LINES: usize = 1_000;
/// So many times the time-out may it say them.
const TIMES: u32 = 20;
/// The version of the C library whose protocol this is: doors let clients in by it.
const VERSION: &str = "2 47 14";
const STAT: &str = "1";
/// The number of the session in which the file is open.
pub(super) const OPEN: i32 = 2;

/// What a door tells of a file, and where it is to be had.
#[derive(Debug)]
pub(super) struct Leave {
    /// Length, time of change and number of the file, where the door tells.
    pub(super) stat: Option<Stat>,
    pub(super) pool: (String, u16),
    pub(super) challenge: String,
    /// A round trip.
    pub(super) latency: Duration,
}

/// What is known of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Stat {
    pub(super) len: u64,
    /// Time of change and number.
    pub(super) stamp: String,
}

/// A connection to a door. The file is closed when it ends.
#[derive(Debug)]
pub(super) struct ControlConnection {
    stream: BufReader<TcpStream>,
    name: String,
    patience: Duration,
}

/// Connects to a host.
pub(super) async fn connect(host: &str, port: u16, name: &str, patience: Duration) -> Result<TcpStream, RequestError> {
    let none =
        |error| RequestError::later(Error::new(ErrorKind::Io, format!("no connection to {name}")).because(error));
    let stream = timeout(patience, TcpStream::connect((host, port))).await;
    let stream = stream.map_err(|_| RequestError::late(name, patience))?.map_err(none)?;
    stream.set_nodelay(true).map_err(none)?;
    Ok(stream)
}

impl ControlConnection {
    /// Has a door open a file for reading, by a client that connects to the pool.
    pub(super) async fn open(place: &DcapUrl, patience: Duration) -> Result<(Self, Leave), RequestError> {
        let name = place.door();
        let stream = connect(&place.host, place.port, &name, patience).await?;
        let mut door = Self { stream: BufReader::new(stream), name, patience };
        let (uid, gid) = (rustix::process::getuid().as_raw(), rustix::process::getgid().as_raw());
        let (process, url) = (std::process::id(), place.encoded());
        let asked = Instant::now();
        door.say(&format!("0 0 client hello 0 0 {VERSION} sapwood -uid={uid} -pid={process} -gid={gid}\n")).await?;
        let welcome = door.answer("0").await?;
        if welcome.first().is_none_or(|word| word != "welcome") {
            return Err(door.refused(&welcome));
        }
        let latency = asked.elapsed();
        // A time-out would end the transfer, too, however well it goes: it is for us to be impatient.
        door.say(&format!(
            "{STAT} 0 client stat \"{url}\" -uid={uid}\n\
             {OPEN} 0 client open \"{url}\" r localhost 0 -timeout=-1 -onerror=default -passive -uid={uid}\n"
        ))
        .await?;
        let stat = door.answer(STAT).await?;
        let stat = match stat.first().map(String::as_str) {
            Some("stat") => Stat::read(&stat),
            Some("failed") if refused(&door.name, &stat).error.kind() == ErrorKind::NotFound => {
                return Err(door.refused(&stat));
            }
            _ => None,
        };
        let opened = door.answer(&OPEN.to_string()).await?;
        let [word, host, port, challenge, ..] = &opened[..] else { return Err(door.refused(&opened)) };
        let (true, Ok(port)) = (word == "connect", port.parse()) else { return Err(door.refused(&opened)) };
        let leave = Leave { stat, pool: (host.clone(), port), challenge: challenge.clone(), latency };
        Ok((door, leave))
    }

    async fn say(&mut self, lines: &str) -> Result<(), RequestError> {
        let said = timeout(self.patience, self.stream.get_mut().write_all(lines.as_bytes())).await;
        said.map_err(|_| RequestError::late(&self.name, self.patience))?.map_err(|error| broken(&self.name, error))
    }

    /// The words behind the head of the next line of this session.
    async fn answer(&mut self, session: &str) -> Result<Vec<String>, RequestError> {
        let asked = Instant::now();
        for _ in 0..LINES {
            if asked.elapsed() > self.patience.saturating_mul(TIMES) {
                return Err(RequestError::late(&self.name, self.patience.saturating_mul(TIMES)));
            }
            let mut line = Vec::new();
            let limited = &mut (&mut self.stream).take(LINE_BYTES);
            let came = timeout(self.patience, limited.read_until(b'\n', &mut line)).await;
            came.map_err(|_| RequestError::late(&self.name, self.patience))?
                .map_err(|error| broken(&self.name, error))?;
            if line.last() != Some(&b'\n') {
                return Err(broken(&self.name, std::io::ErrorKind::UnexpectedEof.into()));
            }
            let mut words = words(&String::from_utf8_lossy(&line));
            let order = words.get(3).map(String::as_str);
            let ends = matches!(order, Some("shutdown" | "byebye" | "reject" | "rejected"));
            if words.len() > 3 && (words[0] == session || ends) {
                return Ok(words.split_off(3));
            }
        }
        Err(nonsense(&self.name, "much, and no answer"))
    }

    fn refused(&self, words: &[String]) -> RequestError {
        refused(&self.name, words)
    }
}

impl Stat {
    fn read(words: &[String]) -> Option<Self> {
        let of = |name: &str| words.iter().find_map(|word| word.strip_prefix(name)?.strip_prefix('='));
        let len = of("-st_size")?.parse().ok()?;
        Some(Self { len, stamp: format!("{}-{}", of("-st_mtime").unwrap_or("0"), of("-st_ino").unwrap_or("0")) })
    }
}

/// Words of a line; blanks between quotation marks are part of one.
fn words(line: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (index, part) in line.split('"').enumerate() {
        if index % 2 == 1 {
            found.push(part.to_owned());
        } else {
            found.extend(part.split_whitespace().map(str::to_owned));
        }
    }
    found
}

/// What a door says instead of what was asked for: `failed NUMBER "words" POSIX`, or another word.
fn refused(door: &str, words: &[String]) -> RequestError {
    let word = |index: usize| words.get(index).map_or("", String::as_str);
    let kind = match (word(0), word(1), word(3)) {
        ("failed", _, "ENOENT") | ("failed", "2" | "10001", _) => ErrorKind::NotFound,
        ("failed", _, "EPERM" | "EACCES") | ("failed", "10018", _) | ("reject" | "rejected", ..) => ErrorKind::Denied,
        ("failed", _, "EISDIR" | "EINVAL" | "ENOTDIR") | ("failed", "1", _) => ErrorKind::Mismatch,
        _ => ErrorKind::Io,
    };
    let said = match word(0) {
        "failed" if !word(2).is_empty() => clean(word(2)),
        "failed" => format!("no, with the number {}", clean(word(1))),
        "retry" => "try again".to_owned(),
        "" => "nothing".to_owned(),
        other => clean(other),
    };
    let error = Error::new(kind, format!("{door} says: {said}"));
    if kind == ErrorKind::Io { RequestError::later(error) } else { RequestError::never(error) }
}

/// Words of a server that may be shown.
pub(super) fn clean(words: &str) -> String {
    words.chars().filter(|letter| !letter.is_control()).take(300).collect()
}

/// A connection that broke.
pub(super) fn broken(name: &str, error: std::io::Error) -> RequestError {
    RequestError::later(Error::new(ErrorKind::Io, format!("the connection to {name} broke")).because(error))
}

/// A violation of the protocol.
pub(super) fn nonsense(name: &str, what: &str) -> RequestError {
    RequestError::later(Error::new(ErrorKind::Io, format!("protocol error from {name}: {what}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::RetryWhen;

    #[test]
    fn lines_are_words() {
        assert_eq!(
            words("1 0 client failed 2 \"No such file\" ENOENT\n")[3..],
            ["failed", "2", "No such file", "ENOENT"]
        );
        let stat = Stat::read(&words("stat -st_size=12 -st_mtime=3 -st_mode=-rw-r--r-- -st_ino=4"));
        assert_eq!(stat, Some(Stat { len: 12, stamp: "3-4".into() }));
        assert_eq!(Stat::read(&words("stat -st_size=-1")), None);
    }

    #[test]
    fn refusals_have_kinds_and_words() {
        let of = |line: &str| {
            let RequestError { error, again, .. } = refused("h:1", &words(line));
            (error.kind(), again, error.message().to_owned())
        };
        assert_eq!(
            of("failed 2 \"No such file\""),
            (ErrorKind::NotFound, RetryWhen::Never, "h:1 says: No such file".into())
        );
        assert_eq!(of("failed 33 \"x\" EPERM").0, ErrorKind::Denied);
        assert_eq!(of("failed 1 \"Not a File\"").0, ErrorKind::Mismatch);
        assert_eq!(of("failed 104 \"x\"").1, RetryWhen::Later);
        assert_eq!(of("retry").2, "h:1 says: try again");
    }
}
