use memstow::{Error, Options, Problem, Status, Stop, Term, Value};

fn three() -> Problem {
    let mut problem = Problem::new();
    for begin in 0..3 {
        problem.add(8, begin..begin + 2, 1).unwrap();
    }
    problem
}

#[test]
fn a_plan_is_what_the_judge_accepts() {
    let problem = three();
    let plan = problem.solve(&Options { deterministic: true, ..Options::default() }).unwrap();
    assert_eq!((plan.status, plan.peak, plan.bound), (Status::Optimal, 16, 16));
    assert_eq!(problem.judge(&plan.offsets.unwrap()), Ok(16));
    assert!(matches!(problem.judge(&[0, 0, 0]), Err(Error::Invalid(text)) if text.starts_with("an overlap")));
}

#[test]
fn each_rule_is_followed() {
    let mut problem = three();
    problem.reserve(0..4).unwrap();
    problem.pin(1, 24).unwrap();
    problem.keep_apart(0, 2).unwrap();
    let plan = problem.solve(&Options::default()).unwrap();
    assert_eq!(plan.offsets.as_ref().unwrap()[1], 24);
    assert_eq!(problem.judge(plan.offsets.as_ref().unwrap()), Ok(32));
    problem.never_together(0, 1).unwrap();
    let view = problem.add(4, 2..4, 1).unwrap();
    problem.tie(view, 2, 4).unwrap();
    assert!(problem.tie(view, 2, 0).is_err());
    problem.add_lifetime(0, 9..10).unwrap();
    problem.allow_in_place(1, 2).unwrap();
    assert_eq!(problem.solve(&Options::default()).unwrap().status, Status::Optimal);
}

#[test]
fn few_buffers_move_from_a_start() {
    let options = Options { start: Some(&[8, 0, -1]), few_moves: true, ..Options::default() };
    let plan = three().solve(&options).unwrap();
    assert_eq!((plan.status, plan.moves, plan.offsets), (Status::Optimal, 0, Some(vec![8, 0, 8])));
}

#[test]
fn nothing_that_does_not_fit_has_offsets() {
    let mut problem = three();
    problem.set_capacity(15).unwrap();
    let plan = problem.solve(&Options { fit_only: true, ..Options::default() }).unwrap();
    assert_eq!((plan.status, plan.offsets), (Status::Infeasible, None));
}

#[test]
fn what_is_wrong_is_said() {
    let mut problem = three();
    assert_eq!(problem.pin(7, 0), Err(Error::Invalid("there is no buffer 7: the problem has 3".into())));
    assert!(problem.add(-1, 0..1, 1).is_err());
    assert!(problem.reserve(9..4).is_err());
    assert!(problem.solve(&Options { start: Some(&[0]), ..Options::default() }).is_err());
    assert!(problem.solve(&Options { gap: f64::NAN, ..Options::default() }).is_err());
}

#[test]
fn a_stop_that_was_pulled_ends_the_run_with_a_plan() {
    let stop = Stop::new();
    stop.pull();
    let plan = three().solve(&Options { stop: Some(&stop), ..Options::default() }).unwrap();
    assert!(plan.offsets.is_some());
}

#[test]
fn buffers_go_to_the_cheapest_pool_that_has_room() {
    let mut problem = three();
    problem.set_capacity(8).unwrap();
    let slow = problem.add_pool(None, 3).unwrap();
    problem.set_cost(0, 1).unwrap();
    problem.set_accesses(1, 100).unwrap();
    problem.set_addresses(slow, 64, 16).unwrap();
    problem.reserve_in(slow, 0..16).unwrap();
    let options = Options { deterministic: true, ..Options::default() };
    let plan = problem.solve(&options).unwrap();
    assert_eq!((plan.status, plan.peak), (Status::Optimal, 32));
    assert_eq!(plan.pools, Some(vec![slow, 0, slow]));
    assert_eq!(plan.terms[0], Value { term: Term::PlacementCost, value: 148, bound: 148 });
    let (pools, offsets) = (plan.pools.unwrap(), plan.offsets.unwrap());
    assert_eq!(problem.judge_in(&pools, &offsets), Ok(32));
    assert!(matches!(problem.judge(&offsets), Err(Error::Invalid(_))));
    problem.allow_pools(1, &[slow]).unwrap();
    problem.add_term(Term::PoolPeak(slow)).unwrap();
    assert!(problem.add_term(Term::PoolPeak(slow)).is_err());
    let plan = problem.solve(&options).unwrap();
    assert_eq!((plan.pools, plan.peak), (Some(vec![0, slow, 0]), 32));
    let moved = Options {
        start: Some(&[16, 0, 16]),
        start_pools: Some(&[1, 0, 1]),
        few_moves: true,
        ..Options::default()
    };
    assert_eq!(problem.solve(&moved).unwrap().moves, 1);
}

#[test]
fn what_shares_bytes_is_paid_for() {
    let mut problem = three();
    problem.add_reuse_cost(0, 2, 5).unwrap();
    problem.add_term(Term::ReuseCost).unwrap();
    problem.add_term(Term::Peak).unwrap();
    let plan = problem.solve(&Options::default()).unwrap();
    assert_eq!((plan.status, plan.peak, plan.terms[0].value), (Status::Optimal, 24, 0));
}

#[test]
fn buffers_are_spread_over_banks() {
    let mut problem = three();
    problem.set_capacity(48).unwrap();
    problem.add_banks(0, 0, 16, 3).unwrap();
    assert!(problem.add_banks(0, 40, 16, 1).is_err());
    problem.keep_within_bank(0).unwrap();
    problem.allow_banks(1, &[2]).unwrap();
    problem.add_bank_conflict(&[0, 2], None).unwrap();
    problem.add_bank_conflict(&[0, 1, 2], Some(3)).unwrap();
    assert!(problem.add_bank_conflict(&[0, 1], Some(-1)).is_err());
    problem.add_term(Term::BankCost).unwrap();
    problem.add_term(Term::Peak).unwrap();
    let plan = problem.solve(&Options { deterministic: true, ..Options::default() }).unwrap();
    assert_eq!(plan.terms[0], Value { term: Term::BankCost, value: 0, bound: 0 });
    let offsets = plan.offsets.unwrap();
    assert_eq!((offsets[1], plan.peak), (32, 40));
    assert_ne!(offsets[0] / 16, offsets[2] / 16);
    assert!(matches!(problem.judge(&[0, 32, 8]), Err(Error::Invalid(text)) if text.contains("bank")));
}
