(* memstow-check-verified PROBLEM PLAN PROOF: prints and exits as memstow-check does. Not verified.

   Copyright the authors of memstow. Licensed under the Apache License, Version 2.0 (the file LICENSE). *)

open Extracted

let raise = Stdlib.raise

let content path =
  match open_in_bin path with
  | exception Sys_error _ -> Read.refuse ("cannot read " ^ path)
  | file ->
      let data = really_input_string file (in_channel_length file) in
      close_in file;
      data

let refuse_problem () = Read.refuse "the problem is beyond what this program knows"

(* What is wrong first is said: of the problem, then of the plan, then of the proof. *)
let verdict problem_path plan_path proof_path =
  let data = content problem_path in
  let known = Read.problem_of data in
  let attempt read = try Ok (read ()) with (Read.Wrong _ | Read.Not_checked _) as error -> Error error in
  match attempt (fun () -> Read.plan_of known (content plan_path)) with
  | Error error -> if check known.problem None [] = NotChecked then refuse_problem () else raise error
  | Ok plan -> (
      let steps = attempt (fun () -> Read.steps_of known (Sha256.of_string data) (content proof_path)) in
      match (check known.problem plan (Result.value steps ~default:[]), steps) with
      | NotChecked, _ -> refuse_problem ()
      | WrongPlan, _ ->
          Read.wrong "a buffer of the plan is missing, beyond the pool, or not where it may be, or two overlap"
      | _, Error error -> raise error
      | Least most, _ -> (0, Printf.sprintf "verified: peak %Ld is least" (Read.of_z most))
      | NothingFits, _ -> (0, Printf.sprintf "verified: no layout fits into %Ld bytes" known.end_)
      | Weaker (most, bound), _ ->
          ( 3,
            Printf.sprintf
              "the plan is right, but its peak %Ld is not proven least: only that none is below %Ld"
              (Read.of_z most) (Read.of_z bound) )
      | WrongStep number, _ -> Read.wrong (Printf.sprintf "step %Ld of the proof" (Read.of_n number))
      | Unfounded, _ -> Read.wrong "the plan says infeasible, but the proof does not show it"
      | Contradiction, _ -> Read.wrong "the proof contradicts the plan")

let judged problem plan proof =
  try verdict problem plan proof with
  | Read.Wrong why -> (1, "wrong: " ^ why)
  | Read.Not_checked why -> (2, "not checked: " ^ why)
  | error -> (2, "not checked: " ^ Printexc.to_string error)

(* Several cases, three lines each, for tests. *)
let rec batch () =
  match input_line stdin with
  | exception End_of_file -> 0
  | problem ->
      let plan = input_line stdin in
      let code, words = judged problem plan (input_line stdin) in
      Printf.printf "%d %s\n%!" code (String.escaped words);
      batch ()

let () =
  exit
    (match Array.to_list Sys.argv with
    | [ _; problem; plan; proof ] ->
        let code, words = judged problem plan proof in
        print_endline (String.escaped words);  (* A name must not pass for a verdict. *)
        code
    | [ _; "--batch" ] -> batch ()
    | _ ->
        prerr_endline "usage: memstow-check-verified PROBLEM PLAN PROOF";
        2)
