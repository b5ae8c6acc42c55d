//! Fills one tree of many branches from many threads, as arrays, and prints how long it took, as `bench/parallel.py` asks for it:
//! `cargo run --release --example parallel -- out.root THREADS BRANCHES ROWS_OF_A_CLUSTER CLUSTERS COMPRESSION [numbered]`.

use std::path::PathBuf;
use std::time::Instant;

use sapwood::column::Number;
use sapwood::write::{BranchSpec, Every, FileWriter, TreeOptions, TreeWriter, Values, WriteOptions};
use sapwood::{Error, Result, Session};

/// Numbers with twelve random bits in their fraction, as detectors give them.
struct Random(u64);

impl Random {
    fn next(&mut self) -> f32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        1.0 + (self.0 >> 52) as f32 / 4096.0
    }
}

fn main() -> Result<()> {
    let wrong = || Error::mismatch("parallel PATH THREADS BRANCHES ROWS CLUSTERS COMPRESSION [numbered]");
    let given: Vec<String> = std::env::args().skip(1).collect();
    let number = |index: usize| given.get(index).and_then(|text| text.parse::<usize>().ok()).ok_or_else(wrong);
    let path = PathBuf::from(given.first().ok_or_else(wrong)?);
    let (threads, branches, rows, clusters) = (number(1)?, number(2)?, number(3)?, number(4)?);
    let compression = Some(given.get(5).ok_or_else(wrong)?.parse()?);
    let is_numbered = given.get(6).is_some_and(|word| word == "numbered");

    // Values are there before the time begins: only writing is measured.
    let mut random = Random(88_172_645_463_325_252);
    let columns: Vec<Vec<u8>> =
        (0..branches).map(|_| (0..rows).flat_map(|_| random.next().to_ne_bytes()).collect()).collect();
    let names: Vec<String> = (0..branches).map(|branch| format!("b{branch}")).collect();
    let values: Vec<(&str, Values<'_>)> =
        names.iter().zip(&columns).map(|(name, column)| (name.as_str(), Values::Numbers(column))).collect();
    let specs = names.iter().map(|name| BranchSpec::number(name.as_str(), Number::F32)).collect();

    let began = Instant::now();
    let options = WriteOptions { compression, session: Session::with_threads(1), ..WriteOptions::default() };
    let mut file = FileWriter::recreate(&path, options)?;
    let wish = TreeOptions { auto_flush: Every::Entries(rows as u64), ..TreeOptions::default() };
    let tree = file.parallel_tree("tree", specs, wish)?;
    let fill = |context: &mut TreeWriter| context.extend(&values);
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads)
            .map(|thread| {
                let own = (thread..clusters).step_by(threads);
                let (mut context, mut numbered) = (tree.context(), is_numbered.then(|| tree.numbered()));
                let fill = &fill;
                scope.spawn(move || {
                    for number in own {
                        match &mut numbered {
                            Some(numbered) => {
                                let mut unit = numbered.unit(number as u64)?;
                                fill(&mut unit)?;
                                unit.close()?;
                            }
                            None => fill(&mut context)?,
                        }
                    }
                    context.close()
                })
            })
            .collect();
        workers.into_iter().try_for_each(|worker| worker.join().map_err(|_| Error::mismatch("a thread died"))?)
    })?;
    tree.close()?;
    file.close()?;
    let bytes = std::fs::metadata(&path).map_or(0, |found| found.len());
    println!("{{\"seconds\": {:.4}, \"bytes\": {bytes}}}", began.elapsed().as_secs_f64());
    Ok(())
}
