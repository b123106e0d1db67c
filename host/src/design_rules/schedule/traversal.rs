//! A schedule as names alone: what features are made of, and what files hold.

use std::collections::HashSet;
use std::fmt;
use std::str::FromStr;

use crate::io::quoted;

/// A schedule's steps by name, with the streams of the GPU operations: all that learning needs, also where the program
/// is not at hand.
///
/// Its text is that of [`Schedule::text`](super::Schedule::text): names with `;` between them, and `@` and the stream
/// behind those that name one. `y_L=tiles` settles a choice.
///
/// ```
/// use warpsmith::design_rules::Traversal;
///
/// let traversal: Traversal = "Pack@0;CER-after-Pack;CES-b4-PostSend;PostSend".parse()?;
/// assert_eq!(traversal.steps()[1].name, "CER-after-Pack");
/// assert_eq!(traversal.steps()[0].bound(), Some(0));
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Traversal {
    steps: Vec<NamedStep>,
}

/// A step's name, and the stream that it names.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct NamedStep {
    /// As [`Step::name`](super::Step::name) has it.
    pub name: String,
    /// As [`Step::stream`](super::Step::stream) has it.
    pub stream: Option<u8>,
}

impl NamedStep {
    /// Returns whether it is synchronisation: such names have a `-`, and operations' names do not.
    pub fn is_synchronisation(&self) -> bool {
        self.name.contains('-')
    }

    /// The choice and the alternative, where the step settles one.
    pub fn chosen(&self) -> Option<(&str, &str)> {
        self.name.split_once('=')
    }

    /// Returns whether it is an operation.
    pub(in crate::design_rules) fn is_operation(&self) -> bool {
        !self.is_synchronisation() && self.chosen().is_none()
    }

    /// The stream that an operation of the GPU is bound to.
    pub fn bound(&self) -> Option<u8> {
        self.stream.filter(|_| !self.is_synchronisation())
    }
}

impl Traversal {
    /// Its steps in order, without the end.
    pub fn steps(&self) -> &[NamedStep] {
        &self.steps
    }
}

impl FromStr for Traversal {
    type Err = String;

    /// # Errors
    /// A clause that names the first step that is invalid or stands twice.
    fn from_str(text: &str) -> Result<Self, String> {
        let (mut steps, mut names) = (Vec::new(), HashSet::new());
        for part in text.split(';') {
            let (name, stream) = match part.split_once('@') {
                Some((name, stream)) => (name, Some(stream.parse().map_err(|_| format!("{} names no stream", quoted(part)))?)),
                None => (part, None),
            };
            if name.split('=').any(str::is_empty) {
                return Err(format!("there is an empty name in {}", quoted(text)));
            }
            // A choice has one alternative per schedule.
            let once = name.split_once('=').map_or(name, |(choice, _)| &name[..=choice.len()]);
            if !names.insert(once) {
                return Err(format!("{} stands twice in {}", quoted(once), quoted(text)));
            }
            steps.push(NamedStep { name: name.to_owned(), stream });
        }
        Ok(Traversal { steps })
    }
}

impl fmt::Display for Traversal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, NamedStep { name, stream }) in self.steps.iter().enumerate() {
            let separator = if index == 0 { "" } else { ";" };
            match stream {
                Some(stream) => write!(f, "{separator}{name}@{stream}")?,
                None => write!(f, "{separator}{name}")?,
            }
        }
        Ok(())
    }
}
