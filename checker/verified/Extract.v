(* The checker as OCaml. Lists, pairs, options and truth values are those of OCaml; numbers stay as they are here.

   Copyright the authors of memstow. Licensed under the Apache License, Version 2.0 (the file LICENSE). *)

From Coq Require Import ExtrOcamlBasic.
From Memstow Require Import Spec Checker.

(* Of the maps' keys, which are never compared by the function that this is about. *)
Set Warnings "-extraction-opaque-accessed".
Extraction Language OCaml.
Extraction "extracted.ml" check.
