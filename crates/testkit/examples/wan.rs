//! A link to a server that is far away, as `bench/remote/remote.py` asks for it:
//! `cargo run --release -p sapwood-testkit --example wan -- ADDRESS ROUND_TRIP_MS MEGABITS`.
//!
//! It prints the port that leads to the server. For each line that it reads it prints what went through so far:
//! connections, requests, bytes of clients, bytes of the server. It ends with its input.

use std::io::{self, BufRead, Error};
use std::net::SocketAddr;
use std::time::Duration;

use sapwood_testkit::tcp_proxy::{Counts, TcpProxy, Wire};

fn main() -> io::Result<()> {
    let given: Vec<String> = std::env::args().skip(1).collect();
    let wrong = || Error::other("wan ADDRESS ROUND_TRIP_MS MEGABITS");
    let [server, trip, megabits] = &given[..] else { return Err(wrong()) };
    let server: SocketAddr = server.parse().map_err(|_| wrong())?;
    let number = |text: &str| text.parse::<f64>().ok().filter(|number| *number >= 0.0).ok_or_else(wrong);
    let delay = Duration::try_from_secs_f64(number(trip)? / 2e3).map_err(|_| wrong())?;
    let rate = (number(megabits)? * 125e3) as u64;
    let proxy = TcpProxy::start(server, move |_| Wire::Far { delay, rate });
    println!("{}", proxy.address().port());
    for line in io::stdin().lock().lines() {
        line?;
        let Counts { connections, requests, up_bytes, down_bytes } = proxy.counts();
        println!("{connections} {requests} {up_bytes} {down_bytes}");
    }
    Ok(())
}
