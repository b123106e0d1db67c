//! Parts with their numbers of copies, and options that are given for all parts, or for one by its name.

use std::{
    collections::{HashMap, HashSet},
    error::Error,
    path::Path,
    str::FromStr,
};

use warpsmith::{
    io::files::is_standard,
    overlap::{
        io::Part,
        pack::{MOST_POSES, Turns},
    },
};

use super::{count, failure::Failure};

/// Largest number of names in a message.
const NAMES: usize = 20;

/// A value, and the name of the part that it is for, unless it is for all.
#[derive(Clone, Debug, PartialEq)]
pub struct Named<V> {
    name: Option<String>,
    value: V,
}

impl<V: FromStr<Err: Into<Box<dyn Error + Send + Sync>>>> FromStr for Named<V> {
    type Err = Box<dyn Error + Send + Sync>;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (name, value) = text.rsplit_once('=').map_or((None, text), |(name, value)| (Some(name.to_owned()), value));
        Ok(Named { name, value: value.parse().map_err(Into::into)? })
    }
}

/// Returns for each part the value that it is given: its own, or that of all.
pub fn each<V: Clone>(option: &str, given: &[Named<V>], parts: &[&str]) -> Result<Vec<Option<V>>, Failure> {
    let mut names: Vec<&str> = parts.to_vec();
    names.sort_unstable();
    names.dedup();
    for (index, Named { name, .. }) in given.iter().enumerate() {
        let twice = given[..index].iter().any(|other| other.name == *name);
        match name {
            Some(name) if twice => return Err(Failure::error(format_args!("{option} is given twice for {name}"))),
            None if twice => return Err(Failure::error(format_args!("{option} is given twice for all parts"))),
            Some(name) if names.binary_search(&&**name).is_err() => {
                let more = if names.len() > NAMES { ", ..." } else { "" };
                names.truncate(NAMES);
                let text = format_args!("{option}: no part is called {name}; the parts are {}{more}", names.join(", "));
                return Err(Failure::error(text));
            }
            _ => {}
        }
    }
    let of = |part: &str| {
        let named = given.iter().find(|given| given.name.as_deref() == Some(part));
        named.or_else(|| given.iter().find(|given| given.name.is_none())).map(|given| given.value.clone())
    };
    Ok(parts.iter().map(|part| of(part)).collect())
}

/// Returns a part as given, and its number of copies if it has one. Errors name the part behind the option.
pub fn counted<'a>(option: &str, text: &'a str) -> Result<(&'a str, Option<usize>), Failure> {
    let exists = |name: &str| name == "tree" || is_standard(Path::new(name)) || Path::new(name).exists();
    match (count::split(text), text.rsplit_once(':')) {
        (Some((part, count)), _) if (1..=MOST_POSES).contains(&count) => Ok((part, Some(count))),
        // Names may have colons.
        (None, part) if !part.is_some_and(|(part, _)| exists(part) && !exists(text)) => Ok((text, None)),
        _ => Err(Failure::error(format_args!("{option}{text}: the copies must be a whole number from 1 to {MOST_POSES}"))),
    }
}

/// Gives parts names of their own, and the turns of `--turns` and `--mirror`. Of parts named `plate`, the second one becomes
/// `plate 2`, unless another part is called so.
pub fn prepare(parts: &mut [Part], turns: &[Named<Turns>], mirror: &[String]) -> Result<(), Failure> {
    let mut taken: HashSet<String> = parts.iter().map(|part| part.shape.name().to_owned()).collect();
    let mut numbers: HashMap<String, usize> = HashMap::new();
    for part in parts.iter_mut() {
        let name = part.shape.name();
        let Some(number) = numbers.get_mut(name) else {
            numbers.insert(name.to_owned(), 2);
            continue;
        };
        while !taken.insert(format!("{name} {number}")) {
            *number += 1;
        }
        part.shape = part.shape.clone().named(format!("{name} {number}"));
    }
    let names = names(parts);
    let turns = each("--turns", turns, &names)?;
    let named = |name: &String| Named { name: Some(name.clone()).filter(|name| !name.is_empty()), value: true };
    let mirrors = each("--mirror", &mirror.iter().map(named).collect::<Vec<_>>(), &names)?;
    for ((part, turns), mirrors) in parts.iter_mut().zip(turns).zip(mirrors) {
        part.turns = turns.unwrap_or(std::mem::take(&mut part.turns)).mirroring(mirrors.unwrap_or_default());
    }
    Ok(())
}

/// Returns the names of parts.
pub fn names(parts: &[Part]) -> Vec<&str> {
    parts.iter().map(|part| part.shape.name()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_parts() {
        let given =
            |texts: &[&str]| texts.iter().map(|text| text.parse()).collect::<Result<Vec<Named<u32>>, _>>().expect("numbers");
        let parts = ["a", "b=c", "a", "d"];
        assert_eq!(each("--k", &given(&[]), &parts).expect("none"), [None; 4]);
        let values = each("--k", &given(&["7", "a=1", "b=c=2"]), &parts).expect("values");
        assert_eq!(values, [Some(1), Some(2), Some(1), Some(7)]);
        assert_eq!(each("--k", &given(&["d=3"]), &parts).expect("one"), [None, None, None, Some(3)]);
        for (texts, sentence) in [
            (&["c=1"][..], "--k: no part is called c; the parts are a, b=c, d"),
            (&["a=1", "a=2"], "--k is given twice for a"),
            (&["1", "2"], "--k is given twice for all parts"),
        ] {
            let Failure::Error(text) = each("--k", &given(texts), &parts).expect_err(sentence) else { panic!("{sentence}") };
            assert_eq!(text, sentence);
        }
        assert!("a=x".parse::<Named<u32>>().is_err() && "x".parse::<Named<u32>>().is_err());
    }
}
