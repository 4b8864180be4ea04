"""Runs HiGHS through PuLP's interface to `highspy`, which reports solutions and bounds while it runs."""

from typing import Any

import highspy
import pulp

from memstow.solvers.constraints import Relations
from memstow.solvers.milp.program import Program, Run, RunReport, RunResult
from memstow.solvers.solver import Task

# HiGHS counts no work, so each node counts as about this many steps.
_STEPS_PER_NODE = 1_000_000
# Objectives are integers: a value closer to the bound than this is optimal.
_WHOLE = 0.99
_TOLERANCE = 1e-9


class HighsProgram(Program):
    """The integer program on HiGHS."""

    def run(self, run: Run, report: RunReport) -> RunResult:
        """Minimise the problem."""
        if run.seconds is not None and run.seconds <= 0:
            return RunResult()
        door = pulp.HiGHS(msg=False, threads=run.workers, gapRel=run.gap, gapAbs=_WHOLE)
        door.createAndConfigureSolver(run.problem)
        door.buildSolverModel(run.problem)
        solver = run.problem.solverModel
        _configure(solver, run)
        order = {variable.name: i for i, variable in enumerate(run.columns)}
        position = [order[variable.name] for variable in run.problem.variables()]
        if run.start is not None:
            solution = highspy.HighsSolution()
            solution.col_value = [float(run.start[column]) for column in position]
            solution.value_valid = True
            solver.setSolution(solution)

        def columns(solution: Any) -> list[float]:
            values = [0.0] * len(position)
            for column, value in zip(position, solution, strict=False):
                values[column] = float(value)
            return values

        solver.cbMipImprovingSolution += lambda event: report.solution(columns(event.data_out.mip_solution))
        solver.cbMipLogging += lambda event: report.bound(event.data_out.mip_dual_bound)
        solver.run()
        return _finish(solver, report, columns)


def _configure(solver: Any, run: Run) -> None:
    solver.setOptionValue("random_seed", run.seed)
    solver.setOptionValue("mip_feasibility_tolerance", _TOLERANCE)
    solver.setOptionValue("primal_feasibility_tolerance", _TOLERANCE)
    solver.setOptionValue("dual_feasibility_tolerance", _TOLERANCE)
    if run.work is not None:
        solver.setOptionValue("threads", 1)
        solver.setOptionValue("parallel", "off")
        solver.setOptionValue("mip_max_nodes", max(run.work // _STEPS_PER_NODE, 1))
    if run.seconds is not None:
        # The clock of a solver object starts when it is made.
        solver.setOptionValue("time_limit", run.seconds)


def _finish(solver: Any, report: RunReport, columns: Any) -> RunResult:
    status = solver.getModelStatus()
    statuses = highspy.HighsModelStatus
    information = solver.getInfo()
    work = max(int(information.mip_node_count), 0) * _STEPS_PER_NODE
    if status == statuses.kInfeasible:
        return RunResult(infeasible=True, work=work)
    if information.primal_solution_status == highspy.SolutionStatus.kSolutionStatusFeasible:
        report.solution(columns(solver.getSolution().col_value))
    if status in (statuses.kOptimal, statuses.kModelEmpty):
        # Without integer columns there is no tree, and the bound is the value itself.
        tree = information.mip_node_count >= 0
        report.bound(information.mip_dual_bound if tree else information.objective_function_value)
    elif status in (statuses.kTimeLimit, statuses.kSolutionLimit, statuses.kInterrupt):
        report.bound(information.mip_dual_bound)
    elif status == statuses.kUnboundedOrInfeasible:
        return RunResult(infeasible=True, work=work)
    else:
        return RunResult(work=work, failure=f"HiGHS ended with {solver.modelStatusToString(status)}")
    return RunResult(work=work)


def make(task: Task, relations: Relations, start_values: tuple[int, ...] | None) -> HighsProgram:
    """The program of a task."""
    return HighsProgram(task, relations, start_values)
