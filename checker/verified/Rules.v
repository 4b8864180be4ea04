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

(* They conflict, or tie or are apart, whatever their ranges. *)
Definition bonds (e f : entry) : bool := meets t e f && (negb (tied t e f) || ties_count t).

Definition agree (x : layout) (e f : entry) : Prop :=
  apart x e f \/ (tied t e f = true /\ x (name e) = x (name f)).

(* A layout of these ranges. *)
Definition lays (x : layout) (l : list entry) : Prop :=
  (forall e, In e l -> in_range x e) /\
  (forall e f, In e l -> In f l -> bonds e f = true -> agree x e f).

(* A layout of the context. *)
Definition holds (x : layout) (c : context) : Prop := dead c = false /\ lays x (entries c).

Lemma genuine_fine e : genuine e -> fine (what e).
Proof. apply (items_fine t G). Qed.

Lemma meets_names e f : meets t e f = true -> name e <> name f.
Proof. unfold meets. rewrite !andb_true_iff, negb_true_iff. intros [H _]. to_z. assumption. Qed.

Lemma bonds_names e f : bonds e f = true -> name e <> name f.
Proof. unfold bonds. rewrite andb_true_iff. intros [H _]. apply meets_names. assumption. Qed.

Lemma conflict_bonds e f : conflict t e f = true -> bonds e f = true.
Proof.
  unfold conflict, bonds. destruct (meets t e f), (tied t e f), (ties_count t); cbn; auto.
Qed.

Lemma can_tie_bonds e f : can_tie t e f = true -> bonds e f = true.
Proof.
  unfold can_tie, bonds. destruct (ties_count t), (tied t e f), (meets t e f); cbn; auto; rewrite ?andb_false_r; auto.
Qed.

Lemma can_tie_tied e f : can_tie t e f = true -> tied t e f = true.
Proof. unfold can_tie. rewrite !andb_true_iff. tauto. Qed.

Lemma bonds_cases e f : bonds e f = true -> can_tie t e f || conflict t e f = true.
Proof.
  unfold can_tie, conflict, bonds.
  destruct (meets t e f), (tied t e f), (ties_count t), (low e <=? high f), (low f <=? high e); cbn; auto.
Qed.

Lemma ties_in_ranges x e f : in_range x e -> in_range x f -> bonds e f = true -> tied t e f = true ->
  x (name e) = x (name f) -> can_tie t e f = true.
Proof.
  intros (_ & B & _) (_ & C & _) D T E. unfold bonds in D. unfold can_tie.
  rewrite T in D |- *. destruct (meets t e f); [|discriminate]. destruct (ties_count t); [|discriminate].
  cbn. rewrite !andb_true_iff, !Z.leb_le. lia.
Qed.

Lemma conflict_apart x e f : in_range x e -> in_range x f -> conflict t e f = true -> agree x e f -> apart x e f.
Proof.
  intros Re Rf C [A|[T E]]; [assumption|exfalso].
  pose proof (ties_in_ranges x e f Re Rf (conflict_bonds _ _ C) T E) as D.
  unfold can_tie in D. unfold conflict in C. rewrite T in C, D.
  destruct (meets t e f), (ties_count t), (low e <=? high f), (low f <=? high e); discriminate.
Qed.

Lemma tied_sym e f : tied t e f = tied t f e.
Proof. unfold tied. apply (tying_sym t G). Qed.

Lemma bonds_sym e f : bonds e f = bonds f e.
Proof.
  unfold bonds, meets. rewrite (tied_sym e f), (Pos.eqb_sym (name e)), (conflicting_sym t G (name e)),
    (excluding_sym t G (name e)), (is_together_sym (during (what e))). reflexivity.
Qed.

Lemma apart_sym x e f : apart x e f -> apart x f e.
Proof. unfold apart. tauto. Qed.

Lemma agree_sym x e f : agree x e f -> agree x f e.
Proof. intros [A|[T E]]; [left; apply apart_sym; assumption|right]. rewrite tied_sym. auto. Qed.

(* The same buffer. *)
Definition same (e e' : entry) : Prop := name e' = name e /\ what e' = what e.

Lemma bonds_same e e' f f' : same e e' -> same f f' -> bonds e' f' = bonds e f.
Proof. intros [E1 E2] [F1 F2]. unfold bonds, meets, tied. rewrite E1, E2, F1, F2. reflexivity. Qed.

Lemma agree_same x e e' f f' : same e e' -> same f f' -> agree x e f -> agree x e' f'.
Proof. intros [E1 E2] [F1 F2]. unfold agree, apart, tied. rewrite E1, E2, F1, F2. auto. Qed.

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
    apply (agree_same x e0 e f0 f' S0 T0). apply A; auto.
    rewrite <- (bonds_same _ _ _ _ S0 T0). assumption.
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
  intros [R A] J I. unfold keeps, push_one. pose proof (R _ J) as Rj. pose proof (R _ I) as Re.
  destruct (can_tie t j e || conflict t j e) eqn:C; [|apply keeps_id; auto].
  set (up_to := if can_tie t j e then 0 else bytes (what j)).
  set (down_to := if can_tie t j e then 0 else bytes (what e)).
  pose proof (genuine_fine _ (proj1 Rj)) as [Lj _]. pose proof (genuine_fine _ (proj1 Re)) as [Le _].
  assert (P : (x (name j) + up_to <= x (name e) /\ x (name j) <= x (name e)) /\ (can_tie t j e = true \/
                x (name j) + bytes (what j) <= x (name e)) \/
              (x (name e) + down_to <= x (name j)) /\ (x (name e) = x (name j) /\ can_tie t j e = true \/
                x (name e) + bytes (what e) <= x (name j))).
  { subst up_to down_to. destruct (can_tie t j e) eqn:T.
    - destruct (A _ _ J I (can_tie_bonds _ _ T)) as [[Q|Q]|[_ Q]]; [left|right|right]; split; auto; lia.
    - cbn in C. destruct (conflict_apart x j e Rj Re C (A _ _ J I (conflict_bonds _ _ C))); [left|right];
        split; auto; lia. }
  destruct Rj as (_ & Bj & _). pose proof Re as (F & Be & Ae).
  set (above := high j <? low e + bytes (what e)).
  set (below := high e <? low j + bytes (what j)).
  assert (X : above = true -> x (name j) + up_to <= x (name e)).
  { subst above. intros H. to_z. destruct P as [[[P _] _]|[P [[Q T]|Q]]]; [assumption| |lia].
    subst up_to. rewrite T in *. lia. }
  assert (Y : below = true -> x (name e) + down_to <= x (name j)).
  { subst below. intros H. to_z. destruct P as [[[P P'] [T|Q]]|[P _]]; [|lia|assumption].
    subst up_to down_to. rewrite T in *.
    destruct (A _ _ J I (can_tie_bonds _ _ T)) as [[Q|Q]|[_ Q]]; lia. }
  assert (K : keeps x (fun e => if above then raise t (low j + up_to) e else Some e) e).
  { destruct above; [apply raise_keeps; [auto|]|apply keeps_id; auto]. specialize (X eq_refl). lia. }
  destruct K as (e' & E & [S1 S2] & R'). cbn in E. rewrite E.
  destruct below; [|exists e'; repeat split; auto; apply R'].
  destruct (lower_keeps x (high j - down_to) e') as (e2 & E2 & [T1 T2] & R2); auto.
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
  - intros e f I J C. apply conflict_apart; auto. apply A; auto. apply conflict_bonds. assumption.
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
      apply (agree_same x e g f h Se Sf). apply A; auto. rewrite <- (bonds_same _ _ _ _ Se Sf). assumption.
Qed.

(* ---- Rules ---- *)

Lemma is_alone_spec e l : is_alone e l = true -> forall f, In f l -> name f = name e ->
  low f = low e /\ high f = high e.
Proof.
  unfold is_alone. rewrite forallb_forall. intros H f I N. specialize (H _ I).
  apply orb_prop in H. destruct H as [H|H].
  - apply negb_true_iff in H. to_z. contradiction.
  - split_and; to_z. auto.
Qed.

Lemma alone_is x l e f : lays x l -> is_alone e l = true -> In e l -> In f l -> name f = name e -> f = e.
Proof.
  intros [R _] A I J N. destruct (is_alone_spec _ _ A _ J N).
  destruct (R _ I) as (F & _). destruct (R _ J) as (F' & _). unfold genuine in *. rewrite N in F'.
  destruct e, f. cbn in *. congruence.
Qed.

Lemma is_among_iff m i : is_among m i = true <-> exists k, In k m /\ name k = i.
Proof.
  unfold is_among. rewrite existsb_exists.
  split; intros (k & I & E); exists k; split; auto; to_z; auto. apply Pos.eqb_eq. assumption.
Qed.

(* Those of some that are at z go to y. *)
Definition moves (x : layout) (m : list entry) (z : Z) (i : positive) : bool := is_among m i && (x i =? z).
Definition moved (x : layout) (m : list entry) (z y : Z) : layout := fun i => if moves x m z i then y else x i.

Lemma moved_lays x l m z y : lays x l -> incl m l -> (forall k, In k m -> is_alone k l = true) ->
  (forall k, In k m -> x (name k) = z -> low k <= y <= high k /\ allowed t (what k) y) ->
  (forall k f, In k m -> In f l -> x (name k) = z -> moves x m z (name f) = false -> bonds k f = true ->
     y + bytes (what k) <= x (name f) \/ x (name f) + bytes (what f) <= y) ->
  lays (moved x m z y) l.
Proof.
  intros L S AL P Q. pose proof L as [R A].
  assert (M : forall g, In g l -> moves x m z (name g) = true -> In g m /\ x (name g) = z).
  { intros g I H. apply andb_prop in H. destruct H as [H E]. to_z. apply is_among_iff in H.
    destruct H as (k & K & N). split; [|assumption].
    rewrite (alone_is x l k g L (AL _ K) (S _ K) I (eq_sym N)). assumption. }
  split.
  - intros g I. destruct (R _ I) as (F & B & AG). split; [exact F|]. unfold moved.
    destruct (moves x m z (name g)) eqn:E; [|auto]. destruct (M _ I E). auto.
  - intros g h I J C. unfold agree, apart, moved.
    destruct (moves x m z (name g)) eqn:E, (moves x m z (name h)) eqn:E'.
    + destruct (M _ I E) as [_ X]. destruct (M _ J E') as [_ Y]. right. split; [|reflexivity].
      destruct (genuine_fine _ (proj1 (R _ I))). destruct (genuine_fine _ (proj1 (R _ J))).
      destruct (A _ _ I J C) as [[V|V]|[V _]]; [lia|lia|assumption].
    + destruct (M _ I E). left. apply Q; auto.
    + destruct (M _ J E'). left. rewrite bonds_sym in C. destruct (Q h g) as [V|V]; auto.
    + apply A; auto.
Qed.

Lemma moving_spec y l : forall fuel m, incl m l -> incl (moving t y l fuel m) l /\
  (forall k, In k m -> In k (moving t y l fuel m)) /\
  forall k, In k (moving t y l fuel m) -> In k m \/ has_place t k y = true.
Proof.
  induction fuel as [|fuel IH]; intros m S; cbn [moving]; [auto|].
  set (more := filter _ l). assert (W : incl more l /\ forall k, In k more -> has_place t k y = true).
  { split; intros k I; subst more; apply filter_In in I; [tauto|].
    destruct I as [_ I]. rewrite !andb_true_iff in I. tauto. }
  destruct W as [W1 W2]. destruct more as [|f rest]; [auto|].
  destruct (IH (m ++ f :: rest)) as (H1 & H2 & H3); [apply incl_app; assumption|].
  split; [assumption|]. split.
  - intros k I. apply H2. apply in_or_app. auto.
  - intros k I. apply H3 in I. destruct I as [I|I]; [|auto]. apply in_app_or in I. destruct I; auto.
Qed.

Lemma has_place_iff k y : has_place t k y = true <-> low k <= y <= high k /\ allowed t (what k) y.
Proof. unfold has_place. rewrite !andb_true_iff, !Z.leb_le, is_allowed_iff. tauto. Qed.

(* ---- Stops ---- *)

Definition at_most (o : option Z) (c : Z) : Prop := exists a, o = Some a /\ a <= c.
Definition at_least (o : option Z) (c : Z) : Prop := exists a, o = Some a /\ c <= a.

Lemma least_of_either a b c : at_most a c \/ at_most b c -> at_most (least_of a b) c.
Proof.
  unfold at_most. intros [(z & -> & L)|(z & -> & L)]; cbn.
  - destruct b as [w|]; eexists; (split; [reflexivity|lia]).
  - destruct a as [w|]; cbn; eexists; (split; [reflexivity|lia]).
Qed.

Lemma most_of_either a b c : at_least a c \/ at_least b c -> at_least (most_of a b) c.
Proof.
  unfold at_least. intros [(z & -> & L)|(z & -> & L)]; cbn.
  - destruct b as [w|]; eexists; (split; [reflexivity|lia]).
  - destruct a as [w|]; cbn; eexists; (split; [reflexivity|lia]).
Qed.

Lemma in_joined (join : option Z -> option Z -> option Z) (ok : option Z -> Prop) (g h : entry -> entry -> option Z) l :
  (forall a b, ok a \/ ok b -> ok (join a b)) ->
  forall m k f, In k m -> In f l -> ok (g k f) \/ ok (h k f) ->
  ok (joined join g h m l).
Proof.
  unfold joined. intros J m k f. induction m as [|k' m IH]; [intros []|]. intros K F H. cbn [fold_right].
  assert (T : forall some acc, ok acc ->
            ok (fold_right (fun f others => join (g k' f) (join (h k' f) others)) acc some)).
  { induction some as [|f' some IHs]; cbn; intros acc O; [assumption|]. auto 6. }
  destruct K as [->|K]; [|apply T; auto].
  enough (W : forall some acc, In f some ->
            ok (fold_right (fun f others => join (g k f) (join (h k f) others)) acc some)) by auto.
  induction some as [|f' some IHs]; intros acc [].
  - subst. cbn. destruct H; auto 10.
  - cbn. auto 10.
Qed.

Lemma split_low_moves x l e y m : lays x l -> In e m -> incl m l -> (forall k, In k m -> is_alone k l = true) ->
  (forall k, In k m -> k = e \/ has_place t k y = true) -> low e <= y -> allowed t (what e) y -> y < x (name e) ->
  match least_stop t y m l with Some least => x (name e) < least | None => True end ->
  lays (moved x m (x (name e)) y) l.
Proof.
  intros L I S AL P LE AY LT N. pose proof L as [R A]. apply moved_lays; auto.
  - intros k K X. destruct (P _ K) as [->|H]; [|apply has_place_iff; assumption].
    destruct (R _ (S _ I)) as (_ & B & _). split; [lia|assumption].
  - intros k f K F X MV C.
    destruct (Z.le_gt_cases (y + bytes (what k)) (x (name f))) as [Q|Q]; [auto|].
    destruct (Z.le_gt_cases (x (name f) + bytes (what f)) y) as [Q'|Q']; [auto|exfalso].
    destruct (R _ (S _ K)) as (Fk & Bk & Ak). destruct (R _ F) as (Ff & Bf & Af).
    destruct (genuine_fine _ Fk) as [Lk _].
    assert (W : forall up_to, low f + up_to <= x (name k) ->
              exists c, up t (what k) (low f + up_to) = Some c /\ c <= x (name k)).
    { intros up_to B. pose proof (up_spec t G (what k) (low f + up_to) (genuine_fine _ Fk)) as U.
      destruct (up t (what k) (low f + up_to)) as [c|]; [|exfalso; eapply U; [exact Ak|lia]].
      destruct U as (_ & _ & U). exists c. split; [reflexivity|]. apply U; auto. }
    enough (H : at_most (least_stop t y m l) (x (name e))).
    { destruct H as (c & E & H). rewrite E in N. lia. }
    apply (in_joined least_of (fun o => at_most o (x (name e)))) with (k := k) (f := f); auto.
    { intros a b. apply least_of_either. }
    unfold stops, ties_apart, stop_low.
    destruct (A _ _ (S _ K) F C) as [[D|D]|[T D]]; [lia| |].
    + left. rewrite (bonds_cases _ _ C). destruct (W (bytes (what f)) ltac:(lia)) as (c & -> & H).
      rewrite (proj2 (Z.ltb_lt y (high f + bytes (what f)))) by lia. exists c. split; [reflexivity|lia].
    + right. rewrite (ties_in_ranges x k f (R _ (S _ K)) (R _ F) C T D).
      unfold moves in MV. rewrite <- D, X, Z.eqb_refl, andb_true_r in MV. rewrite MV. cbn [negb andb].
      destruct (W 0 ltac:(lia)) as (c & -> & H).
      rewrite (proj2 (Z.ltb_lt y (high f + 0))) by lia. exists c. split; [reflexivity|lia].
Qed.

Lemma split_high_moves x l e y m : lays x l -> In e m -> incl m l -> (forall k, In k m -> is_alone k l = true) ->
  (forall k, In k m -> k = e \/ has_place t k y = true) -> y <= high e -> allowed t (what e) y -> x (name e) < y ->
  match most_stop t y m l with Some most => most < x (name e) | None => True end ->
  lays (moved x m (x (name e)) y) l.
Proof.
  intros L I S AL P LE AY LT N. pose proof L as [R A]. apply moved_lays; auto.
  - intros k K X. destruct (P _ K) as [->|H]; [|apply has_place_iff; assumption].
    destruct (R _ (S _ I)) as (_ & B & _). split; [lia|assumption].
  - intros k f K F X MV C.
    destruct (Z.le_gt_cases (y + bytes (what k)) (x (name f))) as [Q|Q]; [auto|].
    destruct (Z.le_gt_cases (x (name f) + bytes (what f)) y) as [Q'|Q']; [auto|exfalso].
    destruct (R _ (S _ K)) as (Fk & Bk & Ak). destruct (R _ F) as (Ff & Bf & Af).
    destruct (genuine_fine _ Ff) as [Lf _].
    assert (W : forall down_to, x (name k) <= high f - down_to ->
              exists c, down t (what k) (high f - down_to) = Some c /\ x (name k) <= c).
    { intros down_to B. pose proof (down_spec t G (what k) (high f - down_to) (genuine_fine _ Fk)) as U.
      destruct (down t (what k) (high f - down_to)) as [c|]; [|exfalso; eapply U; [exact Ak|lia]].
      destruct U as (_ & _ & U). exists c. split; [reflexivity|]. apply U; auto. }
    enough (H : at_least (most_stop t y m l) (x (name e))).
    { destruct H as (c & E & H). rewrite E in N. lia. }
    apply (in_joined most_of (fun o => at_least o (x (name e)))) with (k := k) (f := f); auto.
    { intros a b. apply most_of_either. }
    unfold stops, ties_apart, stop_high.
    destruct (A _ _ (S _ K) F C) as [[D|D]|[T D]]; [|lia|].
    + left. rewrite (bonds_cases _ _ C). destruct (W (bytes (what k)) ltac:(lia)) as (c & -> & H).
      rewrite (proj2 (Z.ltb_lt (low f - bytes (what k)) y)) by lia. exists c. split; [reflexivity|lia].
    + right. rewrite (ties_in_ranges x k f (R _ (S _ K)) (R _ F) C T D).
      unfold moves in MV. rewrite <- D, X, Z.eqb_refl, andb_true_r in MV. rewrite MV. cbn [negb andb].
      destruct (W 0 ltac:(lia)) as (c & -> & H).
      rewrite (proj2 (Z.ltb_lt (low f - 0) y)) by lia. exists c. split; [reflexivity|lia].
Qed.

Lemma justifies_sound s c r : true_lemmas s -> justifies t s c r = true -> forall x, ~ holds x c.
Proof.
  intros T J x HL. destruct r as [d|i v d1 d2|i v d1 d2]; cbn in J.
  - eapply derives_sound; eauto.
  - destruct (entry_of i (entries c)) as [e|] eqn:E; [|discriminate].
    apply entry_of_in in E. destruct E as [I <-].
    pose proof HL as [D L]. pose proof (proj1 L _ I) as (F & B & _).
    pose proof (down_spec t G (what e) v (genuine_fine _ F)) as U.
    destruct (down t (what e) v) as [y|]; [|discriminate]. destruct U as (U1 & U2 & _).
    set (m := moving t y (entries c) (length (entries c)) [e]) in *. split_and; to_z.
    match goal with H : forallb _ m = true |- _ => rewrite forallb_forall in H end.
    destruct (Z.le_gt_cases (x (name e)) v) as [X|X].
    { eapply (derives_sound s (narrow (name e) (lower t v) c)); eauto.
      apply (narrow_lower_holds x); [assumption|]. assumption. }
    destruct (match least_stop t y m (entries c) with Some least => least <=? x (name e) | None => false end) eqn:O.
    { destruct (least_stop t y m (entries c)) as [least|]; [|discriminate]. to_z.
      eapply (derives_sound s (narrow (name e) (raise t (Z.max least (v + 1))) c)); eauto.
      apply (narrow_raise_holds x); [lia|]. assumption. }
    destruct (moving_spec y (entries c) (length (entries c)) [e]) as (M1 & M2 & M3); [intros ? [<-|[]]; assumption|].
    fold m in M1, M2, M3.
    eapply (derives_sound s (narrow (name e) (lower t v) c)); eauto.
    apply (narrow_lower_holds (moved x m (x (name e)) y)).
    + unfold moved, moves. rewrite Z.eqb_refl, andb_true_r.
      rewrite (proj2 (is_among_iff m (name e))); [lia|]. exists e. split; [apply M2; cbn; auto|reflexivity].
    + split; [assumption|]. apply split_low_moves; auto; [apply M2; cbn; auto| |lia|].
      * intros k K. destruct (M3 _ K) as [[<-|[]]|]; auto.
      * destruct (least_stop t y m (entries c)); [to_z; lia|exact Logic.I].
  - destruct (entry_of i (entries c)) as [e|] eqn:E; [|discriminate].
    apply entry_of_in in E. destruct E as [I <-].
    pose proof HL as [D L]. pose proof (proj1 L _ I) as (F & B & _).
    pose proof (up_spec t G (what e) v (genuine_fine _ F)) as U.
    destruct (up t (what e) v) as [y|]; [|discriminate]. destruct U as (U1 & U2 & _).
    set (m := moving t y (entries c) (length (entries c)) [e]) in *. split_and; to_z.
    match goal with H : forallb _ m = true |- _ => rewrite forallb_forall in H end.
    destruct (Z.le_gt_cases v (x (name e))) as [X|X].
    { eapply (derives_sound s (narrow (name e) (raise t v) c)); eauto.
      apply (narrow_raise_holds x); [assumption|]. assumption. }
    destruct (match most_stop t y m (entries c) with Some most => x (name e) <=? most | None => false end) eqn:O.
    { destruct (most_stop t y m (entries c)) as [most|]; [|discriminate]. to_z.
      eapply (derives_sound s (narrow (name e) (lower t (Z.min most (v - 1))) c)); eauto.
      apply (narrow_lower_holds x); [lia|]. assumption. }
    destruct (moving_spec y (entries c) (length (entries c)) [e]) as (M1 & M2 & M3); [intros ? [<-|[]]; assumption|].
    fold m in M1, M2, M3.
    eapply (derives_sound s (narrow (name e) (raise t v) c)); eauto.
    apply (narrow_raise_holds (moved x m (x (name e)) y)).
    + unfold moved, moves. rewrite Z.eqb_refl, andb_true_r.
      rewrite (proj2 (is_among_iff m (name e))); [lia|]. exists e. split; [apply M2; cbn; auto|reflexivity].
    + split; [assumption|]. apply split_high_moves; auto; [apply M2; cbn; auto| |lia|].
      * intros k K. destruct (M3 _ K) as [[<-|[]]|]; auto.
      * destruct (most_stop t y m (entries c)); [to_z; lia|exact Logic.I].
Qed.

End Rules.
