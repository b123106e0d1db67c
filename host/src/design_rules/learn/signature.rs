//! The program of runs, from what their file says of it.

use crate::design_rules::{About, Dag, DagBuilder, Kind, RulesError, program};

/// Reconstructs the program of runs from its [signature](Dag::signature).
///
/// # Errors
/// [`RulesError::Dag`] where the signature is invalid.
pub fn program_of(about: &About) -> Result<Dag, RulesError> {
    let wrong = || RulesError::Dag {
        program: about.program.clone(),
        reason: format!("`{}` does not say what its operations and edges are", about.signature),
    };
    let mut parts = about.signature.split(' ');
    let (operations, edges) = parts.next().zip(parts.next()).ok_or_else(wrong)?;
    let mut builder = Dag::builder(&about.program);
    for operation in operations.split(',') {
        builder = match operation.rsplit_once(':') {
            Some((program::END, "c")) => builder,
            Some((label, "c")) => labelled(builder, label, Kind::Cpu),
            Some((label, "g")) => labelled(builder, label, Kind::Gpu),
            _ => return Err(wrong()),
        };
    }
    for edge in edges.split(',').filter(|edge| !edge.is_empty()) {
        let (before, after) = edge.split_once('>').ok_or_else(wrong)?;
        builder = builder.edge(before, after);
    }
    for setting in parts {
        let (name, alternatives) = setting.split_once('=').ok_or_else(wrong)?;
        builder = alternatives.split('|').fold(builder, |builder, alternative| builder.setting(name, alternative));
    }
    let dag = builder.build()?;
    if dag.signature() == about.signature { Ok(dag) } else { Err(wrong()) }
}

/// Adds the operation with this [label](Dag::label).
fn labelled(builder: DagBuilder, label: &str, kind: Kind) -> DagBuilder {
    let part = label.split_once('=').and_then(|(choice, rest)| Some((choice, rest.split_once('/')?)));
    match part {
        Some((choice, (alternative, name))) => builder.part(choice, alternative, name, kind),
        None => builder.operation(label, kind),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::design_rules::programs;

    #[test]
    fn programs_from_their_signatures() {
        let choice = Dag::builder("c").gpu("b").alternative("a", "x", Kind::Cpu).part("a", "y", "p", Kind::Gpu);
        let choice = choice.part("a", "y", "q", Kind::Cpu).edge("a=y/p", "a=y/q").edge("b", "a");
        let choice = choice.setting("s", "on").setting("t", "1").setting("s", "off").setting("t", "2").build().unwrap();
        for dag in [programs::spmv::dag(), programs::halo::dag(), choice] {
            assert_eq!(program_of(&About::program(&dag)).unwrap(), dag);
        }
        for signature in [
            "",
            "a:g",
            "a:g,end:c a>b",
            "a:x,end:c a>end",
            "a:g,end:c",
            "a:g,end:c a-end",
            "end:c,a:g a>end",
            "a:g,end:c a>end s",
        ] {
            let about = About { program: "p".to_owned(), signature: signature.to_owned(), ..About::default() };
            assert!(program_of(&about).is_err(), "{signature}");
        }
    }
}
