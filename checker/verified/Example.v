(* The checker as Coq itself computes it: two buffers of 4 and 6 bytes that are live together need 10.

   Copyright the authors of memstow. Licensed under the Apache License, Version 2.0 (the file LICENSE). *)

From Coq Require Import ZArith List.
From Memstow Require Import Spec Checker Sound.
Import ListNotations.
Open Scope Z_scope.

Definition two : problem :=
  Problem
    [(1%positive, Buffer 4 1 None (During [(0, 2)])); (2%positive, Buffer 6 1 None (During [(1, 3)]))]
    None 1 0 [] [] [] [].

Definition places : plan := [(1%positive, 0); (2%positive, 4)].

(* A lemma: in 9 bytes the second lies neither below the first nor above it; then the conclusion. *)
Definition proof : list step :=
  [Lemma_ [(1%positive, (0, 5)); (2%positive, (0, 3))]
     (Derive (Derivation [1%positive] Empty));
   Conclude 9 (Derivation [] (By 1))].

Example accepted : check two (Some places) proof = Least 10.
Proof. reflexivity. Qed.

Example ten_is_least : forall x, valid two x -> 10 <= peak two x.
Proof. exact (proj2 (proj2 (least_is_least _ _ _ _ accepted))). Qed.

Example claims_too_much : check two (Some places) [Conclude 10 (Derivation [] Empty)] = WrongStep 0.
Proof. reflexivity. Qed.
