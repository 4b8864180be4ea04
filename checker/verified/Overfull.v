(* The rule "overfull": buffers of which no two share a byte do not fit where there is too little room.

   Copyright the authors of memstow. Licensed under the Apache License, Version 2.0 (the file LICENSE). *)

From Coq Require Import ZArith List Bool Lia.
From Memstow Require Import Spec Checker Offsets.
Import ListNotations.
Open Scope Z_scope.

Section Stretch.

(* Where each begins, its size, the step of their offsets, and any amount of waste. *)
Variable at_ : entry -> Z.
Variable len : entry -> Z.
Variable g : Z.
Variable r : Z.
Hypothesis g_positive : 0 < g.
Variable theta : Z.
Hypothesis theta_fine : 0 <= theta.

Definition spill (e : entry) : Z := (- len e) mod g.
Definition beyond (e : entry) : Z := Z.max (spill e - theta) 0.

Definition disjoint (e f : entry) : Prop := at_ e + len e <= at_ f \/ at_ f + len f <= at_ e.

Definition stands (a b : Z) (ranges : list (Z * Z)) (e : entry) : Prop :=
  0 < len e /\ a <= at_ e /\ at_ e + len e <= b /\ (g | at_ e - r) /\ off ranges (at_ e) (at_ e + len e).

Lemma spill_bound e : 0 <= spill e < g.
Proof. apply Z.mod_pos_bound. assumption. Qed.

Lemma spill_divides e : (g | len e + spill e).
Proof.
  unfold spill. pose proof (Z.div_mod (- len e) g ltac:(lia)). exists (- ((- len e) / g)). lia.
Qed.

(* Whole cells. *)
Lemma next_cell e f : (g | at_ e - r) -> (g | at_ f - r) -> at_ e + len e <= at_ f ->
  at_ e + len e + spill e <= at_ f.
Proof.
  intros [x X] [y Y] L. destruct (spill_divides e) as [z Z']. pose proof (spill_bound e).
  assert (x + z < y + 1) by nia. nia.
Qed.

Definition total (l : list entry) : Z := sum len l + sum spill l.

Lemma sum_filter (h : entry -> Z) (p : entry -> bool) l :
  sum h l = sum h (filter p l) + sum h (filter (fun e => negb (p e)) l).
Proof.
  unfold sum. induction l as [|e l IH]; cbn; [lia|]. destruct (p e); cbn; lia.
Qed.

Lemma total_filter p l : total l = total (filter p l) + total (filter (fun e => negb (p e)) l).
Proof. unfold total. rewrite (sum_filter len p l), (sum_filter spill p l). lia. Qed.

Lemma sum_cons (h : entry -> Z) e l : sum h (e :: l) = h e + sum h l.
Proof. reflexivity. Qed.

Lemma total_cons e l : total (e :: l) = len e + spill e + total l.
Proof. unfold total. rewrite !sum_cons. lia. Qed.

Lemma sum_nonneg (h : entry -> Z) l : (forall e, 0 <= h e) -> 0 <= sum h l.
Proof. intros H. unfold sum. induction l as [|e l IH]; cbn; [lia|]. specialize (H e). lia. Qed.

Lemma pairs_filter (R : entry -> entry -> Prop) p l : ForallOrdPairs R l -> ForallOrdPairs R (filter p l).
Proof.
  induction 1 as [|e l F _ IH]; cbn; [constructor|]. destruct (p e); [constructor|]; auto.
  rewrite Forall_forall in *. intros f I. apply filter_In in I. apply F. tauto.
Qed.

Lemma Forall_filter (P : entry -> Prop) p l : Forall P l -> Forall P (filter p l).
Proof. rewrite !Forall_forall. intros H e I. apply filter_In in I. apply H. tauto. Qed.

Lemma filter_length_le (p : entry -> bool) l : (length (filter p l) <= length l)%nat.
Proof. induction l as [|e l IH]; cbn; [lia|]. destruct (p e); cbn; lia. Qed.

(* Padded to whole cells, up to any end. *)
Lemma pack n : forall l a b, (length l <= n)%nat -> ForallOrdPairs disjoint l -> a <= b ->
  (forall e, In e l -> 0 < len e /\ a <= at_ e /\ at_ e + len e + spill e <= b /\ (g | at_ e - r)) ->
  total l <= b - a.
Proof.
  induction n as [|n IH]; intros l a b N P L S.
  - destruct l; [cbn; lia|cbn in N; lia].
  - destruct l as [|e l]; [cbn; lia|]. inversion P as [|? ? F P']; subst. rewrite Forall_forall in F.
    destruct (S e (or_introl eq_refl)) as (S1 & S2 & S3 & S4).
    set (below := fun f => at_ f <? at_ e).
    assert (W : total (e :: l) = len e + spill e + total (filter below l) + total (filter (fun f => negb (below f)) l)).
    { rewrite total_cons, (total_filter below l). lia. }
    pose proof (spill_bound e).
    assert (M1 : (length (filter below l) <= n)%nat).
    { pose proof (filter_length_le below l). cbn in N. lia. }
    assert (M2 : (length (filter (fun f => negb (below f)) l) <= n)%nat).
    { pose proof (filter_length_le (fun f => negb (below f)) l). cbn in N. lia. }
    rewrite W.
    pose proof (IH (filter below l) a (at_ e) M1 (pairs_filter _ _ _ P') ltac:(lia)) as H1.
    pose proof (IH (filter (fun f => negb (below f)) l) (at_ e + len e + spill e) b M2
                  (pairs_filter _ _ _ P') ltac:(lia)) as H2.
    assert (total (filter below l) <= at_ e - a).
    { apply H1. intros f I. apply filter_In in I. destruct I as [I B]. unfold below in B. to_z.
      destruct (S f (or_intror I)) as (T1 & T2 & T3 & T4). repeat split; auto.
      apply next_cell; auto. destruct (F _ I); lia. }
    assert (total (filter (fun f => negb (below f)) l) <= b - (at_ e + len e + spill e)).
    { apply H2. intros f I. apply filter_In in I. destruct I as [I B]. unfold below in B.
      apply negb_true_iff in B. to_z.
      destruct (S f (or_intror I)) as (T1 & T2 & T3 & T4). repeat split; auto.
      apply next_cell; auto. destruct (F _ I); lia. }
    lia.
Qed.

Lemma sum_mono (h h' : entry -> Z) l : (forall e, h e <= h' e) -> sum h l <= sum h' l.
Proof. intros H. unfold sum. induction l as [|e l IH]; cbn; [lia|]. specialize (H e). lia. Qed.

(* One more may waste less, the last one: the bound is for any waste theta. *)
Lemma pack_spared n : forall l a b, (length l <= n)%nat -> ForallOrdPairs disjoint l -> a <= b ->
  (forall e, In e l -> stands a b [] e) ->
  total l <= b - a + theta + sum beyond l.
Proof.
  induction n as [|n IH]; intros l a b N P L S.
  - destruct l; [cbn; lia|cbn in N; lia].
  - destruct l as [|e l]; [cbn; lia|]. inversion P as [|? ? F P']; subst. rewrite Forall_forall in F.
    destruct (S e (or_introl eq_refl)) as (S1 & S2 & S3 & S4 & _).
    set (below := fun f => at_ f <? at_ e).
    set (under := filter below l). set (above := filter (fun f => negb (below f)) l).
    assert (W : total (e :: l) = len e + spill e + total under + total above).
    { rewrite total_cons, (total_filter below l). subst under above. lia. }
    assert (W' : sum beyond (e :: l) = beyond e + sum beyond under + sum beyond above).
    { rewrite sum_cons, (sum_filter beyond below l). subst under above. lia. }
    pose proof (spill_bound e).
    assert (M2 : (length above <= n)%nat).
    { pose proof (filter_length_le (fun f => negb (below f)) l). cbn in N. subst above. lia. }
    assert (B0 : forall f, 0 <= beyond f) by (intros; unfold beyond; lia).
    pose proof (sum_nonneg beyond under B0). pose proof (sum_nonneg beyond above B0).
    assert (U : total under <= at_ e - a).
    { apply (pack (length under)); auto; [apply pairs_filter; assumption|].
      intros f I. apply filter_In in I. destruct I as [I B]. unfold below in B. to_z.
      destruct (S f (or_intror I)) as (T1 & T2 & T3 & T4 & _). repeat split; auto.
      apply next_cell; auto. destruct (F _ I); lia. }
    assert (D : above = [] \/ exists f, In f above).
    { destruct above as [|k]; [auto|]. right. exists k. cbn. auto. }
    rewrite W, W'. destruct D as [E|[f D]].
    + rewrite E in *. change (total []) with 0. change (sum beyond []) with 0.
      pose proof (B0 e). unfold beyond in *. lia.
    + assert (A : forall f, In f above -> at_ e + len e + spill e <= at_ f).
      { intros k I. apply filter_In in I. destruct I as [I B]. unfold below in B. apply negb_true_iff in B. to_z.
        destruct (S k (or_intror I)) as (T1 & T2 & T3 & T4 & _).
        apply next_cell; auto. destruct (F _ I); lia. }
      assert (Q : forall f, In f above -> stands (at_ e + len e + spill e) b [] f).
      { intros k I. pose proof (A _ I). apply filter_In in I. destruct I as [I B].
        destruct (S k (or_intror I)) as (T1 & T2 & T3 & T4 & T5). repeat split; auto. }
      pose proof (A f D). destruct (Q f D) as (? & ? & ? & _).
      assert (V : total above <= b - (at_ e + len e + spill e) + theta + sum beyond above).
      { apply IH; auto; [|lia]. apply pairs_filter. assumption. }
      pose proof (B0 e). lia.
Qed.

Lemma taken_shift ranges : forall last a a' b, ascending last ranges -> a <= last -> a' <= last ->
  taken ranges a b = taken ranges a' b.
Proof.
  induction ranges as [|[p q] ranges IH]; intros last a a' b A L L'; [reflexivity|].
  inversion A; subst. cbn. rewrite (IH q a a' b) by (auto; lia).
  rewrite !Z.max_l by lia. reflexivity.
Qed.


Lemma stretch ranges : forall last l a b, ascending last ranges -> ForallOrdPairs disjoint l -> a <= b ->
  (forall e, In e l -> stands a b ranges e) ->
  total l <= b - a - fst (taken ranges a b) + (1 + snd (taken ranges a b)) * theta + sum beyond l.
Proof.
  induction ranges as [|[p q] ranges IH]; intros last l a b A P L S.
  - cbn [taken fst snd]. pose proof (pack_spared (length l) l a b (le_n _) P L S). lia.
  - inversion A as [|? ? ? ? A1 A2 A3]; subst. cbn [taken].
    assert (S' : forall e, In e l -> stands a b ranges e).
    { intros e I. destruct (S e I) as (S1 & S2 & S3 & S4 & S5). apply off_cons in S5.
      repeat split; tauto. }
    destruct (Z.max p a <? Z.min q b) eqn:C; to_z.
    + set (from := Z.max p a) in *. set (to := Z.min q b) in *.
      set (left := fun e => at_ e + len e <=? from).
      set (under := filter left l). set (above := filter (fun e => negb (left e)) l).
      assert (W : total l = total under + total above).
      { apply total_filter. }
      assert (W' : sum beyond l = sum beyond under + sum beyond above).
      { apply sum_filter. }
      assert (U : total under <= from - a + theta + sum beyond under).
      { apply (pack_spared (length under)); auto; [apply pairs_filter; assumption|lia|].
        intros e I. apply filter_In in I. destruct I as [I B]. unfold left in B. to_z.
        destruct (S e I) as (S1 & S2 & S3 & S4 & S5). repeat split; auto. intros ? ? []. }
      assert (V : total above <= b - to - fst (taken ranges to b) + (1 + snd (taken ranges to b)) * theta
                    + sum beyond above).
      { apply (IH q); auto; [apply pairs_filter; assumption|lia|].
        intros e I. apply filter_In in I. destruct I as [I B]. unfold left in B. apply negb_true_iff in B. to_z.
        destruct (S e I) as (S1 & S2 & S3 & S4 & S5). apply off_cons in S5. destruct S5 as [S5 S6].
        repeat split; auto. lia. }
      rewrite (taken_shift ranges q a to b); auto; try lia.
      destruct (taken ranges to b) as [lost count]. cbn [fst snd] in *. lia.
    + specialize (IH q l a b A3 P L S'). destruct (taken ranges a b) as [lost count]. cbn [fst snd] in *. lia.
Qed.

End Stretch.

Section Overfull.

Variable t : table.

Lemma gcd_divides l r : let g := fold_right
     (fun e g => Z.gcd (modulus (what e)) (Z.gcd (residue (what e) - r) g)) 0 l in
  forall e, In e l -> (g | modulus (what e)) /\ (g | residue (what e) - r).
Proof.
  induction l as [|f l IH]; cbn; intros e [].
  - subst f. split; [apply Z.gcd_divide_l|].
    eapply Z.divide_trans; [apply Z.gcd_divide_r|]. apply Z.gcd_divide_l.
  - destruct (IH e H) as [H1 H2].
    assert (Q : forall z, (fold_right
     (fun e g => Z.gcd (modulus (what e)) (Z.gcd (residue (what e) - r) g)) 0 l | z) ->
     (Z.gcd (modulus (what f)) (Z.gcd (residue (what f) - r) (fold_right
     (fun e g => Z.gcd (modulus (what e)) (Z.gcd (residue (what e) - r) g)) 0 l)) | z)).
    { intros z D. eapply Z.divide_trans; [|exact D].
      eapply Z.divide_trans; [apply Z.gcd_divide_r|]. apply Z.gcd_divide_r. }
    split; auto.
Qed.

Lemma ordered (P : entry -> entry -> Prop) l : all_conflict t l = true ->
  (forall e f, In e l -> In f l -> conflict t e f = true -> P e f) -> ForallOrdPairs P l.
Proof.
  induction l as [|e l IH]; cbn; intros C H; constructor; split_and.
  - apply Forall_forall. intros f I.
    match goal with H : forallb _ _ = true |- _ => rewrite forallb_forall in H; specialize (H _ I) end. auto.
  - apply IH; auto.
Qed.

Lemma overfull_is_wrong from to l x : ascending 0 (rising t) ->
  (forall e, In e l -> 0 < bytes (what e) /\ 0 < modulus (what e) /\
     low e <= x (name e) <= high e /\ allowed t (what e) (x (name e))) ->
  (forall e f, In e l -> In f l -> conflict t e f = true ->
     x (name e) + bytes (what e) <= x (name f) \/ x (name f) + bytes (what f) <= x (name e)) ->
  is_overfull t from to l = true -> False.
Proof.
  intros AS R A. unfold is_overfull. destruct l as [|first l0]; [discriminate|].
  set (l := first :: l0) in *. set (r := residue (what first)).
  set (g := fold_right _ 0 l). set (begin := from + (r - from) mod g).
  destruct (taken (rising t) begin to) as [lost count] eqn:TK.
  set (least := nth _ _ _). intros H. split_and. to_z.
  match goal with H : forallb _ l = true |- _ => rewrite forallb_forall in H; rename H into B end.
  match goal with H : all_conflict t l = true |- _ => rename H into C end.
  assert (GP : 0 < g).
  { destruct (R first (or_introl eq_refl)) as (_ & M & _).
    destruct (gcd_divides l r first (or_introl eq_refl)) as [D _]. fold g in D.
    assert (0 <= g). { subst g. unfold l. cbn. apply Z.gcd_nonneg. }
    destruct (Z.eq_dec g 0) as [E|]; [|lia]. rewrite E in D. apply Z.divide_0_l in D. lia. }
  assert (K : forall e, In e l -> (g | x (name e) - r)).
  { intros e I. destruct (R e I) as (_ & M & _ & (_ & E & _)).
    destruct (gcd_divides l r e I) as [D1 D2]. fold g in D1, D2.
    apply Z.mod_divide in E; [|lia].
    replace (x (name e) - r) with ((x (name e) - residue (what e)) + (residue (what e) - r)) by lia.
    apply Z.divide_add_r; [apply Z.divide_trans with (modulus (what e)); assumption|assumption]. }
  assert (BG : forall e, In e l -> begin <= x (name e) /\ x (name e) + bytes (what e) <= to).
  { intros e I. specialize (B _ I). split_and. to_z. destruct (R e I) as (_ & _ & L & _).
    split; [|lia]. destruct (K e I) as [z Z1]. subst begin.
    pose proof (Z.mod_pos_bound (r - from) g GP). pose proof (Z.div_mod (r - from) g ltac:(lia)).
    assert (z + (r - from) / g > - 1) by nia. nia. }
  destruct (BG first (or_introl eq_refl)) as [BG1 BG2]. destruct (R first (or_introl eq_refl)) as (SZ & _).
  match goal with H : _ || _ = true |- _ => apply orb_prop in H; destruct H as [O|O] end; to_z; [lia|].
  assert (LN : 0 <= least).
  { subst least.
    destruct (nth_in_or_default (Z.to_nat count) (Sorting.sort (map (waste g) l)) 0) as [I|E]; [|lia].
    apply (Permutation.Permutation_in _ (Permutation.Permutation_sym (Sorting.Permuted_sort _))) in I.
    apply in_map_iff in I. destruct I as (e & <- & _). apply Z.mod_pos_bound. assumption. }
  pose proof (stretch (fun e => x (name e)) (fun e => bytes (what e)) g r GP least LN (rising t) 0 l begin to AS) as F.
  rewrite TK in F. cbn [fst snd] in F. unfold total, beyond, spill in F. unfold waste in O.
  enough (sum (fun e => bytes (what e)) l + sum (fun e => (- bytes (what e)) mod g) l <=
    to - begin - lost + (1 + count) * least +
    sum (fun e => Z.max ((- bytes (what e)) mod g - least) 0) l) by lia.
  apply F; [|lia|].
  - apply ordered; assumption.
  - intros e I. destruct (R e I) as (S1 & S2 & S3 & (_ & _ & _ & _ & S4)). destruct (BG e I).
    repeat split; auto.
Qed.

End Overfull.
