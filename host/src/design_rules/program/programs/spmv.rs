//! The distributed sparse matrix-vector multiplication of the paper (section III-A, Figure 3).

use std::collections::BTreeMap;
use std::sync::{Arc, RwLock};

use super::{nan, read, write};
use crate::design_rules::program::{Exchange, Messages, Program, Setup, Staging};
use crate::design_rules::{Dag, OpId, RulesError};
use crate::device::{Buffer, Device, Stream};
use crate::ranks::Communicator;
use crate::spmv::{self, Csr, DeviceMatrix, Neighbour, Part, RankTraffic, SpmvReal, Traffic};

/// Its operations and dependences.
///
/// Each rank has some rows of A, and as many entries of x and y. `y_L` multiplies with the entries of x that the rank
/// has, `y_R` with those of others; `Pack` collects what others need; `add` is the sum of both parts.
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

/// The program as it is usually written, on one stream: messages travel while the local part is
/// computed.
pub const TEXTBOOK: &str =
    "PostRecv;Pack@0;CER-after-Pack;CES-b4-PostSend;PostSend;y_L@0;WaitRecv;y_R@0;WaitSend;add@0;CER-after-add;CES-b4-end";

/// The same by the rule that is learnt on H200s and A100s alike: `y_L` is enqueued behind the record after `Pack`, and
/// before the host waits for that, so that the GPU goes on while the host wakes up and sends.
pub const BY_THE_RULE: &str =
    "PostRecv;Pack@0;CER-after-Pack;y_L@0;CES-b4-PostSend;PostSend;WaitRecv;y_R@0;WaitSend;add@0;CER-after-add;CES-b4-end";

/// Numbers that describe a matrix over ranks, by name.
pub fn numbers(traffic: &Traffic) -> BTreeMap<String, f64> {
    let ranks = &traffic.ranks;
    let sum = |number: fn(&RankTraffic) -> usize| ranks.iter().map(number).sum::<usize>() as f64;
    let most = |number: fn(&RankTraffic) -> usize| ranks.iter().map(number).max().unwrap_or(0) as f64;
    let (rows, nonzeros) = (sum(|rank| rank.rows), sum(|rank| rank.local_nnz + rank.remote_nnz));
    let numbers = [
        ("ranks", ranks.len() as f64),
        ("rows", rows),
        ("nonzeros per row", nonzeros / rows.max(1.0)),
        ("local share of nonzeros", sum(|rank| rank.local_nnz) / nonzeros.max(1.0)),
        ("local nonzeros of a rank", most(|rank| rank.local_nnz)),
        ("remote nonzeros of a rank", most(|rank| rank.remote_nnz)),
        ("entries sent by a rank", most(RankTraffic::sent)),
        ("messages of a rank", most(|rank| rank.sends.len())),
    ];
    numbers.map(|(name, number)| (name.to_owned(), number)).into()
}

/// y = A x, with the rows of a square A, x and y divided over ranks.
///
/// Every schedule's y can be checked against the product on the host.
#[derive(Clone, Debug)]
pub struct Multiplication<T: SpmvReal> {
    matrix: Arc<Csr<T>>,
    x: Arc<Vec<T>>,
    staging: Staging,
}

impl<T: SpmvReal> Multiplication<T> {
    /// With this matrix and an x of its own making, whose entries differ and are about 1.
    pub fn new(matrix: Csr<T>, staging: Staging) -> Self {
        // The golden ratio's multiples are spread evenly.
        let entry = |index: usize| T::from_f64(0.5 + (index as f64 * 0.618_033_988_749_894_9).fract());
        let x = (0..matrix.columns()).map(entry).collect();
        Multiplication { matrix: Arc::new(matrix), x: Arc::new(x), staging }
    }
}

impl<T: SpmvReal> Setup for Multiplication<T> {
    fn numbers(&self, ranks: usize) -> Result<BTreeMap<String, f64>, RulesError> {
        Ok(numbers(&Traffic::new(&self.matrix, ranks)?))
    }

    /// # Errors
    /// [`RulesError::Spmv`] where the matrix is not square, or there are more ranks than rows; what the device says.
    fn rank(&self, device: &Device, ranks: &Arc<dyn Communicator>) -> Result<Box<dyn Program>, RulesError> {
        let part = Part::new(&self.matrix, ranks.size(), ranks.rank())?;
        let messages = |neighbours: &[Neighbour]| neighbours.iter().map(|to| (to.rank, to.range.clone())).collect();
        let messages = Messages { sends: messages(&part.sends), receives: messages(&part.receives) };
        // SAFETY: of the program's operations, Pack alone writes what is sent, and y_R alone reads what is received.
        // PostSend comes after Pack, and y_R after WaitRecv; the end comes after both waits and after `add`, and so
        // after y_R, and the next invocation after the end.
        let exchange = unsafe { Exchange::new(device, &**ranks, 0, &messages, self.staging)? };
        let rows = part.rows.clone();
        let reference = Reference::new(&self.matrix, &self.x, rows.clone());
        Ok(Box::new(Spmv {
            dag: dag(),
            stream: device.stream()?,
            x: device.upload(&self.x[rows.clone()])?,
            indices: device.upload(&part.pack)?,
            exchange,
            // Kernels that gather from across the bus would do it once for each nonzero.
            remote_x: RwLock::new(device.alloc_zeroed(part.remote.columns())?),
            local: DeviceMatrix::upload(device, &part.local)?,
            remote: DeviceMatrix::upload(device, &part.remote)?,
            local_y: RwLock::new(device.alloc_zeroed(rows.len())?),
            remote_y: RwLock::new(device.alloc_zeroed(rows.len())?),
            y: RwLock::new(device.alloc_zeroed(rows.len())?),
            reference,
        }))
    }
}

/// One rank's part.
struct Spmv<T: SpmvReal> {
    dag: Dag,
    /// For what is not part of a schedule.
    stream: Stream,
    x: Buffer<T>,
    indices: Buffer<u32>,
    exchange: Exchange<T>,
    remote_x: RwLock<Buffer<T>>,
    local: DeviceMatrix<T>,
    remote: DeviceMatrix<T>,
    local_y: RwLock<Buffer<T>>,
    remote_y: RwLock<Buffer<T>>,
    y: RwLock<Buffer<T>>,
    reference: Reference<T>,
}

/// The expected y of a rank, and the largest error allowed.
struct Reference<T> {
    first_row: usize,
    y: Vec<T>,
    bound: Vec<f64>,
}

impl<T: SpmvReal> Reference<T> {
    fn new(matrix: &Csr<T>, x: &[T], rows: std::ops::Range<usize>) -> Self {
        let product = |row: usize| {
            let (columns, values) = matrix.row(row);
            let terms = columns.iter().zip(values).map(|(&column, &value)| value.to_f64() * x[column as usize].to_f64());
            let (sum, magnitude) = terms.fold((0.0, 0.0), |(sum, magnitude), term| (sum + term, magnitude + term.abs()));
            // A sum of n products in any order is off by at most n roundings of the sum of magnitudes, and the sum of
            // two parts and this one add some.
            (T::from_f64(sum), (columns.len() + 3) as f64 * T::UNIT_ROUNDOFF * magnitude)
        };
        let (y, bound) = rows.clone().map(product).unzip();
        Reference { first_row: rows.start, y, bound }
    }

    fn difference(&self, y: &[T]) -> Option<String> {
        let wrong = |&row: &usize| {
            let difference = (y[row].to_f64() - self.y[row].to_f64()).abs();
            difference.is_nan() || difference > self.bound[row]
        };
        (0..y.len()).find(wrong).map(|row| format!("y[{}] is {}, but should be {}", self.first_row + row, y[row], self.y[row]))
    }
}

impl<T: SpmvReal> Program for Spmv<T> {
    fn dag(&self) -> &Dag {
        &self.dag
    }

    fn cpu(&self, op: OpId) -> Result<(), RulesError> {
        let link = self.exchange.link();
        match self.dag.name_of(op) {
            "PostSend" => link.post_sends()?,
            "PostRecv" => link.post_receives()?,
            "WaitSend" => link.wait_sends()?,
            "WaitRecv" => link.wait_receives()?,
            _ => {}
        }
        Ok(())
    }

    fn gpu(&self, op: OpId, stream: &Stream) -> Result<(), RulesError> {
        match self.dag.name_of(op) {
            "Pack" => self.exchange.to_send(|out| spmv::gather(stream, &self.x, &self.indices, out))?,
            "y_L" => self.local.multiply(stream, &self.x, &mut *write(&self.local_y))?,
            "y_R" if self.exchange.is_far(stream.device()) => {
                let mut x = write(&self.remote_x);
                self.exchange.received(|received| stream.copy(received, &mut *x))?;
                self.remote.multiply(stream, &*x, &mut *write(&self.remote_y))?;
            }
            "y_R" => self.exchange.received(|x| self.remote.multiply(stream, x, &mut *write(&self.remote_y)))?,
            "add" => spmv::add(stream, &*read(&self.local_y), &*read(&self.remote_y), &mut *write(&self.y))?,
            _ => {}
        }
        Ok(())
    }

    fn reset(&self) -> Result<(), RulesError> {
        self.exchange.fill(&self.stream, nan::<T>())?;
        for buffer in [&self.remote_x, &self.local_y, &self.remote_y, &self.y] {
            self.stream.fill(&mut *write(buffer), nan::<T>())?;
        }
        Ok(self.stream.synchronize()?)
    }

    fn difference(&self) -> Result<Option<String>, RulesError> {
        let y = self.stream.download_vec(&*read(&self.y))?;
        Ok(self.reference.difference(&y))
    }

    fn details(&self) -> String {
        self.exchange.place(self.stream.device()).to_owned()
    }
}
