(* JSON (RFC 8259), strict: UTF-8, no key twice in an object. Numbers stay texts until somebody wants an integer.

   Copyright the authors of memstow. Licensed under the Apache License, Version 2.0 (the file LICENSE). *)

type t =
  | Null
  | Truth of bool
  | Number of string
  | Text of string
  | List of t list
  | Object of (string * t) list

exception Bad of string

let deepest = 100

let read data =
  let length = String.length data in
  let at = ref (if length >= 3 && String.sub data 0 3 = "\xef\xbb\xbf" then 3 else 0) in
  let fail why = raise (Bad (Printf.sprintf "%s, at byte %d" why !at)) in
  let next () = if !at < length then data.[!at] else '\000' in
  let byte k = if !at + k < length then Char.code data.[!at + k] else 0 in
  let rec blanks () =
    match next () with
    | (' ' | '\t' | '\n' | '\r') when !at < length -> incr at; blanks ()
    | _ -> ()
  in
  let take wanted =
    blanks ();
    !at < length && next () = wanted && (incr at; true)
  in
  let word wanted value =
    let n = String.length wanted in
    if !at + n > length || String.sub data !at n <> wanted then fail "an unknown word";
    at := !at + n;
    value
  in
  let digits () =
    let from = !at in
    while next () >= '0' && next () <= '9' do incr at done;
    !at > from
  in
  let number () =
    let from = !at in
    if next () = '-' then incr at;
    let whole = !at and zero = next () = '0' in
    if (not (digits ())) || (zero && !at - whole > 1) then fail "no value";
    if next () = '.' then (incr at; if not (digits ()) then fail "no digits after a point");
    if next () = 'e' || next () = 'E' then begin
      incr at;
      if next () = '+' || next () = '-' then incr at;
      if not (digits ()) then fail "no digits in an exponent"
    end;
    Number (String.sub data from (!at - from))
  in
  let four () =
    let code = ref 0 in
    for _ = 1 to 4 do
      let digit =
        match next () with
        | '0' .. '9' as c -> Char.code c - 48
        | 'a' .. 'f' as c -> Char.code c - 87
        | 'A' .. 'F' as c -> Char.code c - 55
        | _ -> fail "a wrong escape"
      in
      code := (!code * 16) + digit;
      incr at
    done;
    !code
  in
  let escape result =
    let kind = next () in
    incr at;
    match kind with
    | '"' | '\\' | '/' -> Buffer.add_char result kind
    | 'b' -> Buffer.add_char result '\b'
    | 'f' -> Buffer.add_char result '\012'
    | 'n' -> Buffer.add_char result '\n'
    | 'r' -> Buffer.add_char result '\r'
    | 't' -> Buffer.add_char result '\t'
    | 'u' ->
        let code = four () in
        let code =
          if code < 0xd800 || code >= 0xe000 then code
          else begin
            if code >= 0xdc00 || byte 0 <> 92 || byte 1 <> 117 then fail "half a character";
            at := !at + 2;
            let second = four () in
            if second < 0xdc00 || second >= 0xe000 then fail "half a character";
            0x10000 + ((code - 0xd800) lsl 10) + (second - 0xdc00)
          end
        in
        Buffer.add_utf_8_uchar result (Uchar.of_int code)
    | _ -> fail "a wrong escape"
  in
  (* One character of several bytes; every other form of UTF-8 is wrong. *)
  let character result =
    let lead = byte 0 in
    if lead < 0xc2 || lead > 0xf4 then fail "no UTF-8";
    let size = if lead >= 0xf0 then 4 else if lead >= 0xe0 then 3 else 2 in
    let code = ref (lead land (0xff lsr (size + 1))) in
    for k = 1 to size - 1 do
      if byte k land 0xc0 <> 0x80 then fail "no UTF-8";
      code := (!code lsl 6) lor (byte k land 0x3f)
    done;
    let least = match size with 4 -> 0x10000 | 3 -> 0x800 | _ -> 0x80 in
    if !code < least || !code > 0x10ffff || (!code >= 0xd800 && !code < 0xe000) then fail "no UTF-8";
    Buffer.add_string result (String.sub data !at size);
    at := !at + size
  in
  let text () =
    let result = Buffer.create 16 in
    incr at;
    let rec go () =
      if !at >= length then fail "a text without its end";
      match data.[!at] with
      | '"' -> incr at
      | '\\' -> incr at; escape result; go ()
      | c when c < ' ' -> fail "a control character in a text"
      | c when c >= '\x80' -> character result; go ()
      | c -> incr at; Buffer.add_char result c; go ()
    in
    go ();
    Buffer.contents result
  in
  let rec value depth =
    if depth > deepest then fail "too deep";
    blanks ();
    if !at >= length then fail "it ends too early";
    match next () with
    | '{' -> incr at; members depth
    | '[' ->
        incr at;
        if take ']' then List []
        else begin
          let items = ref [ value (depth + 1) ] in
          while take ',' do items := value (depth + 1) :: !items done;
          if not (take ']') then fail "a list without its end";
          List (List.rev !items)
        end
    | '"' -> Text (text ())
    | 't' -> word "true" (Truth true)
    | 'f' -> word "false" (Truth false)
    | 'n' -> word "null" Null
    | _ -> number ()
  and members depth =
    if take '}' then Object []
    else begin
      let seen = Hashtbl.create 8 and fields = ref [] in
      let one () =
        blanks ();
        if next () <> '"' then fail "a key is missing";
        let key = text () in
        if Hashtbl.mem seen key then fail "a key twice";
        Hashtbl.add seen key ();
        if not (take ':') then fail "a colon is missing";
        fields := (key, value (depth + 1)) :: !fields
      in
      one ();
      while take ',' do one () done;
      if not (take '}') then fail "an object without its end";
      Object (List.rev !fields)
    end
  in
  let document = value 0 in
  blanks ();
  if !at <> length then fail "something follows its end";
  document
