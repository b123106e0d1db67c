//! Ranks of any kind: all of them call these together.

use warpsmith::ranks::{Communicator, Message, Plan, Region};

pub fn all(ranks: &dyn Communicator) {
    collective_calls(ranks);
    bulk_exchanges(ranks);
    messages_move_while_ranks_wait(ranks);
    counters(ranks);
    plans_that_cannot_be(ranks);
}

fn collective_calls(ranks: &dyn Communicator) {
    let (rank, size) = (ranks.rank(), ranks.size());
    for round in 0..100u8 {
        assert_eq!(ranks.max(-(rank as f64)).unwrap(), 0.0);
        assert_eq!(ranks.max(rank as f64).unwrap(), (size - 1) as f64);
        let sent = if rank == 0 { vec![round, 2, 3] } else { vec![9; 7] };
        assert_eq!(ranks.broadcast(sent).unwrap(), [round, 2, 3]);
        let expected: Vec<_> = if rank == 0 { (0..size).map(|rank| vec![rank as u8; rank]).collect() } else { Vec::new() };
        assert_eq!(ranks.gather(vec![rank as u8; rank]).unwrap(), expected);
    }
}

/// Each rank sends each other one another number of bytes, and some none, several times over.
fn bulk_exchanges(ranks: &dyn Communicator) {
    let (rank, size) = (ranks.rank(), ranks.size());
    let for_all: Vec<u8> = (0..size).flat_map(|to| [rank as u8, to as u8]).collect();
    let from_all: Vec<u8> = (0..size).flat_map(|from| [from as u8, rank as u8]).collect();
    assert_eq!(ranks.all_to_all(&for_all).unwrap(), from_all);
    assert!(ranks.all_to_all(&[]).unwrap().is_empty());
    let error = (size > 1).then(|| ranks.all_to_all(&vec![0; size + 1]).unwrap_err().to_string());
    assert!(error.is_none_or(|error| error == format!("{} bytes can't be divided among {size} ranks", size + 1)));
    for round in 0..20 {
        let len = |from: usize, to: usize| (3 * from + 5 * to + round) % 4;
        let others = || (0..size).filter(|&other| other != rank);
        let (mut send, mut receive) = (vec![rank as u8; 4 * size], vec![u8::MAX; 4 * size]);
        let sends = others().map(|to| Message { rank: to, bytes: 4 * to..4 * to + len(rank, to) }).collect();
        let receives = others().map(|from| Message { rank: from, bytes: 4 * from..4 * from + len(from, rank) }).collect();
        let (send, received) = (Region::new(send.as_mut_ptr(), send.len()), Region::new(receive.as_mut_ptr(), receive.len()));
        // SAFETY: both vectors live longer than the call, and nobody else has them.
        unsafe { ranks.exchange(&Plan { tag: 5, sends, receives, send, receive: received }).unwrap() };
        for from in others() {
            let (came, rest) = receive[4 * from..4 * from + 4].split_at(len(from, rank));
            assert!(came.iter().all(|&byte| byte == from as u8) && rest.iter().all(|&byte| byte == u8::MAX));
        }
    }
}

/// Two links at a time. Each rank waits for its sends on one link before it receives on the other,
/// so that waiting ranks must copy the messages that others wait for.
fn messages_move_while_ranks_wait(ranks: &dyn Communicator) {
    const LEN: usize = 100;
    let (rank, size) = (ranks.rank(), ranks.size());
    let others = || (0..size).filter(|&other| other != rank);
    let [mut send, mut receive] = [(); 2].map(|()| [(); 2].map(|()| vec![0u8; size * LEN]));
    let region = |bytes: &mut [u8]| Region::new(bytes.as_mut_ptr(), bytes.len());
    let messages = || others().map(|rank| Message { rank, bytes: rank * LEN..(rank + 1) * LEN }).collect::<Vec<_>>();
    let links = [0, 1].map(|tag| {
        let (send, receive) = (region(&mut send[tag]), region(&mut receive[tag]));
        let plan = Plan { tag: tag as u16, sends: messages(), receives: messages(), send, receive };
        // SAFETY: the arrays live to the end of this function, and are touched only between waits and posts.
        unsafe { ranks.link(plan).unwrap() }
    });
    for round in 0..50u8 {
        for (tag, send) in send.iter_mut().enumerate() {
            for other in others() {
                send[other * LEN..(other + 1) * LEN].fill(round ^ (64 * tag + 8 * rank + other) as u8);
            }
        }
        links.iter().for_each(|link| link.post_receives().unwrap());
        links.iter().for_each(|link| link.post_sends().unwrap());
        // Every other rank begins with the other link.
        let first = rank % 2;
        links[first].wait_sends().unwrap();
        links[1 - first].wait_receives().unwrap();
        links[1 - first].wait_sends().unwrap();
        links[first].wait_receives().unwrap();
        for (tag, receive) in receive.iter().enumerate() {
            for other in others() {
                let expected = round ^ (64 * tag + 8 * other + rank) as u8;
                assert!(receive[other * LEN..(other + 1) * LEN].iter().all(|&byte| byte == expected));
            }
        }
    }
}

/// Each number is some rank's, and no two ranks'.
fn counters(ranks: &dyn Communicator) {
    for _ in 0..3 {
        let counter = ranks.counter().unwrap();
        let mine: Vec<u8> =
            std::iter::from_fn(|| counter.next().ok().filter(|&next| next < 200).map(|next| next as u8)).collect();
        assert!(mine.is_sorted());
        let mut all = ranks.gather(mine).unwrap().concat();
        all.sort_unstable();
        assert!(ranks.rank() > 0 || all.iter().copied().eq(0..200), "{all:?}");
        counter.end();
    }
}

fn plans_that_cannot_be(ranks: &dyn Communicator) {
    let (rank, size) = (ranks.rank(), ranks.size());
    let mut bytes = [0u8; 8];
    let region = Region::new(bytes.as_mut_ptr(), 8);
    let error = |sends: Vec<(usize, std::ops::Range<usize>)>| {
        let sends = sends.into_iter().map(|(rank, bytes)| Message { rank, bytes }).collect();
        let plan = Plan { tag: 0, sends, receives: Vec::new(), send: region, receive: region };
        // SAFETY: it is refused.
        unsafe { ranks.link(plan) }.err().expect("it can't be").to_string()
    };
    let says = |other: usize, what: &str| format!("rank {rank} has a message to rank {other} {what}");
    assert_eq!(error(vec![(size, 0..1)]), says(size, &format!("of {size}")));
    assert_eq!(error(vec![(rank, 0..1)]), says(rank, "itself"));
    if size > 1 {
        let other = (rank + 1) % size;
        assert_eq!(error(vec![(other, 0..1), (other, 1..2)]), says(other, "twice"));
        assert_eq!(error(vec![(other, 0..9)]), says(other, "at bytes 0..9 of 8"));
    }
}
