//! Offsets for buffers that share one memory, by libmemstow: the least peak, and a proof or an honest gap.
//!
//! ```
//! let mut problem = memstow::Problem::new();
//! let image = problem.add(4096, 0..2, 1)?;
//! let scores = problem.add(2048, 1..3, 64)?;
//! problem.allow_in_place(image, scores)?;
//! let plan = problem.solve(&memstow::Options::default())?;
//! assert_eq!((plan.status, plan.peak), (memstow::Status::Optimal, 4096));
//! # Ok::<(), memstow::Error>(())
//! ```
//!
//! Sizes and offsets are bytes; a buffer is live from the begin of its range of times until before the end.

use std::ffi::{c_char, c_int, c_void, CStr};
use std::fmt;
use std::ops::Range;
use std::ptr;

mod raw {
    use super::{c_char, c_int, c_void};

    #[repr(C)]
    pub struct Problem {
        _private: [u8; 0],
    }
    #[repr(C)]
    pub struct Plan {
        _private: [u8; 0],
    }
    #[repr(C)]
    pub struct Stop {
        _private: [u8; 0],
    }
    #[repr(C)]
    pub struct Options {
        pub struct_size: usize,
        pub time_limit: f64,
        pub work_limit: i64,
        pub gap: f64,
        pub seed: u64,
        pub workers: u32,
        pub flags: u32,
        pub start: *const i64,
        pub stop: *const Stop,
        pub on_better: Option<extern "C" fn(*mut c_void, i64, *const i64) -> c_int>,
        pub on_bound: Option<extern "C" fn(*mut c_void, i64) -> c_int>,
        pub context: *mut c_void,
        pub message: *mut c_char,
        pub message_size: usize,
        pub start_pools: *const usize,
        pub on_better_in:
            Option<extern "C" fn(*mut c_void, i64, *const usize, *const i64) -> c_int>,
    }

    extern "C" {
        pub fn memstow_abi_version() -> c_int;
        pub fn memstow_code_text(code: c_int) -> *const c_char;
        pub fn memstow_problem_create(problem: *mut *mut Problem) -> c_int;
        pub fn memstow_problem_destroy(problem: *mut Problem);
        pub fn memstow_problem_error(problem: *const Problem) -> *const c_char;
        pub fn memstow_buffer_count(problem: *const Problem) -> usize;
        pub fn memstow_add_buffers(
            problem: *mut Problem,
            count: usize,
            sizes: *const i64,
            begins: *const i64,
            ends: *const i64,
            alignments: *const i64,
        ) -> c_int;
        pub fn memstow_pool_count(problem: *const Problem) -> usize;
        pub fn memstow_add_pools(
            problem: *mut Problem,
            count: usize,
            capacities: *const i64,
            costs: *const i64,
        ) -> c_int;
        pub fn memstow_set_cost(problem: *mut Problem, pool: usize, cost: i64) -> c_int;
        pub fn memstow_set_addresses(
            problem: *mut Problem,
            pool: usize,
            base: i64,
            alignment: i64,
        ) -> c_int;
        pub fn memstow_reserve_in(
            problem: *mut Problem,
            pool: usize,
            offset: i64,
            size: i64,
        ) -> c_int;
        pub fn memstow_allow_pools(
            problem: *mut Problem,
            buffer: usize,
            count: usize,
            pools: *const usize,
        ) -> c_int;
        pub fn memstow_set_accesses(problem: *mut Problem, buffer: usize, accesses: i64) -> c_int;
        pub fn memstow_add_reuse_cost(
            problem: *mut Problem,
            one: usize,
            other: usize,
            cost: i64,
        ) -> c_int;
        pub fn memstow_add_banks(
            problem: *mut Problem,
            pool: usize,
            offset: i64,
            size: i64,
            count: usize,
        ) -> c_int;
        pub fn memstow_keep_within_bank(problem: *mut Problem, buffer: usize) -> c_int;
        pub fn memstow_allow_banks(
            problem: *mut Problem,
            buffer: usize,
            count: usize,
            banks: *const usize,
        ) -> c_int;
        pub fn memstow_add_bank_conflict(
            problem: *mut Problem,
            count: usize,
            buffers: *const usize,
            cost: i64,
        ) -> c_int;
        pub fn memstow_add_term(problem: *mut Problem, term: c_int, pool: usize) -> c_int;
        pub fn memstow_plan_pools(plan: *const Plan) -> *const usize;
        pub fn memstow_plan_terms(plan: *const Plan) -> usize;
        pub fn memstow_plan_term(
            plan: *const Plan,
            index: usize,
            term: *mut c_int,
            pool: *mut usize,
            value: *mut i64,
            bound: *mut i64,
            proof: *mut c_int,
            searches: *mut i64,
        ) -> c_int;
        pub fn memstow_judge_in(
            problem: *const Problem,
            pools: *const usize,
            offsets: *const i64,
            peak: *mut i64,
            message: *mut c_char,
            message_size: usize,
        ) -> c_int;
        pub fn memstow_set_capacity(problem: *mut Problem, capacity: i64) -> c_int;
        pub fn memstow_reserve(problem: *mut Problem, offset: i64, size: i64) -> c_int;
        pub fn memstow_add_lifetime(problem: *mut Problem, buffer: usize, begin: i64, end: i64) -> c_int;
        pub fn memstow_pin(problem: *mut Problem, buffer: usize, offset: i64) -> c_int;
        pub fn memstow_tie(problem: *mut Problem, buffer: usize, base: usize, distance: i64) -> c_int;
        pub fn memstow_keep_apart(problem: *mut Problem, one: usize, other: usize) -> c_int;
        pub fn memstow_never_together(problem: *mut Problem, one: usize, other: usize) -> c_int;
        pub fn memstow_allow_in_place(problem: *mut Problem, input: usize, output: usize) -> c_int;
        pub fn memstow_options_init(options: *mut Options);
        pub fn memstow_solve(problem: *const Problem, options: *const Options, plan: *mut *mut Plan) -> c_int;
        pub fn memstow_plan_destroy(plan: *mut Plan);
        pub fn memstow_plan_status(plan: *const Plan) -> c_int;
        pub fn memstow_plan_offsets(plan: *const Plan) -> *const i64;
        pub fn memstow_plan_peak(plan: *const Plan) -> i64;
        pub fn memstow_plan_bound(plan: *const Plan) -> i64;
        pub fn memstow_plan_moves(plan: *const Plan) -> usize;
        pub fn memstow_plan_solver(plan: *const Plan) -> *const c_char;
        pub fn memstow_stop_create(stop: *mut *mut Stop) -> c_int;
        pub fn memstow_stop_pull(stop: *mut Stop);
        pub fn memstow_stop_destroy(stop: *mut Stop);
    }
}

/// The binary interface that this crate was written for.
const ABI_VERSION: c_int = 2;
const MESSAGE_SIZE: usize = 256;
const NEVER: i64 = -1;
const DETERMINISTIC: u32 = 1;
const FIT_ONLY: u32 = 2;
const FEW_MOVES: u32 = 4;

/// Why a call failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Error {
    /// An argument is not valid; the text says which, and why.
    Invalid(String),
    OutOfMemory,
    /// Sizes add up to 2^62 units or more.
    TooLarge,
    /// A plan was refused by the judge: please report it.
    Internal(String),
}

impl fmt::Display for Error {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Invalid(text) | Error::Internal(text) => to.write_str(text),
            Error::OutOfMemory => to.write_str("out of memory"),
            Error::TooLarge => to.write_str("sizes add up to too much"),
        }
    }
}

impl std::error::Error for Error {}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// Proven: no plan has less of a term, with as much of those before it.
    Optimal,
    /// A plan; the least value of a term is between its bound and that of the plan.
    Feasible,
    /// Proven: no plan fits into the capacities.
    Infeasible,
    /// The limits ended the search before a plan that fits, or a proof.
    Unknown,
}

/// What is minimised.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Term {
    /// The ends of the last buffers of the pools, added up.
    Peak,
    /// That of one pool.
    PoolPeak(usize),
    /// The largest of them.
    MaxPeak,
    /// Accesses times the cost of their pool.
    PlacementCost,
    /// The costs of pairs that share a byte.
    ReuseCost,
    /// Buffers that are elsewhere than in the start.
    Moves,
    /// Bytes times how many pools their buffer prefers to its own.
    Preference,
    /// The costs of pairs that touch a common bank.
    BankCost,
}

impl Term {
    fn raw(self) -> (c_int, usize) {
        match self {
            Term::Peak => (0, 0),
            Term::PoolPeak(pool) => (1, pool),
            Term::MaxPeak => (2, 0),
            Term::PlacementCost => (3, 0),
            Term::ReuseCost => (4, 0),
            Term::Moves => (5, 0),
            Term::Preference => (6, 0),
            Term::BankCost => (7, 0),
        }
    }

    fn of(term: c_int, pool: usize) -> Term {
        match term {
            0 => Term::Peak,
            1 => Term::PoolPeak(pool),
            2 => Term::MaxPeak,
            3 => Term::PlacementCost,
            4 => Term::ReuseCost,
            5 => Term::Moves,
            6 => Term::Preference,
            _ => Term::BankCost,
        }
    }
}

/// A term of a plan. No plan has less than the bound, with as much of the terms before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Value {
    pub term: Term,
    pub value: i64,
    pub bound: i64,
}

#[derive(Debug, Clone)]
pub struct Plan {
    pub status: Status,
    /// By buffer; `None` where no plan is known that fits.
    pub offsets: Option<Vec<i64>>,
    /// By buffer, beside the offsets.
    pub pools: Option<Vec<usize>>,
    /// In the order in which they count.
    pub terms: Vec<Value>,
    /// Of all pools, added up.
    pub peak: i64,
    /// No plan has a lower peak.
    pub bound: i64,
    /// How many buffers are elsewhere than in the start, where moves count.
    pub moves: usize,
    /// Who found the plan, such as `exact`.
    pub solver: String,
}

/// Ends runs from another thread; the best plan so far is returned.
pub struct Stop(*mut raw::Stop);

// SAFETY: the library only stores and loads an atomic.
unsafe impl Send for Stop {}
unsafe impl Sync for Stop {}

impl Stop {
    pub fn new() -> Stop {
        let mut stop = ptr::null_mut();
        // SAFETY: the pointer is that of a variable.
        assert_eq!(unsafe { raw::memstow_stop_create(&mut stop) }, 0, "out of memory");
        Stop(stop)
    }

    pub fn pull(&self) {
        // SAFETY: it lives as long as this object.
        unsafe { raw::memstow_stop_pull(self.0) }
    }
}

impl Default for Stop {
    fn default() -> Self {
        Stop::new()
    }
}

impl Drop for Stop {
    fn drop(&mut self) {
        // SAFETY: nobody else destroys it, and no run outlives the borrow of its options.
        unsafe { raw::memstow_stop_destroy(self.0) }
    }
}

#[derive(Default)]
pub struct Options<'a> {
    /// Seconds of the call; `None`: 10. Not of deterministic runs.
    pub time_limit: Option<f64>,
    /// Steps of work.
    pub work_limit: Option<u64>,
    /// A plan within this fraction of its bound is good enough.
    pub gap: f64,
    pub seed: u64,
    /// Threads; 0 and 1: the caller's alone.
    pub workers: u32,
    /// Limits work and not time: the same input gives the same plan.
    pub deterministic: bool,
    /// Any plan within the capacity will do.
    pub fit_only: bool,
    /// As few buffers as possible are elsewhere than in the start, in which those that are new are at -1.
    pub few_moves: bool,
    /// By buffer: offsets to start from.
    pub start: Option<&'a [i64]>,
    /// By buffer: the pools of the start; `None`: all of them 0.
    pub start_pools: Option<&'a [usize]>,
    pub stop: Option<&'a Stop>,
}

/// Buffers that share one memory.
pub struct Problem(*mut raw::Problem);

// SAFETY: calls that change it take `&mut self`; others only read.
unsafe impl Send for Problem {}
unsafe impl Sync for Problem {}

impl Problem {
    /// Without buffers, in a memory without an end.
    pub fn new() -> Problem {
        let mut problem = ptr::null_mut();
        // SAFETY: both calls take no more than the pointer of a variable.
        unsafe {
            assert_eq!(raw::memstow_abi_version(), ABI_VERSION, "another version of libmemstow");
            assert_eq!(raw::memstow_problem_create(&mut problem), 0, "out of memory");
        }
        Problem(problem)
    }

    pub fn len(&self) -> usize {
        // SAFETY: the problem lives as long as this object, here and below.
        unsafe { raw::memstow_buffer_count(self.0) }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of the new buffer.
    pub fn add(&mut self, size: i64, life: Range<i64>, alignment: i64) -> Result<usize, Error> {
        // SAFETY: each array has the one value that is asked for.
        let code =
            unsafe { raw::memstow_add_buffers(self.0, 1, &size, &life.start, &life.end, &alignment) };
        self.checked(code)?;
        Ok(self.len() - 1)
    }

    /// The number of the new pool, of which 0 is there from the begin; without a capacity it has no end.
    pub fn add_pool(&mut self, capacity: Option<i64>, cost: i64) -> Result<usize, Error> {
        let end = capacity.unwrap_or(1 << 62);
        // SAFETY: each array has the one value that is asked for.
        self.checked(unsafe { raw::memstow_add_pools(self.0, 1, &end, &cost) })?;
        Ok(unsafe { raw::memstow_pool_count(self.0) } - 1)
    }

    /// Of one access.
    pub fn set_cost(&mut self, pool: usize, cost: i64) -> Result<(), Error> {
        self.checked(unsafe { raw::memstow_set_cost(self.0, pool, cost) })
    }

    /// Offset 0 of the pool has the address `base`, and each address is a multiple of the alignment.
    pub fn set_addresses(&mut self, pool: usize, base: i64, alignment: i64) -> Result<(), Error> {
        self.checked(unsafe { raw::memstow_set_addresses(self.0, pool, base, alignment) })
    }

    /// Bytes of the pool that no buffer may use.
    pub fn reserve_in(&mut self, pool: usize, bytes: Range<i64>) -> Result<(), Error> {
        let size = bytes.end.checked_sub(bytes.start).unwrap_or(-1);
        self.checked(unsafe { raw::memstow_reserve_in(self.0, pool, bytes.start, size) })
    }

    /// The pools that the buffer may go to, preferred first.
    pub fn allow_pools(&mut self, buffer: usize, pools: &[usize]) -> Result<(), Error> {
        self.checked(unsafe {
            raw::memstow_allow_pools(self.0, buffer, pools.len(), pools.as_ptr())
        })
    }

    /// How many there are of the buffer; else as many as it has bytes.
    pub fn set_accesses(&mut self, buffer: usize, accesses: i64) -> Result<(), Error> {
        self.checked(unsafe { raw::memstow_set_accesses(self.0, buffer, accesses) })
    }

    /// It costs this much where the two share a byte.
    pub fn add_reuse_cost(&mut self, one: usize, other: usize, cost: i64) -> Result<(), Error> {
        self.checked(unsafe { raw::memstow_add_reuse_cost(self.0, one, other, cost) })
    }

    /// Banks of the pool: so many of this size, one after the other from the offset on.
    pub fn add_banks(
        &mut self,
        pool: usize,
        offset: i64,
        size: i64,
        count: usize,
    ) -> Result<(), Error> {
        self.checked(unsafe { raw::memstow_add_banks(self.0, pool, offset, size, count) })
    }

    /// All of the buffer's bytes are in one bank.
    pub fn keep_within_bank(&mut self, buffer: usize) -> Result<(), Error> {
        self.checked(unsafe { raw::memstow_keep_within_bank(self.0, buffer) })
    }

    /// The banks of its pool, counted by address, that the buffer's bytes may be in.
    pub fn allow_banks(&mut self, buffer: usize, banks: &[usize]) -> Result<(), Error> {
        self.checked(unsafe {
            raw::memstow_allow_banks(self.0, buffer, banks.len(), banks.as_ptr())
        })
    }

    /// It costs this much for each two of the buffers that touch a common bank; `None`: no two may.
    pub fn add_bank_conflict(&mut self, buffers: &[usize], cost: Option<i64>) -> Result<(), Error> {
        if cost.map_or(false, |cost| cost < 0) {
            return Err(Error::Invalid(format!("a cost of {}", cost.unwrap_or(0))));
        }
        self.checked(unsafe {
            raw::memstow_add_bank_conflict(
                self.0,
                buffers.len(),
                buffers.as_ptr(),
                cost.unwrap_or(NEVER),
            )
        })
    }

    /// A further term, which counts among plans that are equal in the terms before it.
    pub fn add_term(&mut self, term: Term) -> Result<(), Error> {
        let (number, pool) = term.raw();
        self.checked(unsafe { raw::memstow_add_term(self.0, number, pool) })
    }

    /// Of pool 0.
    pub fn set_capacity(&mut self, capacity: i64) -> Result<(), Error> {
        self.checked(unsafe { raw::memstow_set_capacity(self.0, capacity) })
    }

    /// Bytes of the memory that no buffer may use.
    pub fn reserve(&mut self, bytes: Range<i64>) -> Result<(), Error> {
        let size = bytes.end.checked_sub(bytes.start).unwrap_or(-1);
        self.checked(unsafe { raw::memstow_reserve(self.0, bytes.start, size) })
    }

    /// A further time in which the buffer is live.
    pub fn add_lifetime(&mut self, buffer: usize, life: Range<i64>) -> Result<(), Error> {
        self.checked(unsafe { raw::memstow_add_lifetime(self.0, buffer, life.start, life.end) })
    }

    /// Where the buffer must be.
    pub fn pin(&mut self, buffer: usize, offset: i64) -> Result<(), Error> {
        self.checked(unsafe { raw::memstow_pin(self.0, buffer, offset) })
    }

    /// The buffer is this far above the base, or below it, in one piece; the two may share bytes.
    pub fn tie(&mut self, buffer: usize, base: usize, distance: i64) -> Result<(), Error> {
        self.checked(unsafe { raw::memstow_tie(self.0, buffer, base, distance) })
    }

    /// The two may share no byte, whenever they are live.
    pub fn keep_apart(&mut self, one: usize, other: usize) -> Result<(), Error> {
        self.checked(unsafe { raw::memstow_keep_apart(self.0, one, other) })
    }

    /// The two are never live together, whatever their lifetimes.
    pub fn never_together(&mut self, one: usize, other: usize) -> Result<(), Error> {
        self.checked(unsafe { raw::memstow_never_together(self.0, one, other) })
    }

    /// The two may share bytes, but only where both begin at the same offset.
    pub fn allow_in_place(&mut self, input: usize, output: usize) -> Result<(), Error> {
        self.checked(unsafe { raw::memstow_allow_in_place(self.0, input, output) })
    }

    pub fn solve(&self, options: &Options<'_>) -> Result<Plan, Error> {
        if options.start.map_or(false, |start| start.len() != self.len()) {
            return Err(Error::Invalid("the start has another number of buffers".into()));
        }
        if options.start_pools.map_or(false, |pools| pools.len() != self.len()) {
            return Err(Error::Invalid("the pools of the start are of another number of buffers".into()));
        }
        let mut message = [0 as c_char; MESSAGE_SIZE];
        let mut plan = ptr::null_mut();
        // SAFETY: what the options point to outlives the call, and so does the message.
        let code = unsafe {
            let mut raw: raw::Options = std::mem::zeroed();
            raw::memstow_options_init(&mut raw);
            if let Some(seconds) = options.time_limit {
                raw.time_limit = seconds;
            }
            raw.work_limit =
                options.work_limit.map_or(-1, |steps| i64::try_from(steps).unwrap_or(i64::MAX));
            raw.gap = options.gap;
            raw.seed = options.seed;
            raw.workers = options.workers;
            raw.flags = if options.deterministic { DETERMINISTIC } else { 0 }
                | if options.fit_only { FIT_ONLY } else { 0 }
                | if options.few_moves { FEW_MOVES } else { 0 };
            raw.start = options.start.map_or(ptr::null(), <[i64]>::as_ptr);
            raw.start_pools = options.start_pools.map_or(ptr::null(), <[usize]>::as_ptr);
            raw.stop = options.stop.map_or(ptr::null(), |stop| stop.0);
            raw.message = message.as_mut_ptr();
            raw.message_size = MESSAGE_SIZE;
            raw::memstow_solve(self.0, &raw, &mut plan)
        };
        failure(code, &message)?;
        // SAFETY: the plan is there, and its offsets are one for each buffer.
        unsafe {
            let offsets = raw::memstow_plan_offsets(plan);
            let pools = raw::memstow_plan_pools(plan);
            let terms = (0..raw::memstow_plan_terms(plan)).map(|index| {
                let (mut term, mut pool, mut value, mut bound) = (0, 0, 0, 0);
                raw::memstow_plan_term(
                    plan,
                    index,
                    &mut term,
                    &mut pool,
                    &mut value,
                    &mut bound,
                    ptr::null_mut(),
                    ptr::null_mut(),
                );
                Value { term: Term::of(term, pool), value, bound }
            });
            let result = Plan {
                status: match raw::memstow_plan_status(plan) {
                    0 => Status::Optimal,
                    1 => Status::Feasible,
                    2 => Status::Infeasible,
                    _ => Status::Unknown,
                },
                offsets: (!offsets.is_null())
                    .then(|| std::slice::from_raw_parts(offsets, self.len()).to_vec()),
                pools: (!pools.is_null())
                    .then(|| std::slice::from_raw_parts(pools, self.len()).to_vec()),
                terms: terms.collect(),
                peak: raw::memstow_plan_peak(plan),
                bound: raw::memstow_plan_bound(plan),
                moves: raw::memstow_plan_moves(plan),
                solver: text(raw::memstow_plan_solver(plan)),
            };
            raw::memstow_plan_destroy(plan);
            Ok(result)
        }
    }

    /// The peak of these offsets, by code that shares nothing with the solvers; or what is wrong with them.
    pub fn judge(&self, offsets: &[i64]) -> Result<i64, Error> {
        self.judged(offsets, None)
    }

    /// The same in these pools.
    pub fn judge_in(&self, pools: &[usize], offsets: &[i64]) -> Result<i64, Error> {
        self.judged(offsets, Some(pools))
    }

    fn judged(&self, offsets: &[i64], pools: Option<&[usize]>) -> Result<i64, Error> {
        let wrong = |count: usize| count != self.len();
        if wrong(offsets.len()) || pools.map_or(false, |pools| wrong(pools.len())) {
            return Err(Error::Invalid("another number of buffers".into()));
        }
        let mut message = [0 as c_char; MESSAGE_SIZE];
        let mut peak = 0;
        // SAFETY: there is an offset for each buffer, and a pool, and room for the message.
        let code = unsafe {
            raw::memstow_judge_in(
                self.0,
                pools.map_or(ptr::null(), <[usize]>::as_ptr),
                offsets.as_ptr(),
                &mut peak,
                message.as_mut_ptr(),
                MESSAGE_SIZE,
            )
        };
        failure(code, &message)?;
        Ok(peak)
    }

    fn checked(&self, code: c_int) -> Result<(), Error> {
        match code {
            0 => Ok(()),
            2 => Err(Error::OutOfMemory),
            // SAFETY: the text lives until the next call that changes the problem.
            _ => Err(Error::Invalid(unsafe { text(raw::memstow_problem_error(self.0)) })),
        }
    }
}

impl Default for Problem {
    fn default() -> Self {
        Problem::new()
    }
}

impl Drop for Problem {
    fn drop(&mut self) {
        // SAFETY: nobody else destroys it.
        unsafe { raw::memstow_problem_destroy(self.0) }
    }
}

fn failure(code: c_int, message: &[c_char]) -> Result<(), Error> {
    // SAFETY: the library ends messages with a 0, and an empty one begins with it; texts of codes are static.
    let said = unsafe { text(message.as_ptr()) };
    let said = if said.is_empty() { unsafe { text(raw::memstow_code_text(code)) } } else { said };
    match code {
        0 => Ok(()),
        1 => Err(Error::Invalid(said)),
        2 => Err(Error::OutOfMemory),
        3 => Err(Error::TooLarge),
        _ => Err(Error::Internal(said)),
    }
}

/// SAFETY: the pointer is that of a text that ends with a 0.
unsafe fn text(from: *const c_char) -> String {
    CStr::from_ptr(from).to_string_lossy().into_owned()
}
