(* What a problem, a layout and its peak are: all that a reader of the theorem in Sound.v has to agree with.

   Copyright the authors of memstow. Licensed under the Apache License, Version 2.0 (the file LICENSE). *)

From Coq Require Import ZArith List.
Import ListNotations.
Open Scope Z_scope.

Inductive life :=
| Always
| During (spans : list (Z * Z)). (* half-open: from the first time, up to the second, without it *)

Record buffer := Buffer { size : Z; alignment : Z; pin : option Z; lives : life }.

(* One pool. Buffers are called by numbers. *)
Record problem := Problem {
  buffers : list (positive * buffer);
  capacity : option Z;
  pool_alignment : Z;
  base : Z; (* the address of offset 0 *)
  reserved : list (Z * Z); (* offset and size *)
  conflicts : list (positive * positive);
  exclusive : list (positive * positive);
  in_place : list (positive * positive) }.

Definition limit : Z := 4611686018427387904. (* 2^62 *)

(* No layout ends above this. *)
Definition pool_end (p : problem) : Z := match capacity p with Some c => c | None => limit end.

Definition together (a b : life) : Prop :=
  match a, b with
  | Always, Always => True
  | Always, During spans => spans <> []
  | During spans, Always => spans <> []
  | During s, During t => exists begin end_ begin' end_',
      In (begin, end_) s /\ In (begin', end_') t /\ begin < end_' /\ begin' < end_
  end.

Definition listed (pairs : list (positive * positive)) (i j : positive) : Prop :=
  In (i, j) pairs \/ In (j, i) pairs.

(* The two have bytes, and must not share one. *)
Definition meet (p : problem) (i : positive) (b : buffer) (j : positive) (c : buffer) : Prop :=
  i <> j /\ 0 < size b /\ 0 < size c /\
  (listed (conflicts p) i j \/ (together (lives b) (lives c) /\ ~ listed (exclusive p) i j)).

(* Any offsets. *)
Definition layout := positive -> Z.

Definition well_placed (p : problem) (x : layout) (i : positive) (b : buffer) : Prop :=
  0 <= x i /\
  x i + size b <= pool_end p /\
  (alignment b | base p + x i) /\
  (pool_alignment p | base p + x i) /\
  (forall offset, pin b = Some offset -> x i = offset) /\
  (0 < size b -> forall offset length, In (offset, length) (reserved p) ->
     x i + size b <= offset \/ offset + length <= x i).

Definition valid (p : problem) (x : layout) : Prop :=
  (forall i b, In (i, b) (buffers p) -> well_placed p x i b) /\
  (forall i b j c, In (i, b) (buffers p) -> In (j, c) (buffers p) -> meet p i b j c ->
     x i + size b <= x j \/ x j + size c <= x i \/ (listed (in_place p) i j /\ x i = x j)).

(* The largest end of a buffer that has bytes; 0 if none has. *)
Definition peak (p : problem) (x : layout) : Z :=
  fold_right (fun '(i, b) most => if 0 <? size b then Z.max (x i + size b) most else most) 0 (buffers p).
