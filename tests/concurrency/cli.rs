//! `warpsmith concurrency`.

use std::fs;

use crate::folder::Folder;

const SMALL: &str = "--streams 1,2 --batch 4..8 --poses 30 --iterations 1 --runs 2";

#[test]
fn tables_and_plots() {
    let folder = Folder::of("concurrency");
    let text = folder.good(&format!("{SMALL} --output plots"));
    for part in [
        "concurrency: trees of 4 pieces in double precision on ",
        "All 20 kernels and the library's evaluator find the same totals",
        "By streams: kernels per second, of 30 poses with 30, 1 launch on each",
        "By threads",
        "2,000 comparisons by threads",
        "128,000 comparisons by threads",
        "Reductions, ms",
        "The shape's pieces in memory, ms",
        "One phase against two, ms",
        "Written: 12 plots to plots",
    ] {
        assert!(text.contains(part), "{text}\nlacks: {part}");
    }
    // Its own figures beside these: 12.092 ms with 4 threads.
    assert!(text.lines().any(|line| line.trim().starts_with('4') && line.trim().ends_with("12.1")), "{text}");
    let mut files: Vec<_> =
        fs::read_dir(folder.path("plots")).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    files.sort();
    let names = ["batch", "fixed-work", "phases", "placements", "reductions", "streams"];
    assert_eq!(files, names.iter().flat_map(|name| [format!("{name}.png"), format!("{name}.svg")]).collect::<Vec<_>>());
    for name in names {
        let svg = fs::read_to_string(folder.path("plots").join(name).with_extension("svg")).unwrap();
        assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>") && !svg.contains("NaN"), "{name}");
        let png = fs::read(folder.path("plots").join(name).with_extension("png")).unwrap();
        assert!(png.starts_with(b"\x89PNG"), "{name}");
    }
    // Once more into the same directory.
    folder.good(&format!("{SMALL} --output plots"));
}

#[test]
fn json_has_its_fields() {
    let folder = Folder::of("concurrency");
    let value = folder.json(SMALL);
    assert_eq!(value["system"], "concurrency");
    assert_eq!(value["options"]["batch"], serde_json::json!([4, 8]));
    assert_eq!(value["options"]["seed"], 123);
    let rows = value["streams"].as_array().unwrap();
    assert!(rows.len() == 2 && rows.iter().all(|row| row["plain_ms"]["median"].as_f64().unwrap() > 0.0));
    let row = &value["batch"][1];
    assert_eq!((&row["threads"], &row["work"]["comparisons"]), (&8.into(), &240.into()));
    assert_eq!(row["reductions"].as_array().unwrap().len(), 5);
    assert_eq!(value["fixed"][1]["total"], 128_000);
    assert_eq!(value["agreement"]["variants"], 20);
    assert_eq!(value["files"], serde_json::json!([]));
    assert!(folder.files().is_empty());
}

#[test]
fn one_of_each_is_enough() {
    let folder = Folder::of("concurrency");
    let text = folder.good("--streams 1 --batch 1 --poses 1 --iterations 1 --runs 1 --seed 7 --output .");
    assert!(text.contains("One phase against two") && !text.contains("NaN") && !text.contains("inf"), "{text}");
    // A spread takes two.
    assert!(text.contains("times of 1 run, so that their spread is unknown") && !text.contains('±'), "{text}");
    let text = folder.good("--streams 1 --batch 1 --poses 1 --iterations 1 --runs 2");
    assert!(text.contains("medians of 2 runs (spread:") && text.contains('±'), "{text}");
    folder.bad("--streams 0", "streams has the entry 0; a number of streams is from 1 to 1,024");
    folder.bad("-o no/such/folder", "no/such/folder can't be written: there is no directory no/such");
    folder.bad("-o -", "- can't be written: there are several files; name a folder");
}
