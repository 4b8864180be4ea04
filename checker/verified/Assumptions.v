(* What the theorems rest on: nothing. The build fails if this prints anything else than "Closed under the global context".

   Copyright the authors of memstow. Licensed under the Apache License, Version 2.0 (the file LICENSE). *)

From Memstow Require Import Sound.

Print Assumptions least_is_least.
Print Assumptions nothing_fits.
Print Assumptions weaker_is_right.
Print Assumptions no_contradiction.
