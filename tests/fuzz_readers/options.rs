//! Odd options for the commands of the program.

use std::{
    fs,
    io::Read as _,
    path::Path,
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use assert_cmd::cargo::cargo_bin;

use crate::{Random, kept, mutate::Content};

/// Commands with options that make them quick. A drawn option replaces the same one here.
const COMMANDS: &[&str] = &[
    "list-rank --n 1000",
    "list-rank --input list.npy",
    "tree root list.npy --parents --output out.npz",
    "tree lca list.npy edges.npy --parents --output out.npy",
    "tree sums list.npy weights.npy --parents --output out.npz",
    "graph components edges.npy --output out.npz",
    "graph bridges streets.gr --output out.npz",
    "graph bcc edges.npy --output out.npz",
    "graph forest streets.gr --output out.npz",
    "graph random --vertices 100 --output out.npy",
    "pcf random --count 3 --points 4 --output out.npz",
    "pcf info three.csv",
    "pcf convert three.csv --output out.npz",
    "pcf betti many.csv --output out.npz",
    "pcf stable-rank dimensions.csv --output out.csv",
    "pcf mean three.csv --output out.npz",
    "pcf pdist three.npz --output out.npy",
    "pcf cdist three.csv three.npz --output out.npy",
    "pcf l2-kernel three.csv --output out.npy",
    "pcf plot two.npy --output out.png",
    "overlap total poses.csv",
    "overlap pairs poses.csv",
    "overlap gradient poses.csv",
    "overlap plot poses.csv --output out.svg",
    "overlap pack --count 2 --steps 3 --starts 1 --output out.csv",
    "overlap pack --counts 1,2 --steps 3 --starts 1 --submission out.csv",
    "concurrency --poses 8 --iterations 1 --repeat 1 --streams 1 --batch 1",
    "rules explore halo --cells 4,4,4 --ranks 2 --iterations 2 --output out.csv",
    "rules count halo --streams 2",
    "rules check spmv --runs spmv.csv",
    "rules draw spmv --output out.dot",
    "rules next spmv --runs spmv.csv --count 3",
    "rules emit spmv.csv --output out.hpp",
    "rules learn spmv.csv",
    "rules study spmv.csv",
    "rules report spmv.csv --output out.html",
    "devices",
];

/// The files of the corpus that commands can read, and their names in the folder.
const FILES: &[(&str, &str)] = &[
    ("functions/three.csv", "three.csv"),
    ("functions/three.npz", "three.npz"),
    ("functions/to_repair.csv", "repair.csv"),
    ("bars/many.csv", "many.csv"),
    ("bars/dimensions.csv", "dimensions.csv"),
    ("poses/one.csv", "poses.csv"),
    ("poses/many.npy", "poses.npy"),
    ("poses/submission.csv", "submission.csv"),
    ("shapes/l.json", "l.json"),
    ("shapes/path.svg", "path.svg"),
    ("matrices/general.mtx", "m.mtx"),
    ("runs/spmv.csv", "spmv.csv"),
    ("graphs/streets.gr", "streets.gr"),
    ("graphs/edges.npy", "edges.npy"),
    ("lists/list.npy", "list.npy"),
    ("lists/weights.npy", "weights.npy"),
];

/// Values of options, separated by `~`: small ones and absurd ones.
const VALUES: &str = "\
    0~1~2~3~5~-1~0.5~1.5~-0.0~1e-300~1e308~nan~inf~-inf~~ ~x~2,2~1,0,0,1~1,1,1~0,0,0~1e999~\
    18446744073709551615~18446744073709551616~9223372036854775807~4294967296~\
    -9223372036854775808~1e18~0x1~1_0~0.05s~1K~-5s~1e30GB~tree~POLYGON((0 0,1 0,0 1))~\
    POLYGON((0 0,1 0,0 1)~/dev/null~/~.~no/such/file.csv~é~out.npy~out.npz~out.csv~out.svg~\
    out.png~out.json";

/// Longest duration of a run. A slower one is ended, which is no failure: its options may ask for
/// much work.
const LONGEST: Duration = Duration::from_secs(10);
/// Memory limit of a run, in KiB.
const MEMORY: usize = 6 << 20;

/// Runs commands until the time is up. Returns true if all cases passed.
pub fn run(end: Instant, seed: u64) -> bool {
    let folder = tempfile::tempdir().unwrap();
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/corpus");
    let fill = || {
        for (from, to) in FILES {
            let _ = fs::copy(corpus.join(from), folder.path().join(to));
        }
        let _ = fs::copy(corpus.join("poses/one.npy"), folder.path().join("two.npy"));
    };
    fill();
    let options: Vec<Vec<(String, Vec<String>)>> = COMMANDS.iter().map(|command| options_of(command, folder.path())).collect();
    let (mut runs, mut ended, mut codes) = (0u64, 0u64, [0u64; 3]);
    let mut good = true;
    while Instant::now() < end {
        let case = (seed << 32) + runs;
        let mut random = Random::new(case);
        let which = random.below(COMMANDS.len());
        let arguments = arguments(COMMANDS[which], &options[which], &mut random);
        fill();
        // Damaged files that a reader accepts must not break later steps.
        if random.one_in(3) {
            let (from, to) = random.of(FILES);
            let mut content = Content::of(to.rsplit('.').next().unwrap(), &fs::read(corpus.join(from)).unwrap());
            content.damage(&mut random, &[]);
            fs::write(folder.path().join(to), content.bytes()).unwrap();
        }
        runs += 1;
        let shown =
            format!("warpsmith {}", arguments.iter().map(|argument| format!("{argument:?}")).collect::<Vec<_>>().join(" "));
        let Some((code, stderr)) = finish(&arguments, folder.path()) else {
            ended += 1;
            continue;
        };
        match code {
            Some(code @ 0..=2) if !stderr.contains("panicked") && !stderr.contains("internal error") => codes[code as usize] += 1,
            _ => {
                good = false;
                let text = format!("case {case}: {shown}\nexit code {code:?}\n{stderr}\n");
                eprint!("{text}");
                let kept = kept().join(format!("failed-options-{case}"));
                fs::create_dir_all(&kept).unwrap();
                fs::write(kept.join("case.txt"), text).unwrap();
                for (_, name) in FILES {
                    let _ = fs::copy(folder.path().join(name), kept.join(name));
                }
            }
        }
    }
    println!(
        "options: {runs} runs from seed {seed}: exit codes 0, 1, 2: {codes:?}; {ended} ended as they took longer than {LONGEST:?}"
    );
    good
}

/// The options of a command, and the values that its help names.
fn options_of(command: &str, folder: &Path) -> Vec<(String, Vec<String>)> {
    let names: Vec<&str> = command.split(' ').take_while(|word| !word.starts_with('-') && !word.contains('.')).collect();
    let deepest = (1..=names.len().min(2)).rev().find_map(|depth| {
        let output =
            Command::new(cargo_bin!("warpsmith")).arg("help").args(&names[..depth]).current_dir(folder).output().unwrap();
        output.status.success().then(|| String::from_utf8(output.stdout).unwrap())
    });
    let mut options: Vec<(String, Vec<String>)> = Vec::new();
    for line in deepest.unwrap().lines().map(str::trim) {
        if let Some(name) = line.get(4..).filter(|_| line.get(2..4) == Some(", ")).unwrap_or(line).strip_prefix("--") {
            let (name, value) = name.split_once(' ').unwrap_or((name, ""));
            let values = if value.starts_with('<') { vec![value.to_owned()] } else { Vec::new() };
            options.push((format!("--{}", name.trim_end_matches("...")), values));
        } else if let (Some(value), Some((_, values))) = (line.strip_prefix("- "), options.last_mut()) {
            values.push(value.split(':').next().unwrap_or_default().to_owned());
        }
    }
    assert!(options.len() > 3, "{command}: {options:?}");
    options
}

/// A command with some options in the place of its own.
fn arguments(command: &str, options: &[(String, Vec<String>)], random: &mut Random) -> Vec<String> {
    let mut drawn: Vec<(&str, Option<String>)> = Vec::new();
    for _ in 0..random.below(4) {
        let (name, values) = random.of(options);
        if drawn.iter().any(|(other, _)| other == name) || ["--backend", "--device"].contains(&&**name) {
            continue;
        }
        let value = (!values.is_empty()).then(|| match random.below(6) {
            0 | 1 if values.len() > 1 => values[1 + random.below(values.len() - 1)].clone(),
            2 => random.of(FILES).1.to_owned(),
            _ => random.word(VALUES).to_owned(),
        });
        drawn.push((name, value));
    }
    let mut arguments = vec!["--backend".to_owned(), "cpu".to_owned()];
    let mut words = command.split(' ').peekable();
    while let Some(word) = words.next() {
        let replaced = word.starts_with("--") && drawn.iter().any(|(name, _)| *name == word);
        let value = word.starts_with("--").then(|| words.next_if(|next| !next.starts_with("--"))).flatten();
        if !replaced {
            arguments.extend([Some(word), value].into_iter().flatten().map(str::to_owned));
        }
    }
    // A file instead of another.
    if random.one_in(6)
        && let Some(place) =
            (2..arguments.len()).find(|&place| arguments[place].contains('.') && arguments[place - 1] != "--output")
    {
        arguments[place] = random.of(FILES).1.to_owned();
    }
    for (name, value) in drawn {
        match value {
            Some(value) if random.one_in(2) => arguments.push(format!("{name}={value}")),
            Some(value) => arguments.extend([name.to_owned(), value]),
            None => arguments.push(name.to_owned()),
        }
    }
    arguments
}

/// Runs the program. Returns its exit code and stderr, or `None` if it took too long.
fn finish(arguments: &[String], folder: &Path) -> Option<(Option<i32>, String)> {
    let mut command = if cfg!(target_os = "linux") {
        let mut shell = Command::new("sh");
        shell.args(["-c", &format!("ulimit -v {MEMORY}; exec \"$0\" \"$@\"")]).arg(cargo_bin!("warpsmith"));
        shell
    } else {
        Command::new(cargo_bin!("warpsmith"))
    };
    let stderr = folder.join("stderr");
    command.args(arguments).current_dir(folder).env_remove("WARPSMITH_BACKEND").stdin(Stdio::null()).stdout(Stdio::null());
    let mut child = command.stderr(fs::File::create(&stderr).unwrap()).spawn().unwrap();
    let start = Instant::now();
    let status = loop {
        match child.try_wait().unwrap() {
            Some(status) => break status,
            None if start.elapsed() > LONGEST => {
                child.kill().unwrap();
                child.wait().unwrap();
                return None;
            }
            None => thread::sleep(Duration::from_millis(2)),
        }
    };
    let mut bytes = Vec::new();
    fs::File::open(stderr).unwrap().read_to_end(&mut bytes).unwrap();
    Some((status.code(), String::from_utf8_lossy(&bytes).into_owned()))
}
