(* The theorems: what the checker says is true. They are at the end; Spec.v says what their words mean.

   Copyright the authors of memstow. Licensed under the Apache License, Version 2.0 (the file LICENSE). *)

From Coq Require Import ZArith List Bool Lia FMapPositive.
From Memstow Require Import Spec Checker Offsets Overfull Rules.
Import ListNotations.
Open Scope Z_scope.

(* ---- The table of a problem ---- *)

Lemma divides_spec d n : 0 < d -> divides d n = true -> (d | n).
Proof. unfold divides. intros D H. to_z. apply Z.mod_divide; [lia|assumption]. Qed.

Lemma sized_in p i b : In (i, b) (sized p) <-> In (i, b) (buffers p) /\ 0 < size b.
Proof. unfold sized. rewrite filter_In, Z.ltb_lt. reflexivity. Qed.

Lemma items_spec p u l i it :
  Map.find i (fold_right (fun '(i, b) m => Map.add i (item_of p u b) m) (Map.empty _) l) = Some it ->
  exists b, In (i, b) l /\ it = item_of p u b.
Proof.
  induction l as [|[j b] l IH]; cbn [fold_right].
  - rewrite Map.gempty. discriminate.
  - destruct (Pos.eq_dec i j) as [->|N].
    + rewrite Map.gss. intros [= <-]. exists b. cbn. auto.
    + rewrite Map.gso by assumption. intros H. destruct (IH H) as (c & I & E). exists c. cbn. auto.
Qed.

(* What is known of a problem that has a table. *)
Record known (p : problem) (t : table) (u : Z) : Prop := Known {
  known_unit : 0 < u;
  known_ranges : rising t = merged (reserved p);
  known_ends : forall a b, In (a, b) (rising t) -> (u | b);
  known_lengths : forall o n, In (o, n) (reserved p) -> 1 <= n;
  known_items : forall i it, Map.find i (items t) = Some it ->
    exists b, In (i, b) (buffers p) /\ 0 < size b /\ it = item_of p u b;
  known_sizes : forall i b, In (i, b) (buffers p) -> 0 < size b -> (u | size b);
  known_pins : forall i b o, In (i, b) (buffers p) -> 0 < size b -> pin b = Some o -> (u | o);
  known_grid : forall i b, In (i, b) (buffers p) -> 0 < size b ->
    (is_free p u (effective p b) = true) \/ ((u | effective p b) /\ (u | base p));
  known_alignments : forall i b, In (i, b) (buffers p) -> 0 < alignment b;
  known_alignment : 0 < pool_alignment p;
  known_end : 0 <= pool_end p <= limit;
  known_conflicting : conflicting t = index (conflicts p);
  known_excluding : excluding t = index (exclusive p);
  known_tying : tying t = index (in_place p) }.

Lemma effective_positive p b : 0 < alignment b -> 0 < pool_alignment p -> 0 < effective p b.
Proof.
  unfold effective. intros A B. pose proof (Z.lcm_nonneg (alignment b) (pool_alignment p)).
  assert (Z.lcm (alignment b) (pool_alignment p) <> 0); [|lia].
  intros E. apply Z.lcm_eq_0 in E. lia.
Qed.

Lemma table_known p t : table_of p = Some t -> good t /\ exists u, known p t u.
Proof.
  unfold table_of. set (u := unit_of p (merged (reserved p))).
  destruct (is_sound p && is_grid p (merged (reserved p)) u && is_ascending 0 (merged (reserved p))) eqn:E;
    [|discriminate].
  intros [= <-]. rewrite !andb_true_iff in E. destruct E as [[S Q] A].
  unfold is_sound in S. rewrite !andb_true_iff, !forallb_forall in S.
  destruct S as (((((S1 & S2) & S3) & S4) & S5) & S6). to_z.
  unfold is_grid in Q. rewrite !andb_true_iff, !forallb_forall in Q. destruct Q as ((Q1 & Q2) & Q3). to_z.
  assert (AL : forall i b, In (i, b) (buffers p) -> 0 < alignment b).
  { intros i b I. specialize (S6 _ I). cbn beta iota in S6. split_and. to_z. lia. }
  assert (K : known p (Table
            (fold_right (fun '(i, b) m => Map.add i (item_of p u b) m) (Map.empty _) (sized p))
            (merged (reserved p)) (rev (merged (reserved p)))
            (index (conflicts p)) (index (exclusive p)) (index (in_place p))
            false) u).
  { constructor; cbn; auto; try lia.
    - intros a b I. specialize (Q2 _ I). cbn beta iota in Q2. apply divides_spec; assumption.
    - intros o n I. specialize (S5 _ I). cbn beta iota in S5. split_and. to_z. assumption.
    - intros i it F. apply items_spec in F. destruct F as (b & I & F). apply sized_in in I.
      exists b. tauto.
    - intros i b I L. specialize (Q3 (i, b) ltac:(apply sized_in; auto)). cbn beta iota in Q3. split_and.
      apply divides_spec; assumption.
    - intros i b o I L F. specialize (Q3 (i, b) ltac:(apply sized_in; auto)). cbn beta iota in Q3.
      rewrite F in Q3. split_and. apply divides_spec; assumption.
    - intros i b I L. specialize (Q3 (i, b) ltac:(apply sized_in; auto)). cbn beta iota in Q3.
      rewrite !andb_true_iff, orb_true_iff, andb_true_iff in Q3. destruct Q3 as [_ [Q3|[Q3 Q4]]]; [auto|right].
      split; apply divides_spec; assumption. }
  split; [|exists u; exact K].
  constructor; cbn.
  - apply is_ascending_iff. assumption.
  - reflexivity.
  - intros i it F. destruct (known_items _ _ _ K i it F) as (b & I & L & ->). cbn. split; [assumption|].
    destruct (is_free p u (effective p b)); [assumption|]. apply effective_positive; [eauto|lia].
  - intros. apply is_listed_sym.
  - intros. apply is_listed_sym.
  - intros. apply is_listed_sym.
Qed.

(* ---- The grid: nothing is lost ---- *)

Section Grid.

Variable p : problem.
Variable t : table.
Variable u : Z.
Hypothesis K : known p t u.

(* All go down to multiples of u. *)
Definition pushed (x : layout) : layout := fun i => u * (x i / u).

Lemma pushed_below x i : pushed x i <= x i.
Proof. unfold pushed. apply Z.mul_div_le. apply K. Qed.

Lemma pushed_above x i z : (u | z) -> z <= x i -> z <= pushed x i.
Proof.
  intros [q ->] L. unfold pushed. pose proof (known_unit _ _ _ K).
  assert (q <= x i / u) by (apply Z.div_le_lower_bound; lia). nia.
Qed.

Lemma pushed_divides x i : (u | pushed x i).
Proof. unfold pushed. exists (x i / u). lia. Qed.

Lemma pushed_same x i : (u | x i) -> pushed x i = x i.
Proof. intros D. pose proof (pushed_below x i). pose proof (pushed_above x i _ D (Z.le_refl _)). lia. Qed.

Lemma pushed_allowed x i b : valid p x -> In (i, b) (buffers p) -> 0 < size b ->
  allowed t (item_of p u b) (pushed x i).
Proof.
  intros [V _] I L. destruct (V _ _ I) as (V1 & V2 & V3 & V4 & V5 & V6).
  pose proof (known_unit _ _ _ K) as U. pose proof (pushed_below x i) as PB.
  pose proof (known_end _ _ _ K) as KE.
  pose proof (known_alignments _ _ _ K _ _ I) as KA. pose proof (known_alignment _ _ _ K) as KB.
  pose proof (effective_positive p b KA KB) as EP.
  assert (ED : (effective p b | base p + x i)) by (apply Z.lcm_least; assumption).
  unfold allowed, item_of. cbn. repeat split.
  - apply pushed_above; [apply Z.divide_0_r|assumption].
  - destruct (is_free p u (effective p b)) eqn:F.
    + unfold pushed. rewrite Z.sub_0_r, Z.mul_comm. apply Z.mod_mul. lia.
    + destruct (known_grid _ _ _ K _ _ I L) as [G|[G1 G2]]; [congruence|].
      rewrite pushed_same.
      * apply Z.mod_divide; [lia|].
        pose proof (Z.div_mod (- base p) (effective p b) ltac:(lia)) as M.
        replace (x i - (- base p) mod effective p b)
          with ((base p + x i) + effective p b * (- base p / effective p b)) by lia.
        apply Z.divide_add_r; [assumption|]. apply Z.divide_factor_l.
      * replace (x i) with ((base p + x i) - base p) by lia.
        apply Z.divide_sub_r; [|assumption]. apply Z.divide_trans with (effective p b); assumption.
  - lia.
  - intros o F. rewrite pushed_same; [auto|]. rewrite (V5 _ F).
    apply (known_pins _ _ _ K _ _ _ I L F).
  - specialize (V6 L).
    assert (O : off (rising t) (x i) (x i + size b)).
    { rewrite (known_ranges _ _ _ K). apply off_merged; [lia|apply K|exact V6]. }
    intros c d J. destruct (O _ _ J); [left; lia|right].
    apply pushed_above; [|assumption]. apply (known_ends _ _ _ K _ _ J).
Qed.

Lemma pushed_apart x i b j : In (i, b) (buffers p) -> 0 < size b -> x i + size b <= x j ->
  pushed x i + size b <= pushed x j.
Proof.
  intros I L H. pose proof (pushed_below x i). apply pushed_above; [|lia].
  apply Z.divide_add_r; [apply pushed_divides|]. apply (known_sizes _ _ _ K _ _ I L).
Qed.

Lemma bonds_meet e f b c : bonds t e f = true -> what e = item_of p u b -> what f = item_of p u c ->
  0 < size b -> 0 < size c -> meet p (name e) b (name f) c.
Proof.
  unfold bonds, meets, meet. rewrite (known_conflicting _ _ _ K), (known_excluding _ _ _ K).
  intros H E F B C. rewrite E, F in H. cbn [item_of during] in H.
  rewrite !andb_true_iff, orb_true_iff, andb_true_iff, !negb_true_iff in H. destruct H as [[H1 H2] _]. to_z.
  rewrite is_listed_index, is_together_iff in H2.
  split; [assumption|]. split; [assumption|]. split; [assumption|].
  destruct H2 as [H2|[H2 H4]]; [auto|right]. split; [assumption|].
  intros N. apply is_listed_index in N. congruence.
Qed.

Hypothesis G : good t.

Lemma build_range x l : forall c, build t l = Some c ->
  (forall i from to it, In (i, (from, to)) l -> Map.find i (items t) = Some it ->
     from <= x i <= to /\ allowed t it (x i)) ->
  dead c = false /\ forall e, In e (entries c) -> in_range t x e.
Proof.
  induction l as [|[i [from to]] l IH]; cbn [build]; intros c B H.
  - inversion B. subst. cbn. split; [reflexivity|]. intros ? [].
  - destruct (Map.find i (items t)) as [it|] eqn:F; [|discriminate].
    destruct (build t l) as [c'|]; [|discriminate].
    destruct (IH c' eq_refl) as [D R]; [intros; eapply H; [right|]; eauto|].
    destruct (H i from to it (or_introl eq_refl) F) as [X A].
    pose proof (up_spec t G it from (items_fine t G _ _ F)) as U.
    pose proof (down_spec t G it to (items_fine t G _ _ F)) as W.
    destruct (up t it from) as [least|]; [|exfalso; apply (U _ A); lia].
    destruct (down t it to) as [most|]; [|exfalso; apply (W _ A); lia].
    destruct U as (_ & _ & U). specialize (U _ A ltac:(lia)).
    destruct W as (_ & _ & W). specialize (W _ A ltac:(lia)).
    destruct (least <=? most) eqn:E; to_z; [|lia]. inversion B. subst. cbn. split; [assumption|].
    intros e [<-|I]; [|auto]. split; [exact F|]. cbn. split; [lia|assumption].
Qed.

Lemma build_genuine l : forall c, build t l = Some c -> forall e, In e (entries c) -> genuine t e.
Proof.
  induction l as [|[i [from to]] l IH]; cbn [build]; intros c B e I.
  - inversion B. subst. destruct I.
  - destruct (Map.find i (items t)) as [it|] eqn:F; [|discriminate].
    destruct (build t l) as [c'|]; [|discriminate].
    assert (Q : exists low high d, c = Context (Entry i it low high :: entries c') d).
    { destruct (up t it from) as [least|]; [destruct (down t it to) as [most|]|];
        [destruct (least <=? most)| |]; inversion B; eauto. }
    destruct Q as (low & high & d & ->). destruct I as [<-|I]; [exact F|]. eapply IH; eauto.
Qed.

Lemma whole_in end_ i from to : In (i, (from, to)) (whole p end_) ->
  from = 0 /\ exists b, In (i, b) (buffers p) /\ 0 < size b /\ to = end_ - size b.
Proof.
  unfold whole. induction (buffers p) as [|[j b] l IH]; cbn; [tauto|].
  destruct (0 <? size b) eqn:E; to_z.
  - intros [Q|I].
    + inversion Q. subst. split; [reflexivity|]. exists b. auto.
    + destruct (IH I) as (? & c & ? & ? & ?). split; [assumption|]. exists c. auto.
  - intros I. destruct (IH I) as (? & c & ? & ? & ?). split; [assumption|]. exists c. auto.
Qed.

Lemma whole_holds x end_ c : valid p x ->
  (forall i b, In (i, b) (buffers p) -> 0 < size b -> x i + size b <= end_) ->
  build t (whole p end_) = Some c -> holds t (pushed x) c.
Proof.
  intros V H B. pose proof V as [VP VA].
  destruct (build_range (pushed x) _ _ B) as [D R].
  - intros i from to it I F. apply whole_in in I. destruct I as (-> & b & I & L & ->).
    destruct (known_items _ _ _ K _ _ F) as (b' & I' & L' & ->).
    pose proof (pushed_below x i). pose proof (H _ _ I L).
    pose proof (pushed_allowed x i b' V I' L') as A. split; [|exact A].
    destruct A as (A & _). lia.
  - split; [assumption|]. split; [assumption|]. intros e f I J C.
    pose proof (build_genuine _ _ B _ I) as Ge. pose proof (build_genuine _ _ B _ J) as Gf.
    destruct (known_items _ _ _ K _ _ Ge) as (b & Ib & Lb & Eb).
    destruct (known_items _ _ _ K _ _ Gf) as (d & Id & Ld & Ed).
    pose proof (bonds_meet e f b d C Eb Ed Lb Ld) as M.
    unfold agree, apart. rewrite Eb, Ed. cbn [item_of bytes].
    destruct (VA _ _ _ _ Ib Id M) as [Q|[Q|[Q Q']]]; [left; left|left; right|right].
    + eapply pushed_apart; eauto.
    + eapply pushed_apart; eauto.
    + split; [|unfold pushed; rewrite Q'; reflexivity].
      unfold tied. rewrite (known_tying _ _ _ K). apply is_listed_index. assumption.
Qed.

Lemma peak_nonneg x : 0 <= peak p x.
Proof.
  unfold peak. induction (buffers p) as [|[i b] l IH]; cbn; [lia|].
  destruct (0 <? size b); lia.
Qed.

Lemma peak_above x i b : In (i, b) (buffers p) -> 0 < size b -> x i + size b <= peak p x.
Proof.
  unfold peak. induction (buffers p) as [|[j c] l IH]; cbn; [tauto|].
  intros [E|I] L.
  - inversion E. subst. rewrite (proj2 (Z.ltb_lt _ _) L). lia.
  - specialize (IH I L). destruct (0 <? size c); lia.
Qed.

Lemma peak_below x end_ : 0 <= end_ -> (forall i b, In (i, b) (buffers p) -> x i + size b <= end_) ->
  peak p x <= end_.
Proof.
  intros N. unfold peak. induction (buffers p) as [|[i b] l IH]; cbn; intros H; [lia|].
  assert (fold_right (fun '(i, b) most => if 0 <? size b then Z.max (x i + size b) most else most) 0 l <= end_)
    by (apply IH; intros; apply H; auto).
  specialize (H i b (or_introl eq_refl)). destruct (0 <? size b); lia.
Qed.

(* ---- Steps ---- *)

Definition sound_state (s : state) : Prop :=
  true_lemmas t s /\ forall h, refuted s = Some h -> forall x, valid p x -> h < peak p x.

Lemma do_step_sound s one s' : sound_state s -> do_step p t s one = Some s' -> sound_state s'.
Proof.
  intros [T H]. destruct one as [stated r|back|height d|count]; cbn [do_step].
  - destruct (build t stated) as [c|] eqn:B; [|discriminate].
    destruct (negb (dead c) && justifies t s c r) eqn:J; [|discriminate]. intros [= <-].
    split; [|exact H]. apply andb_prop in J. destruct J as [D J]. apply negb_true_iff in D.
    intros k l F. cbn [lemmas] in F. destruct (Pos.eq_dec k (next s)) as [->|N].
    + rewrite Map.gss in F. inversion F. subst. split; [apply (build_genuine _ _ B)|].
      intros x L. apply (justifies_sound t G s c r T J x). split; assumption.
    + rewrite Map.gso in F by assumption. eapply T; eauto.
  - destruct (recall s back) as [[which l]|]; [|discriminate]. intros [= <-]. split; [|exact H].
    intros k l' F. cbn [lemmas] in F. destruct (Pos.eq_dec k which) as [->|N].
    + rewrite Map.grs in F. discriminate.
    + rewrite Map.gro in F by assumption. eapply T; eauto.
  - destruct (build t (whole p (Z.min height (pool_end p)))) as [c|] eqn:B; [|discriminate].
    destruct (derives t s c d) eqn:D; [|discriminate]. intros [= <-]. split; [exact T|].
    cbn [refuted]. intros h E x V.
    assert (Q : height < peak p x).
    { destruct (Z.lt_ge_cases height (peak p x)) as [|L]; [assumption|exfalso].
      apply (derives_sound t G s c d T D (pushed x)).
      eapply whole_holds; eauto. intros i b I S. pose proof (peak_above x i b I S).
      destruct V as [V _]. destruct (V _ _ I) as (_ & ? & _). lia. }
    destruct (refuted s) as [h'|] eqn:E'; inversion E; [|congruence].
    specialize (H _ eq_refl _ V). lia.
  - intros [= <-]. split; [|exact H]. intros k l F. cbn [lemmas] in F. rewrite Map.gempty in F. discriminate.
Qed.

Lemma start_sound : sound_state (State 1 (Map.empty _) None).
Proof.
  split; [|discriminate]. intros k l F. cbn [lemmas] in F. rewrite Map.gempty in F. discriminate.
Qed.

(* ---- The plan ---- *)

Lemma are_apart_spec l : are_apart t l = true -> ForallOrdPairs (fun a b => is_apart t a b = true) l.
Proof.
  induction l as [|a l IH]; cbn; intros H; constructor; split_and; auto.
  apply Forall_forall. apply forallb_forall. assumption.
Qed.

Lemma is_apart_spec a b : is_apart t a b = true ->
  meet p (who a) (whose a) (who b) (whose b) ->
  stop a <= start b \/ stop b <= start a \/ (listed (in_place p) (who a) (who b) /\ start a = start b).
Proof.
  unfold is_apart, meet. rewrite (known_conflicting _ _ _ K), (known_excluding _ _ _ K), (known_tying _ _ _ K).
  intros H (N & _ & _ & M). rewrite !orb_true_iff, andb_true_iff in H.
  destruct H as [[[[H|H]|H]|H]|[H H']]; to_z.
  - auto.
  - auto.
  - contradiction.
  - exfalso. apply negb_true_iff in H. apply orb_false_iff in H. destruct H as [H1 H2].
    destruct M as [M|[M1 M2]].
    + apply is_listed_index in M. congruence.
    + apply andb_false_iff in H2. destruct H2 as [H2|H2].
      * apply is_together_iff in M1. congruence.
      * apply negb_false_iff in H2. apply is_listed_index in H2. contradiction.
  - right. right. apply is_listed_index in H'. auto.
Qed.

Lemma meet_sym i b j c : meet p i b j c -> meet p j c i b.
Proof.
  unfold meet. intros (N & B & C & M). split; [auto|]. split; [auto|]. split; [auto|].
  rewrite !(listed_sym _ j i). destruct M as [M|[M1 M2]]; [auto|]. right. split; [|assumption].
  apply together_sym. assumption.
Qed.

Lemma is_valid_sound m : is_valid p t m = true -> valid p (layout_in m).
Proof.
  unfold is_valid. intros H. apply andb_prop in H. destruct H as [P A].
  rewrite forallb_forall in P. split.
  - intros i b I. specialize (P _ I). cbn beta iota in P. apply andb_prop in P. destruct P as [_ P].
    unfold is_placed in P. rewrite !andb_true_iff, orb_true_iff in P.
    destruct P as (((((P1 & P2) & P3) & P4) & P5) & P6). to_z.
    pose proof (known_alignments _ _ _ K _ _ I). pose proof (known_alignment _ _ _ K).
    split; [assumption|]. split; [assumption|].
    split; [apply divides_spec; assumption|]. split; [apply divides_spec; assumption|]. split.
    + intros o F. rewrite F in P5. to_z. assumption.
    + intros L o n J. destruct P6 as [P6|P6].
      * apply negb_true_iff in P6. to_z. lia.
      * rewrite forallb_forall in P6. specialize (P6 _ J). cbn beta iota in P6.
        apply orb_prop in P6. destruct P6; to_z; auto.
  - intros i b j c I J M. apply are_apart_spec in A.
    set (put := fun '(i, b) => Place i b (layout_in m i) (layout_in m i + size b)) in A.
    assert (Ii : In (put (i, b)) (map put (sized p))).
    { apply in_map. apply sized_in. destruct M as (_ & ? & _). auto. }
    assert (Ij : In (put (j, c)) (map put (sized p))).
    { apply in_map. apply sized_in. destruct M as (_ & _ & ? & _). auto. }
    destruct (ForallOrdPairs_In A _ _ Ii Ij) as [E|[E|E]].
    + exfalso. cbn in E. inversion E. destruct M as [N _]. contradiction.
    + apply is_apart_spec in E; [|exact M]. exact E.
    + apply is_apart_spec in E; [|apply meet_sym; exact M]. cbn in E.
      destruct E as [E|[E|[E1 E2]]]; auto. right. right. split; [|auto]. apply listed_sym. assumption.
Qed.

End Grid.

(* ---- All steps ---- *)

(* Whether ties count changes nothing of what is known of the problem. *)
Lemma table_after_known p t u one : good t -> known p t u -> good (table_after t one) /\ known p (table_after t one) u.
Proof. intros G K. destruct one; auto. destruct G, K. split; constructor; assumption. Qed.

Lemma sound_after p t one s s' : do_step p t s one = Some s' -> sound_state p t s' ->
  sound_state p (table_after t one) s'.
Proof.
  destruct one as [| | |count]; cbn [do_step table_after]; try (intros _ S; exact S).
  intros [= <-] [_ H]. split; [|exact H]. intros k l F. cbn [lemmas] in F. rewrite Map.gempty in F. discriminate.
Qed.

Lemma run_sound p u steps : forall t s n s', good t -> known p t u -> sound_state p t s ->
  run p t s n steps = inl s' -> forall h, refuted s' = Some h -> forall x, valid p x -> h < peak p x.
Proof.
  induction steps as [|one steps IH]; cbn [run]; intros t s n s' G K S R.
  - inversion R. subst. apply S.
  - destruct (do_step p t s one) as [s1|] eqn:D; [|discriminate].
    destruct (table_after_known p t u one G K) as [G' K'].
    eapply IH; [exact G'|exact K'| |exact R]. eapply sound_after; eauto. eapply do_step_sound; eauto.
Qed.

(* ---- The theorems ---- *)

(* The plan is a layout, with this peak, and no layout has a smaller one. *)
Theorem least_is_least p places steps most : check p (Some places) steps = Least most ->
  valid p (layout_of places) /\ peak p (layout_of places) = most /\
  forall x, valid p x -> most <= peak p x.
Proof.
  unfold check. destruct (table_of p) as [t|] eqn:T; [|discriminate].
  destruct (table_known _ _ T) as [G [u K]]. fold (layout_of places).
  destruct (is_valid p t (offsets_of places)) eqn:V; [|discriminate].
  destruct (run p t _ 0 steps) as [s|] eqn:R; [|discriminate].
  pose proof (run_sound p u _ _ _ _ _ G K (start_sound p t) R) as S.
  pose proof (is_valid_sound p t u K _ V) as W. fold (layout_of places) in W.
  destruct (_ <? _) eqn:C; [discriminate|].
  destruct ((_ =? 0) || _) eqn:E; [|discriminate]. intros [= <-].
  split; [exact W|]. split; [reflexivity|]. intros x X.
  pose proof (peak_nonneg p x) as N. apply orb_prop in E. destruct E as [E|E]; to_z; [lia|].
  rewrite E. destruct (refuted s) as [h|]; [|lia]. specialize (S _ eq_refl _ X). lia.
Qed.

(* No layout exists. *)
Theorem nothing_fits p steps : check p None steps = NothingFits -> forall x, ~ valid p x.
Proof.
  unfold check. destruct (table_of p) as [t|] eqn:T; [|discriminate].
  destruct (table_known _ _ T) as [G [u K]].
  destruct (run p t _ 0 steps) as [s|] eqn:R; [|discriminate].
  pose proof (run_sound p u _ _ _ _ _ G K (start_sound p t) R) as S.
  destruct (refuted s) as [h|]; [|discriminate].
  destruct (pool_end p <=? h) eqn:C; [|discriminate]. intros _ x X. to_z.
  specialize (S _ eq_refl _ X). pose proof (known_end _ _ _ K).
  assert (peak p x <= pool_end p); [|lia].
  apply peak_below; [lia|]. intros i b I. destruct X as [X _]. apply (X _ _ I).
Qed.

(* The plan is a layout, with this peak, and no layout has a peak below the bound. *)
Theorem weaker_is_right p places steps most bound : check p (Some places) steps = Weaker most bound ->
  valid p (layout_of places) /\ peak p (layout_of places) = most /\
  forall x, valid p x -> bound <= peak p x.
Proof.
  unfold check. destruct (table_of p) as [t|] eqn:T; [|discriminate].
  destruct (table_known _ _ T) as [G [u K]]. fold (layout_of places).
  destruct (is_valid p t (offsets_of places)) eqn:V; [|discriminate].
  destruct (run p t _ 0 steps) as [s|] eqn:R; [|discriminate].
  pose proof (run_sound p u _ _ _ _ _ G K (start_sound p t) R) as S.
  pose proof (is_valid_sound p t u K _ V) as W. fold (layout_of places) in W.
  destruct (_ <? _) eqn:C; [discriminate|].
  destruct ((_ =? 0) || _) eqn:E; [discriminate|]. intros [= <- <-].
  split; [exact W|]. split; [reflexivity|]. intros x X.
  pose proof (peak_nonneg p x) as N.
  destruct (refuted s) as [h|]; [|lia]. specialize (S _ eq_refl _ X). lia.
Qed.

(* A right plan and a right proof never contradict each other. *)
Theorem no_contradiction p answer steps : check p answer steps <> Contradiction.
Proof.
  unfold check. destruct (table_of p) as [t|] eqn:T; [|discriminate].
  destruct (table_known _ _ T) as [G [u K]].
  destruct answer as [places|].
  - destruct (is_valid p t (offsets_of places)) eqn:V; [|discriminate].
    destruct (run p t _ 0 steps) as [s|] eqn:R; [|discriminate].
    pose proof (run_sound p u _ _ _ _ _ G K (start_sound p t) R) as S.
    pose proof (is_valid_sound p t u K _ V) as W. pose proof (peak_nonneg p (layout_in (offsets_of places))).
    destruct (_ <? _) eqn:C; to_z.
    + destruct (refuted s) as [h|]; [|lia]. specialize (S _ eq_refl _ W). lia.
    + destruct ((_ =? 0) || _); discriminate.
  - destruct (run p t _ 0 steps) as [s|]; [|discriminate].
    destruct (refuted s) as [h|]; [|discriminate]. destruct (_ <=? _); discriminate.
Qed.
