(* What the theorems rest on: nothing. The build fails unless each is "Closed under the global context".

   Copyright the authors of memstow. Licensed under the Apache License, Version 2.0 (the file LICENSE). *)

From Memstow Require Import Sound Example.

Print Assumptions least_is_least.
Print Assumptions nothing_fits.
Print Assumptions weaker_is_right.
Print Assumptions no_contradiction.
Print Assumptions ten_is_least.
