(* The checker: the rules of docs/proofs.md as functions. Sound.v proves that they are right.

   Copyright the authors of memstow. Licensed under the Apache License, Version 2.0 (the file LICENSE). *)

From Coq Require Import ZArith List Bool FMapPositive Mergesort Orders.
From Memstow Require Import Spec.
Import ListNotations.
Open Scope Z_scope.

Module Map := PositiveMap.

(* ---- Tables: what is needed of a problem, prepared ---- *)

(* A buffer with bytes, and the grid of its offsets. *)
Record item := Item { bytes : Z; modulus : Z; residue : Z; fixed : option Z; during : life }.

Definition pairs := Map.t (list positive).

Record table := Table {
  items : Map.t item;
  rising : list (Z * Z); (* reserved ranges, begin and end, merged and sorted *)
  falling : list (Z * Z); (* the same, the other way around *)
  conflicting : pairs;
  excluding : pairs;
  tying : pairs;
  ties_count : bool (* pairs in place tie or are apart; else they may overlap, which only allows more *) }.

Definition add_pair (i j : positive) (m : pairs) : pairs :=
  Map.add i (j :: match Map.find i m with Some l => l | None => [] end) m.

Definition index (l : list (positive * positive)) : pairs :=
  fold_right (fun '(i, j) m => add_pair i j (add_pair j i m)) (Map.empty _) l.

Definition is_listed (m : pairs) (i j : positive) : bool :=
  match Map.find i m with Some l => existsb (Pos.eqb j) l | None => false end.

Definition is_together (a b : life) : bool :=
  match a, b with
  | Always, Always => true
  | Always, During [] => false
  | Always, During _ => true
  | During [], Always => false
  | During _, Always => true
  | During s, During t =>
      existsb (fun '(begin, end_) => existsb (fun '(begin', end_') => (begin <? end_') && (begin' <? end_)) t) s
  end.

(* ---- Where a buffer may be ---- *)

Definition is_off (ranges : list (Z * Z)) (from to : Z) : bool :=
  forallb (fun '(begin, end_) => (to <=? begin) || (end_ <=? from)) ranges.

Definition is_allowed (t : table) (it : item) (at_ : Z) : bool :=
  (0 <=? at_) && ((at_ - residue it) mod modulus it =? 0) && (at_ + bytes it <=? limit) &&
  match fixed it with Some o => at_ =? o | None => true end &&
  is_off (rising t) at_ (at_ + bytes it).

Definition round_up (it : item) (from : Z) : Z := from + (residue it - from) mod modulus it.
Definition round_down (it : item) (to : Z) : Z := to - (to - residue it) mod modulus it.

Fixpoint climb (it : item) (at_ : Z) (ranges : list (Z * Z)) : Z :=
  match ranges with
  | [] => at_
  | (begin, end_) :: rest =>
      if at_ + bytes it <=? begin then at_
      else if end_ <=? at_ then climb it at_ rest
      else climb it (round_up it end_) rest
  end.

Fixpoint sink (it : item) (at_ : Z) (ranges : list (Z * Z)) : Z :=
  match ranges with
  | [] => at_
  | (begin, end_) :: rest =>
      if end_ <=? at_ then at_
      else if at_ + bytes it <=? begin then sink it at_ rest
      else sink it (round_down it (begin - bytes it)) rest
  end.

(* The least allowed offset from there on, and the greatest up to there. *)
Definition up (t : table) (it : item) (from : Z) : option Z :=
  match fixed it with
  | Some o => if (from <=? o) && is_allowed t it o then Some o else None
  | None =>
      let at_ := climb it (round_up it (Z.max from 0)) (rising t) in
      if at_ + bytes it <=? limit then Some at_ else None
  end.

Definition down (t : table) (it : item) (to : Z) : option Z :=
  match fixed it with
  | Some o => if (o <=? to) && is_allowed t it o then Some o else None
  | None =>
      let at_ := sink it (round_down it (Z.min to (limit - bytes it))) (falling t) in
      if 0 <=? at_ then Some at_ else None
  end.

(* ---- Contexts ---- *)

Record entry := Entry { name : positive; what : item; low : Z; high : Z }.
Record context := Context { entries : list entry; dead : bool }.

(* They overlap nowhere, but where they tie. *)
Definition meets (t : table) (e f : entry) : bool :=
  negb (Pos.eqb (name e) (name f)) &&
  (is_listed (conflicting t) (name e) (name f) ||
   (is_together (during (what e)) (during (what f)) && negb (is_listed (excluding t) (name e) (name f)))).

Definition tied (t : table) (e f : entry) : bool := is_listed (tying t) (name e) (name f).

(* In place, in ranges that meet; or not in place, or nowhere at one offset. *)
Definition can_tie (t : table) (e f : entry) : bool :=
  ties_count t && (low e <=? high f) && (low f <=? high e) && tied t e f && meets t e f.
Definition conflict (t : table) (e f : entry) : bool :=
  meets t e f && (negb (tied t e f) || (ties_count t && negb ((low e <=? high f) && (low f <=? high e)))).

Definition raise (t : table) (to : Z) (e : entry) : option entry :=
  if to <=? low e then Some e
  else match up t (what e) to with
       | Some least => if least <=? high e then Some (Entry (name e) (what e) least (high e)) else None
       | None => None
       end.

Definition lower (t : table) (to : Z) (e : entry) : option entry :=
  if high e <=? to then Some e
  else match down t (what e) to with
       | Some most => if low e <=? most then Some (Entry (name e) (what e) (low e) most) else None
       | None => None
       end.

Fixpoint map_all (f : entry -> option entry) (l : list entry) : option (list entry) :=
  match l with
  | [] => Some []
  | e :: rest =>
      match f e with
      | None => None
      | Some e' => match map_all f rest with Some rest' => Some (e' :: rest') | None => None end
      end
  end.

Definition change (f : entry -> option entry) (c : context) : context :=
  if dead c then c
  else match map_all f (entries c) with Some l => Context l false | None => Context (entries c) true end.

Definition narrow (i : positive) (f : entry -> option entry) (c : context) : context :=
  change (fun e => if Pos.eqb (name e) i then f e else Some e) c.

Fixpoint entry_of (i : positive) (l : list entry) : option entry :=
  match l with
  | [] => None
  | e :: rest => if Pos.eqb (name e) i then Some e else entry_of i rest
  end.

(* Stated ranges, rounded. None if a buffer is unknown, or has no bytes. *)
Fixpoint build (t : table) (l : list (positive * (Z * Z))) : option context :=
  match l with
  | [] => Some (Context [] false)
  | (i, (from, to)) :: rest =>
      match Map.find i (items t), build t rest with
      | Some it, Some c =>
          match up t it from, down t it to with
          | Some least, Some most =>
              if least <=? most then Some (Context (Entry i it least most :: entries c) (dead c))
              else Some (Context (Entry i it 0 0 :: entries c) true)
          | _, _ => Some (Context (Entry i it 0 0 :: entries c) true)
          end
      | _, _ => None
      end
  end.

(* ---- Derivations ---- *)

Inductive closing :=
| Empty
| Overfull (from to : Z) (some : list positive)
| By (back : positive).

Record derivation := Derivation { pushes : list positive; close : closing }.

Definition push_one (t : table) (j e : entry) : option entry :=
  let ties := can_tie t j e in
  if ties || conflict t j e then
    let above := high j <? low e + bytes (what e) in
    let below := high e <? low j + bytes (what j) in
    match (if above then raise t (low j + (if ties then 0 else bytes (what j))) e else Some e) with
    | Some e' => if below then lower t (high j - (if ties then 0 else bytes (what e))) e' else Some e'
    | None => None
    end
  else Some e.

(* None: the buffer is not in question. *)
Fixpoint push_all (t : table) (l : list positive) (c : context) : option context :=
  match l with
  | [] => Some c
  | i :: rest =>
      match entry_of i (entries c) with
      | Some j => push_all t rest (change (push_one t j) c)
      | None => None
      end
  end.

(* Both lists ascend. *)
Fixpoint pick (l : list entry) (some : list positive) : option (list entry) :=
  match l with
  | [] => match some with [] => Some [] | _ :: _ => None end
  | e :: rest =>
      match some with
      | [] => Some []
      | i :: others =>
          if Pos.eqb (name e) i then
            match pick rest others with Some found => Some (e :: found) | None => None end
          else pick rest some
      end
  end.

Fixpoint is_within (l stated : list entry) {struct stated} : bool :=
  match stated with
  | [] => true
  | s :: others =>
      (fix seek (l : list entry) : bool :=
         match l with
         | [] => false
         | e :: rest =>
             if Pos.eqb (name e) (name s) then (low s <=? low e) && (high e <=? high s) && is_within rest others
             else seek rest
         end) l
  end.

Fixpoint all_conflict (t : table) (l : list entry) : bool :=
  match l with
  | [] => true
  | e :: rest => forallb (conflict t e) rest && all_conflict t rest
  end.

Definition sum (f : entry -> Z) (l : list entry) : Z := fold_right (fun e total => f e + total) 0 l.

Definition waste (g : Z) (e : entry) : Z := (- bytes (what e)) mod g.

(* Reserved bytes in the stretch, and in how many ranges they are. *)
Fixpoint taken (ranges : list (Z * Z)) (from to : Z) : Z * Z :=
  match ranges with
  | [] => (0, 0)
  | (begin, end_) :: rest =>
      let (lost, count) := taken rest from to in
      let a := Z.max begin from in
      let b := Z.min end_ to in
      if a <? b then (lost + (b - a), count + 1) else (lost, count)
  end.

Module Descending <: TotalLeBool.
  Definition t := Z.
  Definition leb (x y : Z) := y <=? x.
  Theorem leb_total : forall x y, leb x y = true \/ leb y x = true.
  Proof. intros x y. unfold leb. rewrite !Z.leb_le. apply Z.le_ge_cases. Qed.
End Descending.
Module Sorting := Sort Descending.

Definition is_overfull (t : table) (from to : Z) (l : list entry) : bool :=
  match l with
  | [] => false
  | first :: _ =>
      let r := residue (what first) in
      let g := fold_right
                 (fun e g => Z.gcd (modulus (what e)) (Z.gcd (residue (what e) - r) g)) 0 l in
      let begin := from + (r - from) mod g in
      let (lost, count) := taken (rising t) begin to in
      let room := to - begin - lost in
      (* The one that wastes least among those that need not; what these waste is more by `beyond`. *)
      let least := nth (Z.to_nat count) (Sorting.sort (map (waste g) l)) 0 in
      let beyond := sum (fun e => Z.max (waste g e - least) 0) l in
      (from <=? to) &&
      forallb (fun e => (from <=? low e) && (high e + bytes (what e) <=? to)) l &&
      all_conflict t l &&
      ((to <? begin) ||
       (room <? sum (fun e => bytes (what e)) l + sum (waste g) l - ((1 + count) * least + beyond)))
  end.

Record state := State { next : positive; lemmas : Map.t (list entry); refuted : option Z }.

Definition recall (s : state) (back : positive) : option (positive * list entry) :=
  if Pos.ltb back (next s) then
    let which := Pos.sub (next s) back in
    match Map.find which (lemmas s) with Some l => Some (which, l) | None => None end
  else None.

Definition closes (t : table) (s : state) (c : context) (last : closing) : bool :=
  match last with
  | Empty => dead c
  | Overfull from to some =>
      match pick (entries c) some with
      | Some l => dead c || is_overfull t from to l
      | None => false
      end
  | By back =>
      match recall s back with
      | Some (_, stated) => dead c || is_within (entries c) stated
      | None => false
      end
  end.

Definition derives (t : table) (s : state) (c : context) (d : derivation) : bool :=
  match push_all t (pushes d) c with
  | Some c' => closes t s c' (close d)
  | None => false
  end.

(* ---- Lemmas ---- *)

Inductive rule :=
| Derive (d : derivation)
| SplitLow (i : positive) (v : Z) (first second : derivation)
| SplitHigh (i : positive) (v : Z) (first second : derivation).

Definition least_of (a b : option Z) : option Z :=
  match a, b with
  | Some x, Some y => Some (Z.min x y)
  | Some x, None => Some x
  | None, y => y
  end.

Definition most_of (a b : option Z) : option Z :=
  match a, b with
  | Some x, Some y => Some (Z.max x y)
  | Some x, None => Some x
  | None, y => y
  end.

(* Nobody in the context is called as this one, with another range. *)
Definition is_alone (e : entry) (l : list entry) : bool :=
  forallb (fun f => negb (Pos.eqb (name f) (name e)) || ((low f =? low e) && (high f =? high e))) l.

Definition has_place (t : table) (e : entry) (y : Z) : bool :=
  (low e <=? y) && (y <=? high e) && is_allowed t (what e) y.

Definition is_among (m : list entry) (i : positive) : bool := existsb (fun k => Pos.eqb (name k) i) m.

(* What moves to y with those that do: who can tie with one of them, and has a place there. *)
Fixpoint moving (t : table) (y : Z) (l : list entry) (fuel : nat) (m : list entry) : list entry :=
  match fuel with
  | O => m
  | S fuel' =>
      match filter (fun f => existsb (fun k => can_tie t k f) m && negb (is_among m (name f)) && has_place t f y) l with
      | [] => m
      | more => moving t y l fuel' (m ++ more)
      end
  end.

(* Where it comes upon another that ends so far above its own offset; None if that is out of the way. *)
Definition stop_low (t : table) (y : Z) (k f : entry) (up_to : Z) : option Z :=
  if y <? high f + up_to then up t (what k) (low f + up_to) else None.
Definition stop_high (t : table) (y : Z) (k f : entry) (down_to : Z) : option Z :=
  if low f - down_to <? y then down t (what k) (high f - down_to) else None.

Definition stops (t : table) (k f : entry) : bool := can_tie t k f || conflict t k f.
Definition ties_apart (t : table) (m : list entry) (k f : entry) : bool := can_tie t k f && negb (is_among m (name f)).

(* One of two values for each pair of two lists. *)
Definition joined (join : option Z -> option Z -> option Z) (g h : entry -> entry -> option Z) (m l : list entry) :=
  fold_right (fun k others => fold_right (fun f others => join (g k f) (join (h k f) others)) others l) None m.

(* The least offset above y at which one of those that move comes upon another; None if there is none. *)
Definition least_stop (t : table) (y : Z) (m l : list entry) : option Z :=
  joined least_of
    (fun k f => if stops t k f then stop_low t y k f (bytes (what f)) else None)
    (fun k f => if ties_apart t m k f then stop_low t y k f 0 else None) m l.

Definition most_stop (t : table) (y : Z) (m l : list entry) : option Z :=
  joined most_of
    (fun k f => if stops t k f then stop_high t y k f (bytes (what k)) else None)
    (fun k f => if ties_apart t m k f then stop_high t y k f 0 else None) m l.

Definition justifies (t : table) (s : state) (c : context) (r : rule) : bool :=
  match r with
  | Derive d => derives t s c d
  | SplitLow i v first second =>
      match entry_of i (entries c) with
      | None => false
      | Some e =>
          match down t (what e) v with
          | None => false
          | Some y =>
              let m := moving t y (entries c) (length (entries c)) [e] in
              (low e <=? y) && forallb (fun k => is_alone k (entries c)) m &&
              derives t s (narrow i (lower t v) c) first &&
              derives t s
                (match least_stop t y m (entries c) with
                 | Some least => narrow i (raise t (Z.max least (v + 1))) c
                 | None => Context (entries c) true
                 end) second
          end
      end
  | SplitHigh i v first second =>
      match entry_of i (entries c) with
      | None => false
      | Some e =>
          match up t (what e) v with
          | None => false
          | Some y =>
              let m := moving t y (entries c) (length (entries c)) [e] in
              (y <=? high e) && forallb (fun k => is_alone k (entries c)) m &&
              derives t s (narrow i (raise t v) c) first &&
              derives t s
                (match most_stop t y m (entries c) with
                 | Some most => narrow i (lower t (Z.min most (v - 1))) c
                 | None => Context (entries c) true
                 end) second
          end
      end
  end.

(* ---- Steps ---- *)

Inductive step :=
| Lemma_ (stated : list (positive * (Z * Z))) (r : rule)
| Forget (back : positive)
| Conclude (height : Z) (d : derivation)
| Ties (count : bool).

Definition whole (p : problem) (end_ : Z) : list (positive * (Z * Z)) :=
  fold_right (fun '(i, b) rest => if 0 <? size b then (i, (0, end_ - size b)) :: rest else rest) [] (buffers p).

Definition do_step (p : problem) (t : table) (s : state) (one : step) : option state :=
  match one with
  | Lemma_ stated r =>
      match build t stated with
      | Some c =>
          if negb (dead c) && justifies t s c r
          then Some (State (Pos.succ (next s)) (Map.add (next s) (entries c) (lemmas s)) (refuted s))
          else None
      | None => None
      end
  | Forget back =>
      match recall s back with
      | Some (which, _) => Some (State (next s) (Map.remove which (lemmas s)) (refuted s))
      | None => None
      end
  | Conclude height d =>
      match build t (whole p (Z.min height (pool_end p))) with
      | Some c =>
          if derives t s c d
          then Some (State (next s) (lemmas s)
                       (Some (match refuted s with Some h => Z.max h height | None => height end)))
          else None
      | None => None
      end
  | Ties _ => Some (State (next s) (Map.empty _) (refuted s))
  end.

Definition table_after (t : table) (one : step) : table :=
  match one with
  | Ties count =>
      Table (items t) (rising t) (falling t) (conflicting t) (excluding t) (tying t) count
  | _ => t
  end.

(* The state after all steps, or the number of the step that is wrong. *)
Fixpoint run (p : problem) (t : table) (s : state) (done : N) (steps : list step) : state + N :=
  match steps with
  | [] => inl s
  | one :: rest =>
      match do_step p t s one with
      | Some s' => run p (table_after t one) s' (N.succ done) rest
      | None => inr done
      end
  end.

(* ---- The table of a problem ---- *)

Definition effective (p : problem) (b : buffer) : Z := Z.lcm (alignment b) (pool_alignment p).

Definition divides (d n : Z) : bool := n mod d =? 0.

Fixpoint insert (a b : Z) (l : list (Z * Z)) : list (Z * Z) :=
  match l with
  | [] => [(a, b)]
  | (c, d) :: rest =>
      if b <? c then (a, b) :: l
      else if d <? a then (c, d) :: insert a b rest
      else insert (Z.min a c) (Z.max b d) rest
  end.

Definition merged (l : list (Z * Z)) : list (Z * Z) :=
  fold_right (fun '(offset, length) rest => insert offset (offset + length) rest) [] l.

Definition is_free (p : problem) (u a : Z) : bool := divides a u && divides a (base p).

Definition sized (p : problem) : list (positive * buffer) := filter (fun '(_, b) => 0 <? size b) (buffers p).

(* The alignments that there are, each once if they come one after the other. *)
Fixpoint distinct (last : Z) (l : list Z) : list Z :=
  match l with
  | [] => []
  | a :: rest => if a =? last then distinct last rest else a :: distinct a rest
  end.

Fixpoint refine (p : problem) (alignments : list Z) (fuel : nat) (u : Z) : Z :=
  match fuel with
  | O => u
  | S fuel' =>
      let finer := fold_left (fun u a => if is_free p u a then u else Z.gcd u (Z.gcd a (base p))) alignments u in
      if finer =? u then u else refine p alignments fuel' finer
  end.

Definition unit_of (p : problem) (ranges : list (Z * Z)) : Z :=
  let u := fold_left (fun u '(_, end_) => Z.gcd u end_) ranges 0 in
  let u := fold_left
             (fun u '(_, b) => Z.gcd (Z.gcd u (size b)) (match pin b with Some o => o | None => 0 end))
             (sized p) u in
  let alignments := distinct 0 (map (fun '(_, b) => effective p b) (sized p)) in
  if u =? 0 then 1 else refine p alignments 70 u.

Definition item_of (p : problem) (u : Z) (b : buffer) : item :=
  let a := effective p b in
  let free := is_free p u a in
  Item (size b) (if free then u else a) (if free then 0 else (- base p) mod a) (pin b) (lives b).

(* What the proof of Sound.v needs of a unit. *)
Definition is_grid (p : problem) (ranges : list (Z * Z)) (u : Z) : bool :=
  (0 <? u) &&
  forallb (fun '(_, end_) => divides u end_) ranges &&
  forallb
    (fun '(_, b) =>
       divides u (size b) &&
       match pin b with Some o => divides u o | None => true end &&
       (is_free p u (effective p b) || (divides u (effective p b) && divides u (base p))))
    (sized p).

Fixpoint is_ascending (last : Z) (l : list (Z * Z)) : bool :=
  match l with
  | [] => true
  | (begin, end_) :: rest => (last <=? begin) && (begin <? end_) && is_ascending end_ rest
  end.

Definition is_sound (p : problem) : bool :=
  (0 <=? pool_end p) && (pool_end p <=? limit) && (1 <=? pool_alignment p) && (0 <=? base p) &&
  forallb (fun '(offset, length) => (0 <=? offset) && (1 <=? length)) (reserved p) &&
  forallb
    (fun '(_, b) =>
       (0 <=? size b) && (1 <=? alignment b) && (effective p b <=? limit)) (buffers p).

(* None: not checked. *)
Definition table_of (p : problem) : option table :=
  let ranges := merged (reserved p) in
  let u := unit_of p ranges in
  if is_sound p && is_grid p ranges u && is_ascending 0 ranges then
    Some (Table
            (fold_right (fun '(i, b) m => Map.add i (item_of p u b) m) (Map.empty _) (sized p))
            ranges (rev ranges) (index (conflicts p)) (index (exclusive p)) (index (in_place p))
            false)
  else None.

(* ---- The plan ---- *)

Definition plan := list (positive * Z).

Definition offsets_of (l : plan) : Map.t Z := fold_right (fun '(i, at_) m => Map.add i at_ m) (Map.empty _) l.

Definition layout_in (m : Map.t Z) : layout :=
  fun i => match Map.find i m with Some at_ => at_ | None => 0 end.

Definition layout_of (l : plan) : layout := layout_in (offsets_of l).

Definition is_placed (p : problem) (b : buffer) (at_ : Z) : bool :=
  (0 <=? at_) && (at_ + size b <=? pool_end p) &&
  divides (alignment b) (base p + at_) && divides (pool_alignment p) (base p + at_) &&
  match pin b with Some o => at_ =? o | None => true end &&
  (negb (0 <? size b) ||
   forallb (fun '(offset, length) => (at_ + size b <=? offset) || (offset + length <=? at_)) (reserved p)).

Record place := Place { who : positive; whose : buffer; start : Z; stop : Z }.

Definition is_apart (t : table) (a b : place) : bool :=
  (stop a <=? start b) || (stop b <=? start a) || Pos.eqb (who a) (who b) ||
  negb (is_listed (conflicting t) (who a) (who b) ||
        (is_together (lives (whose a)) (lives (whose b)) && negb (is_listed (excluding t) (who a) (who b)))) ||
  ((start a =? start b) && is_listed (tying t) (who a) (who b)).

Fixpoint are_apart (t : table) (l : list place) : bool :=
  match l with
  | [] => true
  | a :: rest => forallb (is_apart t a) rest && are_apart t rest
  end.

Definition is_valid (p : problem) (t : table) (m : Map.t Z) : bool :=
  forallb (fun '(i, b) => Map.mem i m && is_placed p b (layout_in m i)) (buffers p) &&
  are_apart t (map (fun '(i, b) => Place i b (layout_in m i) (layout_in m i + size b)) (sized p)).

Inductive verdict :=
| Least (peak : Z)
| NothingFits
| Weaker (peak bound : Z) (* the plan is right, and no peak is below the bound *)
| WrongPlan
| WrongStep (number : N)
| Unfounded (* nothing fits, says the plan, but the proof does not show it *)
| Contradiction
| NotChecked.

(* No plan: it says that nothing fits. *)
Definition check (p : problem) (answer : option plan) (steps : list step) : verdict :=
  match table_of p with
  | None => NotChecked
  | Some t =>
      let start := State 1 (Map.empty _) None in
      match answer with
      | None =>
          match run p t start 0 steps with
          | inr number => WrongStep number
          | inl s =>
              match refuted s with
              | Some h => if pool_end p <=? h then NothingFits else Unfounded
              | None => Unfounded
              end
          end
      | Some places =>
          let m := offsets_of places in
          if is_valid p t m then
            match run p t start 0 steps with
            | inr number => WrongStep number
            | inl s =>
                let most := peak p (layout_in m) in
                let bound := match refuted s with Some h => h + 1 | None => 0 end in
                if most <? bound then Contradiction
                else if (most =? 0) || (most =? bound) then Least most
                else Weaker most bound
            end
          else WrongPlan
      end
  end.
