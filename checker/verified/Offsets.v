(* Pairs, reserved ranges, and where a buffer may be: what the functions of Checker.v compute.

   Copyright the authors of memstow. Licensed under the Apache License, Version 2.0 (the file LICENSE). *)

From Coq Require Import ZArith List Bool Lia FMapPositive FMapFacts Permutation.
From Memstow Require Import Spec Checker.
Import ListNotations.
Open Scope Z_scope.

Ltac split_and :=
  repeat match goal with
  | H : _ && _ = true |- _ => apply andb_prop in H; destruct H
  end.

Ltac to_z :=
  repeat match goal with
  | H : (_ <=? _) = true |- _ => apply Z.leb_le in H
  | H : (_ <? _) = true |- _ => apply Z.ltb_lt in H
  | H : (_ =? _) = true |- _ => apply Z.eqb_eq in H
  | H : (_ <=? _) = false |- _ => apply Z.leb_gt in H
  | H : (_ <? _) = false |- _ => apply Z.ltb_ge in H
  | H : (_ =? _) = false |- _ => apply Z.eqb_neq in H
  | H : Pos.eqb _ _ = true |- _ => apply Pos.eqb_eq in H
  | H : Pos.eqb _ _ = false |- _ => apply Pos.eqb_neq in H
  end.

(* ---- Pairs ---- *)

Lemma is_listed_add m i j a b :
  is_listed (add_pair i j m) a b = true <-> (a = i /\ b = j) \/ is_listed m a b = true.
Proof.
  unfold is_listed, add_pair. destruct (Pos.eq_dec a i) as [->|N].
  - rewrite Map.gss. cbn [existsb].
    rewrite orb_true_iff, Pos.eqb_eq.
    destruct (Map.find i m); cbn; intuition congruence.
  - rewrite Map.gso by congruence. intuition congruence.
Qed.

Lemma is_listed_index l i j : is_listed (index l) i j = true <-> listed l i j.
Proof.
  unfold listed. induction l as [|[a b] l IH]; cbn [index fold_right].
  - unfold is_listed. rewrite Map.gempty. cbn. intuition congruence.
  - rewrite !is_listed_add. unfold index in IH. rewrite IH. cbn [In].
    split; intros H; repeat destruct H as [H|H]; try (inversion H; subst); intuition (subst; auto).
Qed.

Lemma listed_sym l i j : listed l i j <-> listed l j i.
Proof. unfold listed. tauto. Qed.

Lemma is_listed_sym l i j : is_listed (index l) i j = is_listed (index l) j i.
Proof. apply eq_true_iff_eq. rewrite !is_listed_index. apply listed_sym. Qed.

Lemma is_together_iff a b : is_together a b = true <-> together a b.
Proof.
  destruct a as [|s], b as [|t]; cbn.
  - tauto.
  - destruct t; split; congruence.
  - destruct s; split; congruence.
  - assert (E : existsb (fun '(a, b) => existsb (fun '(a', b') => (a <? b') && (a' <? b)) t) s = true <->
      exists a b a' b', In (a, b) s /\ In (a', b') t /\ a < b' /\ a' < b).
    { rewrite existsb_exists. split.
      - intros ([a b] & I & H). apply existsb_exists in H. destruct H as ([a' b'] & I' & H).
        split_and; to_z. eauto 9.
      - intros (a & b & a' & b' & I & I' & A & B). exists (a, b). split; [assumption|].
        apply existsb_exists. exists (a', b'). split; [assumption|].
        apply andb_true_intro. split; apply Z.ltb_lt; assumption. }
    destruct s; exact E.
Qed.

Lemma together_sym a b : together a b -> together b a.
Proof.
  destruct a, b; cbn; auto.
  intros (a & b & a' & b' & ? & ? & ? & ?). exists a', b', a, b. auto.
Qed.

Lemma is_together_sym a b : is_together a b = is_together b a.
Proof. apply eq_true_iff_eq. rewrite !is_together_iff. split; apply together_sym. Qed.

(* ---- Reserved ranges ---- *)

Definition off (ranges : list (Z * Z)) (from to : Z) : Prop :=
  forall a b, In (a, b) ranges -> to <= a \/ b <= from.

Lemma is_off_iff l from to : is_off l from to = true <-> off l from to.
Proof.
  unfold is_off, off. rewrite forallb_forall. split.
  - intros H a b I. specialize (H _ I). cbn in H. apply orb_prop in H. destruct H; to_z; auto.
  - intros H [a b] I. destruct (H _ _ I); apply orb_true_intro; [left|right]; apply Z.leb_le; assumption.
Qed.

Lemma off_cons a b l from to : off ((a, b) :: l) from to <-> (to <= a \/ b <= from) /\ off l from to.
Proof.
  unfold off. cbn. split.
  - intros H. split; auto.
  - intros [H H'] c d [E|I]; [inversion E; subst|]; auto.
Qed.

Inductive ascending : Z -> list (Z * Z) -> Prop :=
| ascending_nil last : ascending last []
| ascending_cons last a b l : last <= a -> a < b -> ascending b l -> ascending last ((a, b) :: l).

Lemma is_ascending_iff l : forall last, is_ascending last l = true -> ascending last l.
Proof.
  induction l as [|[a b] l IH]; cbn; intros last H; [constructor|].
  split_and; to_z. constructor; auto.
Qed.

Lemma ascending_in last l : ascending last l -> forall a b, In (a, b) l -> last <= a /\ a < b.
Proof.
  induction 1; cbn; [tauto|]. intros a' b' [E|I]; [inversion E; subst; lia|].
  specialize (IHascending _ _ I). lia.
Qed.

Lemma off_insert a b l from to :
  from < to -> a < b -> (forall c d, In (c, d) l -> c < d) ->
  (off (insert a b l) from to <-> (to <= a \/ b <= from) /\ off l from to).
Proof.
  revert a b. induction l as [|[c d] l IH]; intros a b L P Q; cbn.
  - apply off_cons.
  - destruct (b <? c) eqn:E1; [apply off_cons|].
    destruct (d <? a) eqn:E2; to_z.
    + rewrite !off_cons, IH; cbn in *; auto; tauto.
    + assert (c < d) by (apply Q; cbn; auto).
      rewrite off_cons, IH; cbn in *; auto; [|lia].
      assert (to <= Z.min a c \/ Z.max b d <= from <-> (to <= a \/ b <= from) /\ (to <= c \/ d <= from)) by lia.
      tauto.
Qed.

Lemma insert_in a b l : a < b -> (forall c d, In (c, d) l -> c < d) ->
  forall c d, In (c, d) (insert a b l) -> c < d.
Proof.
  revert a b. induction l as [|[c d] l IH]; intros a b P Q x y; cbn.
  - intros [E|[]]; inversion E; subst; auto.
  - destruct (b <? c) eqn:E1; [|destruct (d <? a) eqn:E2]; to_z.
    + intros [E|I]; [inversion E; subst; assumption|]. apply Q. exact I.
    + intros [E|I]; [inversion E; subst; apply Q; cbn; auto|].
      apply (IH a b); [assumption| |exact I]. intros; apply Q; cbn; auto.
    + assert (c < d) by (apply Q; cbn; auto).
      apply IH; [lia|]. intros; apply Q; cbn; auto.
Qed.

Lemma off_merged l from to : from < to ->
  (forall o n, In (o, n) l -> 1 <= n) ->
  (off (merged l) from to <-> forall o n, In (o, n) l -> to <= o \/ o + n <= from) /\
  (forall c d, In (c, d) (merged l) -> c < d).
Proof.
  intros L. induction l as [|[o n] l IH]; intros P; cbn.
  - split; [|tauto]. split; [intros _ ? ? []|]. intros _ ? ? [].
  - destruct IH as [IH1 IH2]; [intros; eapply P; cbn; eauto|].
    assert (1 <= n) by (eapply P; cbn; eauto).
    split.
    + unfold merged in *. rewrite off_insert by (auto; lia). rewrite IH1. split.
      * intros [A B] o' n' [E|I]; [inversion E; subst; auto|auto].
      * intros A. split; auto.
    + apply insert_in; auto; lia.
Qed.

(* ---- Where a buffer may be ---- *)

Record good (t : table) : Prop := Good {
  rising_ascends : ascending 0 (rising t);
  falling_is : falling t = rev (rising t);
  items_fine : forall i it, Map.find i (items t) = Some it -> 0 < bytes it /\ 0 < modulus it;
  conflicting_sym : forall i j, is_listed (conflicting t) i j = is_listed (conflicting t) j i;
  excluding_sym : forall i j, is_listed (excluding t) i j = is_listed (excluding t) j i;
  tying_sym : forall i j, is_listed (tying t) i j = is_listed (tying t) j i }.

Section Table.

Variable t : table.
Hypothesis G : good t.

Definition fine (it : item) : Prop := 0 < bytes it /\ 0 < modulus it.

Definition allowed (it : item) (y : Z) : Prop :=
  0 <= y /\ (y - residue it) mod modulus it = 0 /\ y + bytes it <= limit /\
  (forall o, fixed it = Some o -> y = o) /\ off (rising t) y (y + bytes it).

Lemma is_allowed_iff it y : is_allowed t it y = true <-> allowed it y.
Proof.
  unfold is_allowed, allowed. rewrite !andb_true_iff, is_off_iff, !Z.leb_le, !Z.eqb_eq.
  destruct (fixed it) as [o|].
  - rewrite Z.eqb_eq. split.
    + intros ((((? & ?) & ?) & ?) & ?). repeat split; auto. intros ? [= <-]; auto.
    + intros (? & ? & ? & F & ?). repeat split; auto.
  - split.
    + intros ((((? & ?) & ?) & ?) & ?). repeat split; auto. congruence.
    + intros (? & ? & ? & F & ?). repeat split; auto.
Qed.

Lemma round_up_spec it from : 0 < modulus it ->
  from <= round_up it from /\ (round_up it from - residue it) mod modulus it = 0 /\
  forall y, from <= y -> (y - residue it) mod modulus it = 0 -> round_up it from <= y.
Proof.
  intros M. unfold round_up. set (m := modulus it) in *. set (r := residue it) in *.
  pose proof (Z.mod_pos_bound (r - from) m M) as B.
  pose proof (Z.div_mod (r - from) m ltac:(lia)) as D.
  set (q := (r - from) / m) in *. set (k := (r - from) mod m) in *.
  repeat split; [lia| |].
  - replace (from + k - r) with ((- q) * m) by lia. apply Z.mod_mul. lia.
  - intros y L E. apply Z.mod_divide in E; [|lia]. destruct E as [z E].
    (* y = r + z m >= from = r - q m - k *)
    assert (z + q > - 1) by nia. nia.
Qed.

Lemma round_down_spec it to : 0 < modulus it ->
  round_down it to <= to /\ (round_down it to - residue it) mod modulus it = 0 /\
  forall y, y <= to -> (y - residue it) mod modulus it = 0 -> y <= round_down it to.
Proof.
  intros M. unfold round_down. set (m := modulus it) in *. set (r := residue it) in *.
  pose proof (Z.mod_pos_bound (to - r) m M) as B.
  pose proof (Z.div_mod (to - r) m ltac:(lia)) as D.
  set (q := (to - r) / m) in *. set (k := (to - r) mod m) in *.
  repeat split; [lia| |].
  - replace (to - k - r) with (q * m) by lia. apply Z.mod_mul. lia.
  - intros y L E. apply Z.mod_divide in E; [|lia]. destruct E as [z E].
    assert (z < q + 1) by nia. nia.
Qed.

Lemma climb_spec it l : forall last at_, fine it -> ascending last l -> (at_ - residue it) mod modulus it = 0 ->
  at_ <= climb it at_ l /\ (climb it at_ l - residue it) mod modulus it = 0 /\
  off l (climb it at_ l) (climb it at_ l + bytes it) /\
  forall y, at_ <= y -> (y - residue it) mod modulus it = 0 -> off l y (y + bytes it) -> climb it at_ l <= y.
Proof.
  induction l as [|[a b] l IH]; intros last at_ [B M] A E; cbn [climb].
  - repeat split; auto; try lia. intros ? ? [].
  - inversion A as [|? ? ? ? L1 L2 A']; subst.
    destruct (at_ + bytes it <=? a) eqn:C1; [|destruct (b <=? at_) eqn:C2]; to_z.
    + repeat split; auto; try lia. apply off_cons. split; [auto|].
      intros c d I. destruct (ascending_in _ _ A' _ _ I). lia.
    + destruct (IH b at_ (conj B M) A' E) as (P & Q & R & S). repeat split; auto.
      * apply off_cons. split; [lia|auto].
      * intros y Y Y' O. apply off_cons in O. apply S; tauto.
    + destruct (round_up_spec it b M) as (P & Q & R).
      destruct (IH b (round_up it b) (conj B M) A' Q) as (P' & Q' & R' & S'). repeat split; auto; try lia.
      * apply off_cons. split; [lia|auto].
      * intros y Y Y' O. apply off_cons in O. apply S'; [|auto|tauto].
        apply R; [lia|auto].
Qed.

(* From the last to the first, each below the one before. *)
Inductive descending : Z -> list (Z * Z) -> Prop :=
| descending_nil last : descending last []
| descending_cons last a b l : b <= last -> a < b -> descending a l -> descending last ((a, b) :: l).

Lemma descending_in last l : descending last l -> forall a b, In (a, b) l -> b <= last /\ a < b.
Proof.
  induction 1; cbn; [tauto|]. intros a' b' [E|I]; [inversion E; subst; lia|].
  specialize (IHdescending _ _ I). lia.
Qed.


Lemma descending_weaken a b l : descending a l -> a <= b -> descending b l.
Proof. inversion 1; intros; constructor; auto; lia. Qed.

Lemma descending_snoc l : forall last a b, descending last l -> a < b -> b <= last ->
  (forall c d, In (c, d) l -> b <= c) -> descending last (l ++ [(a, b)]).
Proof.
  induction l as [|[c d] l IH]; intros last a b D P Q R; cbn.
  - constructor; auto. constructor.
  - inversion D; subst. constructor; auto. apply IH; auto.
    + eapply R; cbn; eauto.
    + intros; eapply R; cbn; eauto.
Qed.

Lemma ascending_rev l : forall last, ascending last l -> exists top, descending top (rev l).
Proof.
  induction l as [|[a b] l IH]; intros last A; cbn; [exists 0; constructor|].
  inversion A as [|? ? ? ? L1 L2 A']; subst. destruct (IH _ A') as [top D].
  exists (Z.max top b). apply descending_snoc; auto; try lia.
  - eapply descending_weaken; eauto. lia.
  - intros c d I. apply in_rev in I. destruct (ascending_in _ _ A' _ _ I). auto.
Qed.

Lemma sink_spec it l : forall last at_, fine it -> descending last l -> (at_ - residue it) mod modulus it = 0 ->
  sink it at_ l <= at_ /\ (sink it at_ l - residue it) mod modulus it = 0 /\
  off l (sink it at_ l) (sink it at_ l + bytes it) /\
  forall y, y <= at_ -> (y - residue it) mod modulus it = 0 -> off l y (y + bytes it) -> y <= sink it at_ l.
Proof.
  induction l as [|[a b] l IH]; intros last at_ [B M] A E; cbn [sink].
  - repeat split; auto; try lia. intros ? ? [].
  - inversion A as [|? ? ? ? L1 L2 A']; subst.
    destruct (b <=? at_) eqn:C1; [|destruct (at_ + bytes it <=? a) eqn:C2]; to_z.
    + repeat split; auto; try lia. apply off_cons. split; [auto|].
      intros c d I. destruct (descending_in _ _ A' _ _ I). lia.
    + destruct (IH a at_ (conj B M) A' E) as (P & Q & R & S). repeat split; auto.
      * apply off_cons. split; [lia|auto].
      * intros y Y Y' O. apply off_cons in O. apply S; tauto.
    + destruct (round_down_spec it (a - bytes it) M) as (P & Q & R).
      destruct (IH a (round_down it (a - bytes it)) (conj B M) A' Q) as (P' & Q' & R' & S').
      repeat split; auto; try lia.
      * apply off_cons. split; [lia|auto].
      * intros y Y Y' O. apply off_cons in O. apply S'; [|auto|tauto].
        apply R; [lia|auto].
Qed.

Lemma up_spec it from : fine it ->
  match up t it from with
  | Some y => from <= y /\ allowed it y /\ forall z, allowed it z -> from <= z -> y <= z
  | None => forall z, allowed it z -> from <= z -> False
  end.
Proof.
  intros [B M]. unfold up. destruct (fixed it) as [o|] eqn:F.
  - destruct ((from <=? o) && is_allowed t it o) eqn:C.
    + split_and; to_z. match goal with H : is_allowed _ _ _ = true |- _ => apply is_allowed_iff in H end.
      split; [assumption|split; [assumption|]]. intros z (_ & _ & _ & Z1 & _) _. rewrite (Z1 _ F). lia.
    + intros z Z1 Z2. assert (z = o) by (apply Z1; auto). subst z.
      apply andb_false_iff in C. destruct C as [C|C]; [to_z; lia|].
      apply is_allowed_iff in Z1. congruence.
  - destruct (round_up_spec it (Z.max from 0) M) as (P & Q & R).
    destruct (climb_spec it (rising t) 0 (round_up it (Z.max from 0)) (conj B M) (rising_ascends t G) Q)
      as (P' & Q' & R' & S').
    set (y := climb _ _ _) in *. cbv zeta.
    assert (T : forall z, allowed it z -> from <= z -> y <= z).
    { intros z (Z1 & Z2 & Z3 & Z4 & Z5) Z6. apply S'; auto. apply R; auto. lia. }
    destruct (y + bytes it <=? limit) eqn:C; to_z.
    + split; [lia|split; [|exact T]]. repeat split; auto; try lia. congruence.
    + intros z Z1 Z2. specialize (T z Z1 Z2). destruct Z1 as (_ & _ & ? & _). lia.
Qed.

Lemma down_spec it to : fine it ->
  match down t it to with
  | Some y => y <= to /\ allowed it y /\ forall z, allowed it z -> z <= to -> z <= y
  | None => forall z, allowed it z -> z <= to -> False
  end.
Proof.
  intros [B M]. unfold down. destruct (fixed it) as [o|] eqn:F.
  - destruct ((o <=? to) && is_allowed t it o) eqn:C.
    + split_and; to_z. match goal with H : is_allowed _ _ _ = true |- _ => apply is_allowed_iff in H end.
      split; [assumption|split; [assumption|]]. intros z (_ & _ & _ & Z1 & _) _. rewrite (Z1 _ F). lia.
    + intros z Z1 Z2. assert (z = o) by (apply Z1; auto). subst z.
      apply andb_false_iff in C. destruct C as [C|C]; [to_z; lia|].
      apply is_allowed_iff in Z1. congruence.
  - destruct (round_down_spec it (Z.min to (limit - bytes it)) M) as (P & Q & R).
    destruct (ascending_rev _ _ (rising_ascends t G)) as [top D]. rewrite <- (falling_is t G) in D.
    destruct (sink_spec it (falling t) top (round_down it (Z.min to (limit - bytes it))) (conj B M) D Q)
      as (P' & Q' & R' & S').
    set (y := sink _ _ _) in *. cbv zeta.
    assert (O : forall a b, off (falling t) a b <-> off (rising t) a b).
    { intros a b. unfold off. rewrite (falling_is t G). split; intros H c d I; apply H; [rewrite <- in_rev|
        rewrite <- in_rev in I]; auto. }
    assert (T : forall z, allowed it z -> z <= to -> z <= y).
    { intros z (Z1 & Z2 & Z3 & Z4 & Z5) Z6. apply S'; auto; [|apply O; auto]. apply R; auto. lia. }
    destruct (0 <=? y) eqn:C; to_z.
    + split; [lia|split; [|exact T]]. repeat split; auto; try lia; [congruence|]. apply O; auto.
    + intros z Z1 Z2. specialize (T z Z1 Z2). destruct Z1 as (? & _). lia.
Qed.

End Table.
