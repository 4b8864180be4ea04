(* A problem, a plan and a proof, from files to what the extracted checker takes. Not verified.

   Copyright the authors of memstow. Licensed under the Apache License, Version 2.0 (the file LICENSE).

   What it does not know in a problem it refuses, as docs/proofs.md says. *)

open Extracted

let raise = Stdlib.raise (* the checker has another function of this name *)

exception Wrong of string
exception Not_checked of string

let wrong why = raise (Wrong why)
let refuse why = raise (Not_checked why)
let limit_of_numbers = Int64.shift_left 1L 62

(* ---- Numbers ---- *)

let rec positive_of n =
  if n = 1L then XH
  else
    let rest = positive_of (Int64.shift_right_logical n 1) in
    if Int64.logand n 1L = 1L then XI rest else XO rest

let z_of n = if n = 0L then Z0 else if n > 0L then Zpos (positive_of n) else Zneg (positive_of (Int64.neg n))

let rec of_positive = function
  | XH -> 1L
  | XO rest -> Int64.shift_left (of_positive rest) 1
  | XI rest -> Int64.logor (Int64.shift_left (of_positive rest) 1) 1L

let of_z = function Z0 -> 0L | Zpos n -> of_positive n | Zneg n -> Int64.neg (of_positive n)
let of_n = function N0 -> 0L | Npos n -> of_positive n

(* Buffers are called by their index and one. *)
let name_of index = positive_of (Int64.of_int (index + 1))

(* ---- JSON ---- *)

let document what data = try Json.read data with Json.Bad why -> refuse (what ^ " is no JSON: " ^ why)

let fields known where = function
  | Json.Object members ->
      List.iter
        (fun (key, _) ->
          if not (List.mem key known) then
            refuse (Printf.sprintf "%s has the field '%s', which this program does not know" where key))
        members;
      members
  | _ -> refuse (where ^ " is no object")

let find members key = List.assoc_opt key members

(* A field that may be left out, or be null. *)
let given members key = match find members key with Some Json.Null -> None | value -> value

let need members key where =
  match find members key with Some value -> value | None -> refuse (Printf.sprintf "%s lacks its %s" where key)

let text where = function Json.Text value -> value | _ -> refuse (where ^ " is no text")
let items where = function Json.List value -> value | _ -> refuse (where ^ " is no list")

let integer where = function
  | Json.Number digits ->
      let negative = digits.[0] = '-' in
      let amount = ref 0L in
      String.iteri
        (fun i c ->
          if i > 0 || not negative then begin
            if c < '0' || c > '9' then refuse (where ^ " is no integer");
            (* More than a tenth of the limit would go beyond it, and could wrap around. *)
            let beyond () = refuse (where ^ " is beyond 2^62") in
            if !amount > Int64.div limit_of_numbers 10L then beyond ();
            amount := Int64.add (Int64.mul !amount 10L) (Int64.of_int (Char.code c - 48));
            if !amount > limit_of_numbers then beyond ()
          end)
        digits;
      if negative then Int64.neg !amount else !amount
  | _ -> refuse (where ^ " is no number")

let amount ?(least = 0L) where value =
  let n = integer where value in
  if n < least then refuse (Printf.sprintf "%s is below %Ld" where least);
  n

(* Sums and products beyond the limit are refused, as no proof is about them; both numbers are up to the limit. *)
let plus where a b = if a > Int64.sub limit_of_numbers b then refuse (where ^ " is beyond 2^62") else Int64.add a b

let times where a b =
  if b <> 0L && a > Int64.div limit_of_numbers b then refuse (where ^ " is beyond 2^62") else Int64.mul a b

(* ---- The problem ---- *)

type known = {
  problem : problem;
  count : int;
  indices : (string, int) Hashtbl.t;
  pool : string;
  end_ : int64;
  about_peaks : bool;  (* whether the objective begins with the peak, which a plan is judged by *)
}

let lifetime where value =
  match items where value with
  | [ a; b ] ->
      let a = integer where a and b = integer where b in
      if a >= b then refuse (where ^ " is empty");
      (z_of a, z_of b)
  | _ -> refuse (where ^ " has not two times")

let buffer pool value =
  let members =
    fields [ "id"; "size"; "lifetime"; "lifetimes"; "alignment"; "pools"; "accesses"; "pool"; "offset"; "group" ]
      "a buffer" value
  in
  let id = text "the id of a buffer" (need members "id" "a buffer") in
  let where what = Printf.sprintf "the %s of '%s'" what id in
  let size = amount (where "size") (need members "size" "a buffer") in
  let lives =
    match (given members "lifetime", given members "lifetimes") with
    | Some _, Some _ -> refuse (where "lifetime" ^ " is there twice")
    | Some (Json.Text "always"), None -> Always
    | Some value, None -> During [ lifetime (where "lifetime") value ]
    | None, Some value ->
        let spans = items (where "lifetimes") value in
        if spans = [] then refuse (where "lifetimes" ^ " are empty");
        During (List.map (lifetime (where "lifetimes")) spans)
    | None, None -> During []
  in
  let alignment =
    match find members "alignment" with Some value -> amount ~least:1L (where "alignment") value | None -> 1L
  in
  (match given members "pools" with
  | None -> ()
  | Some value -> (
      match items (where "pools") value with
      | [ only ] when text (where "pools") only = pool -> ()
      | _ -> refuse (where "pools" ^ " are not the one pool")));
  let pinned = given members "pool" in
  (match pinned with
  | Some value when text (where "pool") value <> pool -> refuse (where "pool" ^ " is unknown")
  | _ -> ());
  let pin =
    match given members "offset" with
    | None -> None
    | Some value ->
        if pinned = None then refuse (where "offset" ^ " is without a pool");
        Some (z_of (amount (where "offset") value))
  in
  let accesses =
    match given members "accesses" with Some value -> amount (where "accesses") value | None -> size
  in
  (id, { size = z_of size; alignment = z_of alignment; pin; lives }, if size = 0L then 0L else accesses)

let problem_of data =
  let root =
    fields
      [
        "version"; "name"; "pools"; "buffers"; "conflicts"; "exclusive"; "relative"; "in_place"; "reuse_costs";
        "objective";
      ]
      "the problem" (document "the problem" data)
  in
  (match find root "version" with
  | Some value when integer "the version" value <> 1L -> refuse "the version is not 1"
  | _ -> ());
  let only =
    match find root "pools" with
    | None -> [ ("id", Json.Text "memory") ]
    | Some value -> (
        match items "pools" value with
        | [ only ] -> fields [ "id"; "capacity"; "alignment"; "reserved"; "base"; "cost" ] "the pool" only
        | _ -> refuse "the problem has not one pool, but several or none")
  in
  let pool = text "the id of the pool" (need only "id" "the pool") in
  let capacity = Option.map (amount "the capacity") (given only "capacity") in
  let end_ = Option.value capacity ~default:limit_of_numbers in
  let pool_alignment =
    match find only "alignment" with Some value -> amount ~least:1L "the alignment" value | None -> 1L
  in
  let cost = match find only "cost" with Some value -> amount "the cost" value | None -> 0L in
  let base = match given only "base" with Some value -> amount "the base" value | None -> 0L in
  let range value =
    let members = fields [ "offset"; "size" ] "a reserved range" value in
    let offset = amount "a reserved offset" (need members "offset" "a reserved range") in
    let size = amount ~least:1L "a reserved size" (need members "size" "a reserved range") in
    if size > end_ || offset > Int64.sub end_ size then refuse "a reserved range ends beyond the pool";
    (z_of offset, z_of size)
  in
  let reserved =
    match find only "reserved" with Some value -> List.map range (items "reserved" value) | None -> []
  in
  let buffers = List.map (buffer pool) (items "buffers" (need root "buffers" "the problem")) in
  let indices = Hashtbl.create 64 in
  List.iteri
    (fun i (id, _, _) ->
      if Hashtbl.mem indices id then refuse (Printf.sprintf "two buffers are called '%s'" id);
      Hashtbl.add indices id i)
    buffers;
  let named where value =
    let id = text where value in
    match Hashtbl.find_opt indices id with
    | Some i -> i
    | None -> refuse (Printf.sprintf "%s names '%s', which is no buffer" where id)
  in
  let two where a b =
    let i = named where a and j = named where b in
    if i = j then refuse (where ^ " has a buffer paired with itself");
    (name_of i, name_of j)
  in
  let pair where value =
    match items where value with
    | [ a; b ] -> two where a b
    | _ -> refuse (where ^ " has something that is no pair")
  in
  let all key one = match find root key with Some value -> List.map one (items key value) | None -> [] in
  let conflicts = all "conflicts" (pair "conflicts") in
  let exclusive = all "exclusive" (pair "exclusive") in
  let in_place =
    all "in_place" (fun value ->
        let members = fields [ "input"; "output" ] "in_place" value in
        two "in_place" (need members "input" "in_place") (need members "output" "in_place"))
  in
  if all "relative" Fun.id <> [] then refuse "the problem has rigid groups (`relative`)";
  let reuse value =
    let members = fields [ "buffers"; "cost" ] "a reuse cost" value in
    ignore (pair "a reuse cost" (need members "buffers" "a reuse cost"));
    amount "a reuse cost" (need members "cost" "a reuse cost")
  in
  ignore (List.fold_left (plus "the reuse cost of all") 0L (all "reuse_costs" reuse));
  let peaks = [ "peak"; "max_peak"; "peak:" ^ pool ] in
  let rec leading = function
    | first :: rest when List.mem (text "the objective" first) (peaks @ [ "placement_cost"; "preference"; "reuse_cost" ])
      ->
        text "the objective" first :: leading rest
    | _ -> []
  in
  let terms = match given root "objective" with None -> peaks | Some value -> leading (items "the objective" value) in
  let about_peaks = match terms with first :: _ -> List.mem first peaks | [] -> false in
  if List.mem "placement_cost" terms then
    ignore
      (List.fold_left
         (fun sum (_, _, accesses) -> plus "what all cost" sum (times "what all cost" accesses cost))
         0L buffers);
  let problem =
    {
      buffers = List.mapi (fun i (_, one, _) -> (name_of i, one)) buffers;
      capacity = Option.map z_of capacity;
      pool_alignment = z_of pool_alignment;
      base = z_of base;
      reserved;
      conflicts;
      exclusive;
      in_place;
    }
  in
  { problem; count = List.length buffers; indices; pool; end_; about_peaks }

(* ---- The plan ---- *)

(* None: it says that nothing fits. *)
let plan_of known data =
  let members = match document "the plan" data with Json.Object m -> m | _ -> refuse "the plan is no object" in
  match text "the status" (need members "status" "the plan") with
  | "infeasible" -> None
  | "optimal" | "feasible" ->
      let placements = items "the placements" (need members "placements" "the plan") in
      if not known.about_peaks then refuse "the objective does not begin with the peak";
      let seen = Hashtbl.create 64 in
      let place value =
        let one = fields [ "buffer"; "pool"; "offset" ] "a placement" value in
        let buffer = need one "buffer" "a placement" and pool = need one "pool" "a placement" in
        let offset = need one "offset" "a placement" in
        let id = text "the buffer of a placement" buffer in
        match Hashtbl.find_opt known.indices id with
        | None -> wrong (Printf.sprintf "the plan places '%s', which is no buffer" id)
        | Some i ->
            if text "the pool of a placement" pool <> known.pool then wrong "the plan names another pool";
            if Hashtbl.mem seen i then wrong (Printf.sprintf "the plan places '%s' twice" id);
            Hashtbl.add seen i ();
            (name_of i, z_of (amount (Printf.sprintf "the offset of '%s'" id) offset))
      in
      Some (List.map place placements)
  | state -> refuse (Printf.sprintf "the status is '%s': there is no plan" state)

(* ---- The proof ---- *)

let head = "memstow proof 1\n"

let steps_of known digest data =
  let length = String.length data in
  if length < String.length head || String.sub data 0 (String.length head) <> head then
    refuse "the proof is none of this format";
  let at = ref (String.length head) in
  let step = ref 0 in
  let fail why = wrong (Printf.sprintf "step %d of the proof: %s" !step why) in
  let byte () =
    if !at >= length then fail "the proof is cut off";
    incr at;
    Char.code data.[!at - 1]
  in
  if length < !at + 32 || String.sub data !at 32 <> digest then wrong "the proof is for another problem";
  at := !at + 32;
  (* Below 2^64; what is from 2^63 on is negative here. *)
  let number () =
    let rec go value shift =
      let next = byte () in
      if shift = 63 && next > 1 then fail "a number beyond 64 bits";
      let value = Int64.logor value (Int64.shift_left (Int64.of_int (next land 127)) shift) in
      if next < 128 then value else go value (shift + 7)
    in
    go 0L 0
  in
  let amount () =
    let n = number () in
    if n < 0L || n > limit_of_numbers then fail "a number beyond 2^62";
    z_of n
  in
  let item () =
    let n = number () in
    if n < 0L || n >= Int64.of_int known.count then fail "a buffer that there is not";
    name_of (Int64.to_int n)
  in
  let back () =
    let n = number () in
    if n <= 0L then fail "there is no such lemma";
    positive_of n
  in
  let ascending take =
    let count = number () in
    if count <= 0L || count > Int64.of_int known.count then fail "a list that is empty or too long";
    let next = ref 0 in
    List.init (Int64.to_int count) (fun _ ->
        let gap = number () in
        if gap < 0L || gap >= Int64.of_int (known.count - !next) then fail "a buffer that there is not";
        let i = !next + Int64.to_int gap in
        next := i + 1;
        take (name_of i))
  in
  let derivation () =
    let rec go pushes =
      match number () with
      | 1L -> go (item () :: pushes)
      | kind ->
          let close =
            match kind with
            | 2L -> Empty
            | 3L ->
                let a = amount () in
                let b = amount () in
                Overfull (a, b, ascending Fun.id)
            | 4L -> By (back ())
            | _ -> fail "an unknown part of a derivation"
          in
          { pushes = List.rev pushes; close }
    in
    go []
  in
  let rule () =
    match number () with
    | 0L -> Derive (derivation ())
    | (1L | 2L) as kind ->
        let i = item () in
        let v = amount () in
        let first = derivation () in
        let second = derivation () in
        if kind = 1L then SplitLow (i, v, first, second) else SplitHigh (i, v, first, second)
    | _ -> fail "an unknown rule"
  in
  let rec go steps =
    match number () with
    | 0L -> List.rev steps
    | kind ->
        let one =
          match kind with
          | 1L ->
              let stated =
                ascending (fun name ->
                    let low = amount () in
                    let high = amount () in
                    (name, (low, high)))
              in
              Lemma_ (stated, rule ())
          | 2L -> Forget (back ())
          | 3L ->
              let height = amount () in
              Conclude (height, derivation ())
          | 10L -> (
              match number () with
              | 0L -> Ties false
              | 1L -> Ties true
              | _ -> fail "ties that neither count nor do not")
          | 4L | 5L | 6L | 7L | 8L | 9L | 11L | 12L | 13L -> refuse "the proof is about costs or several pools"
          | _ -> fail "an unknown kind of step"
        in
        incr step;
        go (one :: steps)
  in
  let steps = go [] in
  if number () <> Int64.of_int !step then fail "the number of steps at the end is another";
  if !at <> length then fail "something follows the end";
  steps
