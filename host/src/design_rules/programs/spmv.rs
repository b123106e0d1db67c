//! The distributed sparse matrix-vector multiplication of the paper (section III-A, Figure 3).

use super::super::Dag;

/// Its operations and dependences.
///
/// Each rank has some rows of A, and as many entries of x and y. `y_L` multiplies with the entries of x that the rank has, `y_R` with
/// those of others; `Pack` collects what others need; `add` is the sum of both parts.
pub fn dag() -> Dag {
    Dag::builder("spmv")
        .gpu("Pack")
        .cpu("PostSend")
        .cpu("PostRecv")
        .cpu("WaitSend")
        .cpu("WaitRecv")
        .gpu("y_L")
        .gpu("y_R")
        .gpu("add")
        .edge("Pack", "PostSend")
        .edge("PostSend", "WaitSend")
        .edge("PostSend", "WaitRecv")
        .edge("PostRecv", "WaitSend")
        .edge("PostRecv", "WaitRecv")
        .edge("WaitRecv", "y_R")
        .edge("y_L", "add")
        .edge("y_R", "add")
        .edge("add", "end")
        .edge("WaitSend", "end")
        .build()
        .expect("the operations are known and form no cycle")
}
