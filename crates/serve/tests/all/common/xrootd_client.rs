//! A client of XRootD's protocol that sends any bytes and shows every answer.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use sapwood_serve::Proxy;
use sapwood_store::xrootd_numbers::{HELLO, request};

/// An answer: the number of its request, its status, its data.
#[derive(Debug, PartialEq, Eq)]
pub struct Answer {
    pub stream: u16,
    pub status: u16,
    pub data: Vec<u8>,
}

impl Answer {
    /// The code of an error; 0 for anything else.
    pub fn code(&self) -> u32 {
        if self.status == 4003 { u32::from_be_bytes(self.data[..4].try_into().expect("a code")) } else { 0 }
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.data).trim_end_matches('\0').to_owned()
    }
}

pub struct Client(pub TcpStream);

impl Client {
    pub fn connect(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).expect("a connection");
        stream.set_read_timeout(Some(Duration::from_secs(30))).expect("a time");
        stream.set_write_timeout(Some(Duration::from_secs(30))).expect("a time");
        Self(stream)
    }

    /// A client after the hello.
    pub fn greeted(proxy: &Proxy) -> Self {
        let mut client = Self::connect(proxy.xrootd_address().expect("XRootD is spoken"));
        client.write(&HELLO);
        let mut body = [0; 16];
        body[..6].copy_from_slice(&[0, 0, 5, 0x20, 0, 3]);
        client.send(1, request::PROTOCOL, body, b"");
        let hello = client.answer().expect("an answer");
        assert_eq!((hello.stream, hello.status, &*hello.data), (0, 0, &b"\0\0\x05\x20\0\0\0\x01"[..]));
        let protocol = client.answer().expect("an answer");
        assert_eq!((protocol.stream, protocol.status, protocol.data.len()), (1, 0, 8));
        client
    }

    /// A client that is logged in, and the name of its session.
    pub fn logged_in(proxy: &Proxy) -> (Self, [u8; 16]) {
        let mut client = Self::greeted(proxy);
        let login = client.ask(request::LOGIN, [0; 16], b"");
        assert_eq!((login.status, login.data.len()), (0, 16), "{}", login.text());
        let session = login.data.try_into().expect("a name");
        (client, session)
    }

    /// A client that has a file open, and its handle.
    pub fn opened(proxy: &Proxy, path: &str) -> (Self, [u8; 4]) {
        let (mut client, _) = Self::logged_in(proxy);
        let open = client.open(path, 0x10);
        assert_eq!(open.status, 0, "{}", open.text());
        let handle = open.data[..4].try_into().expect("a handle");
        (client, handle)
    }

    pub fn write(&mut self, bytes: &[u8]) {
        self.0.write_all(bytes).expect("an open connection");
    }

    pub fn send(&mut self, stream: u16, number: u16, body: [u8; 16], data: &[u8]) {
        let length = u32::try_from(data.len()).expect("a length");
        self.write(&[&head(stream, number, body, length)[..], data].concat());
    }

    /// The next answer; none at the end of the connection.
    pub fn answer(&mut self) -> Option<Answer> {
        let mut head = [0; 8];
        self.0.read_exact(&mut head).ok()?;
        let [a, b, c, d, e, f, g, h] = head;
        let mut data = vec![0; u32::from_be_bytes([e, f, g, h]) as usize];
        self.0.read_exact(&mut data).ok()?;
        Some(Answer { stream: u16::from_be_bytes([a, b]), status: u16::from_be_bytes([c, d]), data })
    }

    /// Sends a request, and puts its answer together.
    pub fn ask(&mut self, number: u16, body: [u8; 16], data: &[u8]) -> Answer {
        self.send(7, number, body, data);
        self.whole()
    }

    /// All parts of the next answer.
    pub fn whole(&mut self) -> Answer {
        let mut whole = Vec::new();
        loop {
            let mut answer = self.answer().expect("an answer");
            whole.append(&mut answer.data);
            if answer.status != 4000 {
                return Answer { data: whole, ..answer };
            }
        }
    }

    pub fn open(&mut self, path: &str, options: u16) -> Answer {
        let mut body = [0; 16];
        body[2..4].copy_from_slice(&options.to_be_bytes());
        self.ask(request::OPEN, body, path.as_bytes())
    }

    pub fn read(&mut self, handle: [u8; 4], offset: u64, bytes: u32) -> Answer {
        self.ask(request::READ, range(handle, offset, bytes), b"")
    }

    /// Whether the other end has closed, once all that it sent is read.
    pub fn is_closed(&mut self) -> bool {
        let mut rest = Vec::new();
        match self.0.read_to_end(&mut rest) {
            Ok(_) => true,
            Err(error) => error.kind() == std::io::ErrorKind::ConnectionReset,
        }
    }
}

pub fn head(stream: u16, number: u16, body: [u8; 16], length: u32) -> Vec<u8> {
    [&stream.to_be_bytes()[..], &number.to_be_bytes(), &body, &length.to_be_bytes()].concat()
}

pub fn range(handle: [u8; 4], offset: u64, bytes: u32) -> [u8; 16] {
    let mut body = [0; 16];
    body[..4].copy_from_slice(&handle);
    body[4..12].copy_from_slice(&offset.to_be_bytes());
    body[12..].copy_from_slice(&bytes.to_be_bytes());
    body
}

/// A range of a vector.
pub fn segment(handle: [u8; 4], offset: u64, bytes: u32) -> Vec<u8> {
    [&handle[..], &bytes.to_be_bytes(), &offset.to_be_bytes()].concat()
}
