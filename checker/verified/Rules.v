(* Contexts, derivations and the rules of lemmas: each keeps every layout that there is, or shows that there is none.

   Copyright the authors of memstow. Licensed under the Apache License, Version 2.0 (the file LICENSE). *)

From Coq Require Import ZArith List Bool Lia.
From Memstow Require Import Spec Checker Offsets Overfull.
Import ListNotations.
Open Scope Z_scope.

Section Rules.

Variable t : table.
Hypothesis G : good t.

Definition genuine (e : entry) : Prop := Map.find (name e) (items t) = Some (what e).

Definition in_range (x : layout) (e : entry) : Prop :=
  genuine e /\ low e <= x (name e) <= high e /\ allowed t (what e) (x (name e)).

Definition apart (x : layout) (e f : entry) : Prop :=
  x (name e) + bytes (what e) <= x (name f) \/ x (name f) + bytes (what f) <= x (name e).

(* A layout of these ranges. *)
Definition lays (x : layout) (l : list entry) : Prop :=
  (forall e, In e l -> in_range x e) /\
  (forall e f, In e l -> In f l -> conflict t e f = true -> apart x e f).

(* A layout of the context. *)
Definition holds (x : layout) (c : context) : Prop := dead c = false /\ lays x (entries c).

Lemma genuine_fine e : genuine e -> fine (what e).
Proof. apply (items_fine t G). Qed.

Lemma conflict_names e f : conflict t e f = true -> name e <> name f.
Proof.
  unfold conflict. rewrite !andb_true_iff, negb_true_iff. intros [[H _] _]. to_z. assumption.
Qed.

Lemma conflict_sym e f : conflict t e f = conflict t f e.
Proof.
  unfold conflict.
  rewrite (Pos.eqb_sym (name e)), (conflicting_sym t G (name e)), (excluding_sym t G (name e)),
    (tying_sym t G (name e)), (is_together_sym (during (what e))). reflexivity.
Qed.

Lemma apart_sym x e f : apart x e f -> apart x f e.
Proof. unfold apart. tauto. Qed.

(* The same buffer. *)
Definition same (e e' : entry) : Prop := name e' = name e /\ what e' = what e.

Lemma conflict_same e e' f f' : same e e' -> same f f' -> conflict t e' f' = conflict t e f.
Proof. intros [E1 E2] [F1 F2]. unfold conflict. rewrite E1, E2, F1, F2. reflexivity. Qed.

Lemma apart_same x e e' f f' : same e e' -> same f f' -> apart x e f -> apart x e' f'.
Proof. intros [E1 E2] [F1 F2]. unfold apart. rewrite E1, E2, F1, F2. auto. Qed.

Lemma same_refl e : same e e.
Proof. split; reflexivity. Qed.

(* ---- Changes ---- *)

(* The change keeps the layout. *)
Definition keeps (x : layout) (f : entry -> option entry) (e : entry) : Prop :=
  exists e', f e = Some e' /\ same e e' /\ in_range x e'.

Lemma map_all_keeps x f l : (forall e, In e l -> keeps x f e) ->
  exists l', map_all f l = Some l' /\
    (forall e', In e' l' -> exists e, In e l /\ same e e' /\ in_range x e').
Proof.
  induction l as [|e l IH]; intros H; cbn.
  - exists []. split; [reflexivity|]. intros ? [].
  - destruct (H e (or_introl eq_refl)) as (e' & E & S & R).
    destruct IH as (l' & E' & K); [intros; apply H; cbn; auto|].
    rewrite E, E'. exists (e' :: l'). split; [reflexivity|].
    intros g [<-|I]; [exists e; cbn; auto|].
    destruct (K _ I) as (h & ? & ? & ?). exists h. cbn. auto.
Qed.

Lemma change_holds x f c : (forall e, In e (entries c) -> keeps x f e) -> holds x c -> holds x (change f c).
Proof.
  intros K [D [R A]]. unfold change. rewrite D.
  destruct (map_all_keeps _ _ _ K) as (l' & E & H). rewrite E.
  split; [reflexivity|]. cbn. split.
  - intros e I. destruct (H _ I) as (? & ? & ? & ?). assumption.
  - intros e f' I I' C.
    destruct (H _ I) as (e0 & I0 & S0 & _). destruct (H _ I') as (f0 & J0 & T0 & _).
    apply (apart_same x e0 e f0 f' S0 T0). apply A; auto.
    rewrite <- (conflict_same _ _ _ _ S0 T0). assumption.
Qed.

Lemma keeps_id x e : in_range x e -> keeps x Some e.
Proof. intros R. exists e. repeat split; apply R. Qed.

Lemma raise_keeps x to e : in_range x e -> to <= x (name e) -> keeps x (raise t to) e.
Proof.
  intros R L. unfold keeps, raise. destruct (to <=? low e) eqn:E; [exists e; repeat split; apply R|].
  destruct R as (F & B & A). pose proof (up_spec t G (what e) to (genuine_fine _ F)) as U.
  destruct (up t (what e) to) as [y|]; [|exfalso; eauto].
  destruct U as (_ & _ & U). specialize (U _ A L).
  destruct (y <=? high e) eqn:E2; to_z; [|lia].
  eexists. split; [reflexivity|]. split; [split; reflexivity|]. split; [exact F|]. cbn. split; [lia|exact A].
Qed.

Lemma lower_keeps x to e : in_range x e -> x (name e) <= to -> keeps x (lower t to) e.
Proof.
  intros R L. unfold keeps, lower. destruct (high e <=? to) eqn:E; [exists e; repeat split; apply R|].
  destruct R as (F & B & A). pose proof (down_spec t G (what e) to (genuine_fine _ F)) as U.
  destruct (down t (what e) to) as [y|]; [|exfalso; eauto].
  destruct U as (_ & _ & U). specialize (U _ A L).
  destruct (low e <=? y) eqn:E2; to_z; [|lia].
  eexists. split; [reflexivity|]. split; [split; reflexivity|]. split; [exact F|]. cbn. split; [lia|exact A].
Qed.

Lemma narrow_holds x i f c :
  (forall e, In e (entries c) -> name e = i -> keeps x f e) -> holds x c -> holds x (narrow i f c).
Proof.
  intros K H. apply change_holds; [|assumption]. intros e I. unfold keeps.
  destruct (Pos.eqb (name e) i) eqn:E; to_z; [apply K; auto|].
  apply keeps_id. apply H. assumption.
Qed.

Lemma narrow_raise_holds x i to c : to <= x i -> holds x c -> holds x (narrow i (raise t to) c).
Proof.
  intros L H. apply narrow_holds; [|assumption]. intros e I <-. apply raise_keeps; [apply H|]; assumption.
Qed.

Lemma narrow_lower_holds x i to c : x i <= to -> holds x c -> holds x (narrow i (lower t to) c).
Proof.
  intros L H. apply narrow_holds; [|assumption]. intros e I <-. apply lower_keeps; [apply H|]; assumption.
Qed.

Lemma entry_of_in i l e : entry_of i l = Some e -> In e l /\ name e = i.
Proof.
  induction l as [|f l IH]; cbn; [discriminate|].
  destruct (Pos.eqb (name f) i) eqn:E; to_z; [intros [= <-]; auto|]. intros H. destruct (IH H). auto.
Qed.

Lemma push_one_keeps x l j e : lays x l -> In j l -> In e l -> keeps x (push_one t j) e.
Proof.
  intros [R A] J I. unfold keeps, push_one.
  destruct (conflict t j e) eqn:C; [|apply keeps_id; auto].
  pose proof (A _ _ J I C) as P. pose proof (R _ J) as (_ & Bj & _). pose proof (R _ I) as Re.
  destruct Re as (F & Be & Ae) eqn:Q. clear Q.
  set (above := high j <? low e + bytes (what e)).
  set (below := high e <? low j + bytes (what j)).
  assert (X : above = true -> x (name j) + bytes (what j) <= x (name e)).
  { subst above. intros H. to_z. destruct P; [assumption|lia]. }
  assert (Y : below = true -> x (name e) + bytes (what e) <= x (name j)).
  { subst below. intros H. to_z. destruct P; [lia|assumption]. }
  assert (K : keeps x (fun e => if above then raise t (low j + bytes (what j)) e else Some e) e).
  { destruct above; [apply raise_keeps; [auto|]|apply keeps_id; auto]. specialize (X eq_refl). lia. }
  destruct K as (e' & E & [S1 S2] & R'). cbn in E. rewrite E.
  destruct below; [|exists e'; repeat split; auto; apply R'].
  destruct (lower_keeps x (high j - bytes (what e)) e') as (e2 & E2 & [T1 T2] & R2); auto.
  - specialize (Y eq_refl). rewrite S1. lia.
  - exists e2. split; [exact E2|]. split; [split; congruence|exact R2].
Qed.

Lemma push_all_holds x l : forall c c', push_all t l c = Some c' -> holds x c -> holds x c'.
Proof.
  induction l as [|i l IH]; cbn; intros c c' E H; [inversion E; subst; auto|].
  destruct (entry_of i (entries c)) as [j|] eqn:F; [|discriminate].
  apply IH in E; auto. apply change_holds; [|assumption].
  apply entry_of_in in F. destruct F as [F _]. intros e I. eapply push_one_keeps; eauto. apply H.
Qed.

(* ---- What closes a case ---- *)

Lemma pick_in l : forall some found, pick l some = Some found -> incl found l.
Proof.
  induction l as [|e l IH]; intros some found; cbn; destruct some as [|i some]; try discriminate;
    try (intros [= <-]; intros ? []).
  destruct (Pos.eqb (name e) i).
  - destruct (pick l some) eqn:E; [|discriminate]. intros [= <-].
    intros g [<-|I]; cbn; auto. right. eapply IH; eauto.
  - intros E g I. right. eapply IH; eauto.
Qed.

Lemma is_within_spec stated : forall l, is_within l stated = true ->
  forall s, In s stated -> exists e, In e l /\ name e = name s /\ low s <= low e /\ high e <= high s.
Proof.
  induction stated as [|s stated IH]; intros l H g I; [destruct I|].
  assert (K : exists e rest, (forall f, In f (e :: rest) -> In f l) /\ name e = name s /\ low s <= low e /\
                high e <= high s /\ is_within rest stated = true).
  { clear I IH. cbn -[andb Z.leb Pos.eqb] in H. induction l as [|e l IHl]; [discriminate|].
    cbn -[andb Z.leb Pos.eqb] in H.
    destruct (Pos.eqb (name e) (name s)) eqn:E; to_z.
    - split_and; to_z. exists e, l. auto.
    - destruct (IHl H) as (e' & rest & J & K). exists e', rest. split; [|exact K].
      intros f F. right. auto. }
  destruct K as (e & rest & J & N & L1 & L2 & W).
  destruct I as [<-|I].
  - exists e. repeat split; auto. apply J. cbn. auto.
  - destruct (IH _ W _ I) as (e' & I' & K). exists e'. split; [|exact K]. apply J. cbn. auto.
Qed.

(* A lemma that holds: its buffers are those of the problem, and it has no layout. *)
Definition true_lemma (stated : list entry) : Prop :=
  (forall e, In e stated -> genuine e) /\ forall x, ~ lays x stated.

Definition true_lemmas (s : state) : Prop :=
  forall k stated, Map.find k (lemmas s) = Some stated -> true_lemma stated.

Lemma recall_true s back k stated : true_lemmas s -> recall s back = Some (k, stated) -> true_lemma stated.
Proof.
  unfold recall. intros H. destruct (Pos.ltb back (next s)); [|discriminate].
  destruct (Map.find _ (lemmas s)) eqn:E; [|discriminate]. intros [= <- <-]. eapply H; eauto.
Qed.

Lemma all_conflict_spec l : all_conflict t l = true -> ForallOrdPairs (fun e f => conflict t e f = true) l.
Proof.
  induction l as [|e l IH]; cbn; intros H; constructor; split_and; auto.
  apply Forall_forall. apply forallb_forall. assumption.
Qed.

Lemma overfull_sound x from to l : lays x l -> is_overfull t from to l = false.
Proof.
  intros [R A]. apply not_true_iff_false. intros O.
  apply (overfull_is_wrong t from to l x); auto.
  - apply (rising_ascends t G).
  - intros e I. destruct (R _ I) as (F & B & AL). destruct (genuine_fine _ F). tauto.
Qed.

Lemma lays_incl x l l' : incl l' l -> lays x l -> lays x l'.
Proof. intros I [R A]. split; auto. Qed.

Lemma derives_sound s c d : true_lemmas s -> derives t s c d = true -> forall x, ~ holds x c.
Proof.
  unfold derives. intros T D x H.
  destruct (push_all t (pushes d) c) as [c'|] eqn:P; [|discriminate].
  apply (push_all_holds x) in P; [|assumption]. clear H. destruct P as [D' L].
  unfold closes in D. rewrite D' in D. destruct (close d) as [|from to some|back]; [discriminate| |].
  - destruct (pick (entries c') some) as [l|] eqn:E; [|discriminate]. cbn in D.
    rewrite (overfull_sound x) in D; [discriminate|]. eapply lays_incl; eauto. eapply pick_in; eauto.
  - destruct (recall s back) as [[k stated]|] eqn:E; [|discriminate]. cbn in D.
    apply recall_true in E; [|assumption]. destruct E as [N E]. apply (E x). clear E.
    pose proof (is_within_spec _ _ D) as W. destruct L as [R A].
    assert (K : forall g, In g stated -> exists e, In e (entries c') /\ same e g /\ in_range x g).
    { intros g I. destruct (W _ I) as (e & I' & Nm & L1 & L2). exists e. split; [assumption|].
      destruct (R _ I') as (F & B & AL). pose proof (N _ I) as F'. unfold genuine in F, F'.
      rewrite Nm in *. assert (Q : what g = what e) by congruence.
      split; [split; auto|]. split; [exact F'|]. rewrite Q. split; [lia|assumption]. }
    split.
    + intros g I. destruct (K _ I) as (? & ? & ? & ?). assumption.
    + intros g h I J C. destruct (K _ I) as (e & Ie & Se & _). destruct (K _ J) as (f & If & Sf & _).
      apply (apart_same x e g f h Se Sf). apply A; auto. rewrite <- (conflict_same _ _ _ _ Se Sf). assumption.
Qed.

(* ---- Rules ---- *)

Definition moved (x : layout) (i : positive) (y : Z) : layout := fun k => if Pos.eqb k i then y else x k.

Lemma moved_at x i y : moved x i y i = y.
Proof. unfold moved. rewrite Pos.eqb_refl. reflexivity. Qed.

Lemma moved_other x i y k : k <> i -> moved x i y k = x k.
Proof. unfold moved. intros N. apply Pos.eqb_neq in N. rewrite N. reflexivity. Qed.

Lemma is_alone_spec e l : is_alone e l = true -> forall f, In f l -> name f = name e ->
  low f = low e /\ high f = high e.
Proof.
  unfold is_alone. rewrite forallb_forall. intros H f I N. specialize (H _ I).
  apply orb_prop in H. destruct H as [H|H].
  - apply negb_true_iff in H. to_z. contradiction.
  - split_and; to_z. auto.
Qed.

(* One buffer goes elsewhere in its range. *)
Lemma moved_lays x l e y : lays x l -> In e l -> is_alone e l = true -> allowed t (what e) y ->
  low e <= y <= high e ->
  (forall f, In f l -> conflict t e f = true ->
     y + bytes (what e) <= x (name f) \/ x (name f) + bytes (what f) <= y) ->
  lays (moved x (name e) y) l.
Proof.
  intros [R A] I AL Y B P.
  assert (Q : forall f, In f l -> name f = name e -> what f = what e).
  { intros f J N. destruct (R _ I) as (F & _). destruct (R _ J) as (F' & _). unfold genuine in *.
    rewrite N in F'. congruence. }
  split.
  - intros f J. destruct (R _ J) as (F & BF & AF). split; [exact F|].
    destruct (Pos.eq_dec (name f) (name e)) as [N|N].
    + destruct (is_alone_spec _ _ AL _ J N) as [-> ->]. rewrite N, moved_at, (Q _ J N). auto.
    + rewrite moved_other by assumption. auto.
  - assert (W : forall f g, In f l -> In g l -> conflict t f g = true -> name f = name e ->
              apart (moved x (name e) y) f g).
    { intros f g J K C N. pose proof (conflict_names _ _ C) as D. unfold apart.
      rewrite N, moved_at, moved_other by congruence. rewrite (Q _ J N). apply P; auto.
      rewrite <- (conflict_same e f g g); auto using same_refl. split; auto. }
    intros f g J K C.
    destruct (Pos.eq_dec (name f) (name e)) as [N|N]; [auto|].
    destruct (Pos.eq_dec (name g) (name e)) as [M|M].
    + apply apart_sym, W; auto. rewrite conflict_sym. assumption.
    + unfold apart. rewrite !moved_other by assumption. apply A; auto.
Qed.

Lemma split_low_supports x l e v : forall some, incl some l -> lays x l -> In e l -> low e <= v ->
  allowed t (what e) (low e) ->
  match least_on_top t e v some with Some least => x (name e) < least | None => True end ->
  exists y, low e <= y <= v /\ allowed t (what e) y /\
    forall f, In f some -> conflict t e f = true -> x (name f) + bytes (what f) <= x (name e) ->
      x (name f) + bytes (what f) <= y.
Proof.
  intros some. induction some as [|f some IH]; intros S L I V A H.
  - exists (low e). repeat split; try lia; try apply A. intros f [].
  - assert (S' : incl some l) by (intros g J; apply S; cbn; auto).
    assert (J : In f l) by (apply S; cbn; auto).
    cbn in H. destruct (conflict t e f) eqn:C.
    + pose proof L as [R _]. destruct (R _ I) as (F & B & AL). destruct (R _ J) as (F' & B' & AL').
      pose proof (up_spec t G (what e) (high f + bytes (what f)) (genuine_fine _ F)) as U1.
      pose proof (up_spec t G (what e) (low f + bytes (what f)) (genuine_fine _ F)) as U2.
      destruct (match up t (what e) (high f + bytes (what f)) with Some w => w <=? v | None => false end) eqn:O.
      * destruct (up t (what e) (high f + bytes (what f))) as [w|]; [|discriminate]. to_z.
        destruct U1 as (U3 & U4 & _).
        destruct (IH S' L I V A H) as (y & Y1 & Y2 & Y3).
        destruct (Z.le_gt_cases y w).
        -- exists w. split; [lia|]. split; [assumption|]. intros g [<-|K] Cg X; [lia|].
           specialize (Y3 _ K Cg X). lia.
        -- exists y. split; [lia|]. split; [assumption|]. intros g [<-|K] Cg X; [lia|]. auto.
      * assert (N : ~ x (name f) + bytes (what f) <= x (name e)).
        { intros X. destruct (up t (what e) (low f + bytes (what f))) as [w|].
          - destruct U2 as (_ & _ & U2). specialize (U2 _ AL ltac:(lia)).
            destruct (least_on_top t e v some); cbn in H; lia.
          - eapply U2; [exact AL|lia]. }
        destruct (IH S' L I V A) as (y & Y1 & Y2 & Y3).
        { destruct (least_on_top t e v some); [|exact Logic.I].
          destruct (up t (what e) (low f + bytes (what f))); cbn in H; lia. }
        exists y. split; [lia|]. split; [assumption|]. intros g [<-|K] Cg X; [contradiction|]. auto.
    + destruct (IH S' L I V A H) as (y & Y1 & Y2 & Y3). exists y. split; [lia|]. split; [assumption|].
      intros g [<-|K] Cg X; [congruence|]. auto.
Qed.

Lemma split_high_supports x l e v : forall some, incl some l -> lays x l -> In e l -> v <= high e ->
  allowed t (what e) (high e) ->
  match most_under t e v some with Some most => most < x (name e) | None => True end ->
  exists y, v <= y <= high e /\ allowed t (what e) y /\
    forall f, In f some -> conflict t e f = true -> x (name e) + bytes (what e) <= x (name f) ->
      y + bytes (what e) <= x (name f).
Proof.
  intros some. induction some as [|f some IH]; intros S L I V A H.
  - exists (high e). repeat split; try lia; try apply A. intros f [].
  - assert (S' : incl some l) by (intros g J; apply S; cbn; auto).
    assert (J : In f l) by (apply S; cbn; auto).
    cbn in H. destruct (conflict t e f) eqn:C.
    + pose proof L as [R _]. destruct (R _ I) as (F & B & AL). destruct (R _ J) as (F' & B' & AL').
      pose proof (down_spec t G (what e) (low f - bytes (what e)) (genuine_fine _ F)) as U1.
      pose proof (down_spec t G (what e) (high f - bytes (what e)) (genuine_fine _ F)) as U2.
      destruct (match down t (what e) (low f - bytes (what e)) with Some w => v <=? w | None => false end) eqn:O.
      * destruct (down t (what e) (low f - bytes (what e))) as [w|]; [|discriminate]. to_z.
        destruct U1 as (U3 & U4 & _).
        destruct (IH S' L I V A H) as (y & Y1 & Y2 & Y3).
        destruct (Z.le_gt_cases w y).
        -- exists w. split; [lia|]. split; [assumption|]. intros g [<-|K] Cg X; [lia|].
           specialize (Y3 _ K Cg X). lia.
        -- exists y. split; [lia|]. split; [assumption|]. intros g [<-|K] Cg X; [lia|]. auto.
      * assert (N : ~ x (name e) + bytes (what e) <= x (name f)).
        { intros X. destruct (down t (what e) (high f - bytes (what e))) as [w|].
          - destruct U2 as (_ & _ & U2). specialize (U2 _ AL ltac:(lia)).
            destruct (most_under t e v some); cbn in H; lia.
          - eapply U2; [exact AL|lia]. }
        destruct (IH S' L I V A) as (y & Y1 & Y2 & Y3).
        { destruct (most_under t e v some); [|exact Logic.I].
          destruct (down t (what e) (high f - bytes (what e))); cbn in H; lia. }
        exists y. split; [lia|]. split; [assumption|]. intros g [<-|K] Cg X; [contradiction|]. auto.
    + destruct (IH S' L I V A H) as (y & Y1 & Y2 & Y3). exists y. split; [lia|]. split; [assumption|].
      intros g [<-|K] Cg X; [congruence|]. auto.
Qed.

Lemma put_below_holds x e f c : In e (entries c) -> In f (entries c) ->
  x (name e) + bytes (what e) <= x (name f) -> holds x c -> holds x (put_below t e f c).
Proof.
  intros I J L H. pose proof H as [_ [R _]].
  destruct (R _ I) as (_ & ? & _). destruct (R _ J) as (_ & ? & _).
  apply narrow_raise_holds; [lia|]. apply narrow_lower_holds; [lia|]. assumption.
Qed.

Definition swapped (x : layout) (i j : positive) : layout := moved (moved x i (x j)) j (x i).

Lemma are_twins_spec e f l : are_twins t e f l = true ->
  conflict t e f = true /\ bytes (what e) = bytes (what f) /\ modulus (what e) = modulus (what f) /\
  residue (what e) = residue (what f) /\ low e = low f /\ high e = high f /\
  fixed (what e) = None /\ fixed (what f) = None /\
  forall k, In k l -> name k <> name e -> name k <> name f -> conflict t e k = conflict t f k.
Proof.
  unfold are_twins. rewrite !andb_true_iff, !Z.eqb_eq, forallb_forall.
  intros (((((((H1 & H2) & H3) & H4) & H5) & H6) & H7) & H8).
  destruct (fixed (what e)), (fixed (what f)); try discriminate. repeat split; auto.
  intros k I N1 N2. specialize (H8 _ I). rewrite !orb_true_iff, !Pos.eqb_eq in H8.
  destruct H8 as [[H8|H8]|H8]; try contradiction. apply Bool.eqb_prop. assumption.
Qed.

Lemma twins_lay x l e f : lays x l -> In e l -> In f l -> are_twins t e f l = true ->
  is_alone e l = true -> is_alone f l = true -> lays (swapped x (name e) (name f)) l.
Proof.
  intros L I J T Ae Af. pose proof L as [R A].
  destruct (are_twins_spec _ _ _ T) as (Cef & Eb & Em & Er & El & Eh & Ne & Nf & K).
  pose proof (conflict_names _ _ Cef) as D.
  destruct (R _ I) as (Fe & Be & (A1 & A2 & A3 & A4 & A5)).
  destruct (R _ J) as (Ff & Bf & (C1 & C2 & C3 & C4 & C5)).
  assert (Xe : swapped x (name e) (name f) (name e) = x (name f)).
  { unfold swapped. rewrite moved_other by congruence. apply moved_at. }
  assert (Xf : swapped x (name e) (name f) (name f) = x (name e)) by apply moved_at.
  assert (Xo : forall k, k <> name e -> k <> name f -> swapped x (name e) (name f) k = x k).
  { intros. unfold swapped. rewrite !moved_other by congruence. reflexivity. }
  assert (Q : forall g h, In g l -> In h l -> name g = name h -> what g = what h).
  { intros g h Ig Ih N. destruct (R _ Ig) as (F & _). destruct (R _ Ih) as (F' & _). unfold genuine in *.
    rewrite N in F. congruence. }
  set (x' := swapped x (name e) (name f)) in *.
  split.
  - intros g Ig. destruct (R _ Ig) as (Fg & Bg & Ag). split; [exact Fg|].
    destruct (Pos.eq_dec (name g) (name e)) as [N|N]; [|destruct (Pos.eq_dec (name g) (name f)) as [M|M]].
    + destruct (is_alone_spec _ _ Ae _ Ig N) as [-> ->]. rewrite (Q _ _ Ig I N), N, Xe. split; [lia|].
      unfold allowed. rewrite Ne, Er, Em, Eb. repeat split; auto. congruence.
    + destruct (is_alone_spec _ _ Af _ Ig M) as [-> ->]. rewrite (Q _ _ Ig J M), M, Xf. split; [lia|].
      unfold allowed. rewrite Nf, <- Er, <- Em, <- Eb. repeat split; auto. congruence.
    + rewrite Xo by assumption. auto.
  - (* Either is where the other was. *)
    assert (W1 : forall g h, In g l -> In h l -> conflict t g h = true -> name g = name e -> apart x' g h).
    { intros g h Ig Ih C N. pose proof (conflict_names _ _ C) as D'.
      assert (C' : conflict t e h = true).
      { rewrite <- (conflict_same e g h h); auto using same_refl. split; auto. }
      unfold apart. rewrite N. rewrite Xe, (Q _ _ Ig I N).
      destruct (Pos.eq_dec (name h) (name f)) as [M|M].
      + rewrite M. rewrite Xf, (Q _ _ Ih J M).
        destruct (A _ _ I J) as [P|P]; auto; lia.
      + rewrite Xo by congruence.
        assert (E : conflict t f h = true) by (rewrite <- K; auto; congruence).
        destruct (A _ _ J Ih E) as [P|P]; lia. }
    assert (W2 : forall g h, In g l -> In h l -> conflict t g h = true -> name g = name f -> apart x' g h).
    { intros g h Ig Ih C N. pose proof (conflict_names _ _ C) as D'.
      assert (C' : conflict t f h = true).
      { rewrite <- (conflict_same f g h h); auto using same_refl. split; auto. }
      unfold apart. rewrite N. rewrite Xf, (Q _ _ Ig J N).
      destruct (Pos.eq_dec (name h) (name e)) as [M|M].
      + rewrite M. rewrite Xe, (Q _ _ Ih I M).
        destruct (A _ _ I J) as [P|P]; auto; lia.
      + rewrite Xo by congruence.
        assert (E : conflict t e h = true) by (rewrite K; auto; congruence).
        destruct (A _ _ I Ih E) as [P|P]; lia. }
    intros g h Ig Ih C.
    destruct (Pos.eq_dec (name g) (name e)) as [N|N]; [auto|].
    destruct (Pos.eq_dec (name g) (name f)) as [M|M]; [auto|].
    destruct (Pos.eq_dec (name h) (name e)) as [N'|N'];
      [apply apart_sym, W1; auto; rewrite conflict_sym; assumption|].
    destruct (Pos.eq_dec (name h) (name f)) as [M'|M'];
      [apply apart_sym, W2; auto; rewrite conflict_sym; assumption|].
    unfold apart. rewrite !Xo by assumption. apply A; auto.
Qed.

Lemma justifies_sound s c r : true_lemmas s -> justifies t s c r = true -> forall x, ~ holds x c.
Proof.
  intros T J x HL. destruct r as [d|i v d1 d2|i v d1 d2|i j d1 d2|i j d]; cbn in J.
  - eapply derives_sound; eauto.
  - destruct (entry_of i (entries c)) as [e|] eqn:E; [|discriminate].
    apply entry_of_in in E. destruct E as [I <-]. split_and; to_z.
    match goal with H : is_allowed _ _ _ = true |- _ => apply is_allowed_iff in H end.
    pose proof HL as [D L].
    destruct (Z.le_gt_cases (x (name e)) v) as [X|X].
    { eapply (derives_sound s (narrow (name e) (lower t v) c)); eauto.
      apply (narrow_lower_holds x); [assumption|]. assumption. }
    destruct (match least_on_top t e v (entries c) with Some least => least <=? x (name e) | None => false end) eqn:O.
    { destruct (least_on_top t e v (entries c)) as [least|]; [|discriminate]. to_z.
      eapply (derives_sound s (narrow (name e) (raise t (Z.max least (v + 1))) c)); eauto.
      apply (narrow_raise_holds x); [lia|]. assumption. }
    destruct (split_low_supports x (entries c) e v (entries c)) as (y & Y1 & Y2 & Y3); auto using incl_refl.
    { destruct (least_on_top t e v (entries c)); [to_z; lia|exact Logic.I]. }
    eapply (derives_sound s (narrow (name e) (lower t v) c)); eauto.
    apply (narrow_lower_holds (moved x (name e) y)); [rewrite moved_at; lia|]. split; [assumption|].
    pose proof L as [R A]. destruct (R _ I) as (_ & B & _).
    apply moved_lays; auto; [lia|]. intros f If C.
    destruct (A _ _ I If C); [left; lia|right; auto].
  - destruct (entry_of i (entries c)) as [e|] eqn:E; [|discriminate].
    apply entry_of_in in E. destruct E as [I <-]. split_and; to_z.
    match goal with H : is_allowed _ _ _ = true |- _ => apply is_allowed_iff in H end.
    pose proof HL as [D L].
    destruct (Z.le_gt_cases v (x (name e))) as [X|X].
    { eapply (derives_sound s (narrow (name e) (raise t v) c)); eauto.
      apply (narrow_raise_holds x); [assumption|]. assumption. }
    destruct (match most_under t e v (entries c) with Some most => x (name e) <=? most | None => false end) eqn:O.
    { destruct (most_under t e v (entries c)) as [most|]; [|discriminate]. to_z.
      eapply (derives_sound s (narrow (name e) (lower t (Z.min most (v - 1))) c)); eauto.
      apply (narrow_lower_holds x); [lia|]. assumption. }
    destruct (split_high_supports x (entries c) e v (entries c)) as (y & Y1 & Y2 & Y3); auto using incl_refl.
    { destruct (most_under t e v (entries c)); [to_z; lia|exact Logic.I]. }
    eapply (derives_sound s (narrow (name e) (raise t v) c)); eauto.
    apply (narrow_raise_holds (moved x (name e) y)); [rewrite moved_at; lia|]. split; [assumption|].
    pose proof L as [R A]. destruct (R _ I) as (_ & B & _).
    apply moved_lays; auto; [lia|]. intros f If C.
    destruct (A _ _ I If C); [left; auto|right; lia].
  - destruct (entry_of i (entries c)) as [e|] eqn:E; [|discriminate].
    destruct (entry_of j (entries c)) as [f|] eqn:F; [|discriminate].
    apply entry_of_in in E. destruct E as [I <-]. apply entry_of_in in F. destruct F as [K <-]. split_and.
    pose proof HL as [_ [R A]]. destruct (A e f) as [P|P]; auto.
    + eapply (derives_sound s (put_below t e f c)); eauto. apply (put_below_holds x); auto.
    + eapply (derives_sound s (put_below t f e c)); eauto. apply (put_below_holds x); auto.
  - destruct (entry_of i (entries c)) as [e|] eqn:E; [|discriminate].
    destruct (entry_of j (entries c)) as [f|] eqn:F; [|discriminate].
    apply entry_of_in in E. destruct E as [I <-]. apply entry_of_in in F. destruct F as [K <-]. split_and.
    pose proof HL as [D [R A]].
    assert (C : conflict t e f = true) by (eapply are_twins_spec; eauto).
    pose proof (conflict_names _ _ C) as DN.
    destruct (A e f I K C) as [P|P].
    + eapply (derives_sound s (put_below t e f c)); eauto. apply (put_below_holds x); auto.
    + assert (E : bytes (what e) = bytes (what f)) by (eapply are_twins_spec; eauto).
      eapply (derives_sound s (put_below t e f c)); eauto.
      apply (put_below_holds (swapped x (name e) (name f))); auto.
      * unfold swapped. rewrite moved_at, moved_other, moved_at by assumption. lia.
      * split; [assumption|]. apply twins_lay; auto. split; assumption.
Qed.

End Rules.
