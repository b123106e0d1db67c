//! What the figures show, in sentences.

mod claims;
mod findings;
mod numbers;
#[cfg(test)]
mod tests;

use serde::Serialize;
use warpsmith::concurrency::{
    Study,
    findings::{Findings, Verdict},
};

/// Something that the figures show.
#[derive(Debug, Serialize)]
pub struct Finding {
    /// The experiment, in a word or two.
    pub topic: &'static str,
    /// Sentences.
    pub text: String,
}

/// A statement of the notebook's, and what these figures make of it.
#[derive(Debug, Serialize)]
pub struct Claim {
    /// The statement.
    pub claim: &'static str,
    /// Whether it holds here.
    pub verdict: Verdict,
    /// Why, as a sentence without its end.
    pub because: String,
}

/// What is to say of the experiments, one after the other.
pub fn findings(study: &Study, found: &Findings) -> Vec<Finding> {
    let (device, poses) = (&study.device, study.options.poses);
    let all = |texts: Vec<String>| (!texts.is_empty()).then(|| texts.join(" "));
    let topics = [
        ("spread", found.spread.as_ref().map(findings::spread)),
        ("streams", found.streams.as_ref().map(|found| findings::streams(found, device))),
        ("launches", found.launches.as_ref().map(findings::launches)),
        ("threads", found.threads.as_ref().map(|found| findings::threads(found, poses))),
        ("fixed work", all(found.fixed_work.iter().map(findings::fixed).collect())),
        ("reductions", found.reductions.as_ref().map(findings::reductions)),
        ("placements", all(found.places.iter().map(findings::places).collect())),
        ("two phases", found.phases.as_ref().map(|found| findings::phases(found, poses))),
        ("the limit", found.limit.as_ref().map(|limit| findings::limit(limit, found.reads.as_ref(), device))),
    ];
    topics.into_iter().filter_map(|(topic, text)| Some(Finding { topic, text: text? })).collect()
}

/// What the figures make of the notebook's statements.
pub fn claims(found: &Findings) -> Vec<Claim> {
    let told = found.claims.iter().map(|claim| (claim.verdict, claims::told(claim.statement, found)));
    told.filter_map(|(verdict, told)| told.map(|(claim, because)| Claim { claim, verdict, because })).collect()
}
