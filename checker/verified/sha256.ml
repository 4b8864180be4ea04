(* SHA-256 (FIPS 180-4). Not verified: it only says whether the proof was made for these bytes.

   Copyright the authors of memstow. Licensed under the Apache License, Version 2.0 (the file LICENSE). *)

let mask = 0xffffffff
let turn word by = ((word lsr by) lor (word lsl (32 - by))) land mask

let primes =
  let is_prime n =
    let rec none d = d * d > n || (n mod d <> 0 && none (d + 1)) in
    none 2
  in
  let rec from n count =
    if count = 0 then [] else if is_prime n then n :: from (n + 1) (count - 1) else from (n + 1) count
  in
  Array.of_list (from 2 64)

(* The first 32 bits of the fractional part of a root: the greatest r with r^power <= prime * 2^(32 * power), bit by
   bit, with numbers as lists of digits of 16 bits, the lowest first. *)
let fraction power prime =
  let normal digits =
    let carry = ref 0 in
    let low = List.map (fun d -> let v = d + !carry in carry := v lsr 16; v land 0xffff) digits in
    let rec rest c = if c = 0 then [] else (c land 0xffff) :: rest (c lsr 16) in
    low @ rest !carry
  in
  let times a b =
    let result = Array.make (List.length a + List.length b + 1) 0 in
    List.iteri (fun i x -> List.iteri (fun j y -> result.(i + j) <- result.(i + j) + (x * y)) b) a;
    normal (Array.to_list result)
  in
  let rec trimmed = function 0 :: rest -> trimmed rest | l -> l in
  let at_most a b =
    let a = trimmed (List.rev a) and b = trimmed (List.rev b) in
    if List.length a <> List.length b then List.length a < List.length b else compare a b <= 0
  in
  let digits v = [ v land 0xffff; (v lsr 16) land 0xffff; (v lsr 32) land 0xffff ] in
  let target = List.init (2 * power) (fun _ -> 0) @ [ prime ] in
  let root = ref 0 in
  for bit = 37 downto 0 do
    let candidate = !root lor (1 lsl bit) in
    let d = digits candidate in
    let raised = if power = 2 then times d d else times d (times d d) in
    if at_most raised target then root := candidate
  done;
  !root land mask

let constants = Array.map (fraction 3) primes
let start = Array.map (fraction 2) (Array.sub primes 0 8)

let of_string data =
  let length = String.length data in
  let zeros = (119 - (length mod 64)) mod 64 in
  let bits = String.init 8 (fun i -> Char.chr (((length * 8) lsr (56 - (8 * i))) land 255)) in
  let padded = data ^ "\x80" ^ String.make zeros '\000' ^ bits in
  let state = Array.copy start in
  let words = Array.make 64 0 in
  for block = 0 to (String.length padded / 64) - 1 do
    for i = 0 to 63 do
      words.(i) <-
        (if i < 16 then Int32.to_int (String.get_int32_be padded ((block * 64) + (4 * i))) land mask
        else
          let a = words.(i - 15) and b = words.(i - 2) in
          (words.(i - 16) + words.(i - 7)
          + (turn a 7 lxor turn a 18 lxor (a lsr 3))
          + (turn b 17 lxor turn b 19 lxor (b lsr 10)))
          land mask)
    done;
    let s = Array.copy state in
    for i = 0 to 63 do
      let e = s.(4) and a = s.(0) in
      let first =
        s.(7) + (turn e 6 lxor turn e 11 lxor turn e 25)
        + ((e land s.(5)) lxor (lnot e land mask land s.(6)))
        + constants.(i) + words.(i)
      and second =
        (turn a 2 lxor turn a 13 lxor turn a 22) + ((a land s.(1)) lxor (a land s.(2)) lxor (s.(1) land s.(2)))
      in
      Array.blit s 0 s 1 7;
      s.(4) <- (s.(4) + first) land mask;
      s.(0) <- (first + second) land mask
    done;
    Array.iteri (fun i v -> state.(i) <- (state.(i) + v) land mask) s
  done;
  String.init 32 (fun i -> Char.chr ((state.(i / 4) lsr (24 - (8 * (i mod 4)))) land 255))
