//! Options of the ranker of one device.

/// Method of writing the elements' results to memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(rename_all = "kebab-case"))]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum Strategy {
    /// On a GPU, [`Block`](Strategy::Block) for lists that fit into a block's shared memory,
    /// [`Binned`](Strategy::Binned) or [`Runs`](Strategy::Runs) for long ones with enough memory, and
    /// [`Grid`](Strategy::Grid) between; otherwise [`Split`](Strategy::Split).
    #[cfg_attr(feature = "clap", value(help = "On a GPU `block`, `grid`, `runs` or `binned` by length and order, else `split`"))]
    #[default]
    Auto,
    /// The walk stores the elements in list order, many at a time. Two passes through shared memory then bring their
    /// ranks to their places, so that no store is a random one.
    ///
    /// Takes 13 bytes of scratch memory per element: 21 in forests, 17 with weights of four bytes, 30 with weights of
    /// eight. [`Split`](Strategy::Split) takes 8, or 16 with values of eight bytes.
    #[cfg_attr(
        feature = "clap",
        value(
            help = "The walk stores elements in list order; two passes through shared memory bring their ranks to their places"
        )
    )]
    Binned,
    /// One block ranks the list in its shared memory, in one launch. A list may have about 52,000 elements on an H100, and
    /// 26,000 or 17,000 with weights of 4 or 8 bytes. It has at most 1,024 sublists.
    #[cfg_attr(feature = "clap", value(help = "One block in its shared memory, in one launch: short lists"))]
    Block,
    /// One launch, whose blocks wait for each other. Prefix sums and forests take [`Split`](Strategy::Split) in its place.
    #[cfg_attr(feature = "clap", value(help = "One launch whose blocks wait for each other: lists of middle length"))]
    Grid,
    /// Elements that lie beside their successors, on either side, are contracted to runs, which are ranked by their
    /// lengths. Takes 0.4 bytes of scratch memory per element, and up to 37 per run. Waits for the stream, also if
    /// lists are trusted. Prefix sums and forests take [`Split`](Strategy::Split) in its place.
    ///
    /// On a GPU, [`Auto`](Strategy::Auto) does so with lists of 2^24 elements or more whose runs have five elements or more
    /// on average. A sample shows that; to see it, the call waits for the stream. A trusted ranker takes no sample.
    #[cfg_attr(feature = "clap", value(help = "Elements that lie beside their successors are ranked together"))]
    Runs,
    /// Successors are loaded from `next` and offsets are stored to another array, so that no load waits for a store.
    #[cfg_attr(feature = "clap", value(help = "Successors are loaded from one array and offsets stored to another"))]
    Split,
    /// Successors and offsets share one array, which step 1 fills from `next`. Kept for comparison.
    #[cfg_attr(feature = "clap", value(help = "Both through one array"))]
    Packed,
}

impl Strategy {
    /// Its name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Strategy::Auto => "auto",
            Strategy::Block => "block",
            Strategy::Grid => "grid",
            Strategy::Runs => "runs",
            Strategy::Split => "split",
            Strategy::Packed => "packed",
            Strategy::Binned => "binned",
        }
    }
}

/// Rule that selects the elements that start sublists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum SplitterRule {
    /// One element of every group of consecutive indices, at a hashed place: sublists stay short on any list.
    #[cfg_attr(feature = "clap", value(help = "One at a hashed place of each group of consecutive elements"))]
    #[default]
    Hashed,
    /// The first elements by index: as good on random lists, and nearly serial on sequential ones.
    #[cfg_attr(feature = "clap", value(help = "The first elements by index"))]
    First,
}

/// Options of [`ListRanker`](super::ListRanker).
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Method of writing results to memory.
    pub strategy: Strategy,
    /// Rule that selects the elements that start sublists.
    pub splitters: SplitterRule,
    /// Approximate number of sublists; by default derived from `n` and the device.
    pub sublists: Option<u32>,
    /// Limit of the shared memory that [`Strategy::Binned`] gives a block, in bytes; by default the device's limit.
    pub shared: Option<usize>,
    /// Skips the check. Ranks of an invalid list are then garbage, but the work is bounded and stays in its arrays.
    pub trusted: bool,
    /// Seed of the hashed splitters.
    pub seed: u32,
    /// Measures each step by events on the stream, so that each call waits for its end.
    pub timed: bool,
}
