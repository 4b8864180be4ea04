//! Finds libmemstow: in the folder that `LIBMEMSTOW_DIR` names, or by pkg-config.
use std::env;
use std::process::Command;

fn main() {
    println!("cargo:rerun-if-env-changed=LIBMEMSTOW_DIR");
    println!("cargo:rerun-if-env-changed=PKG_CONFIG_PATH");
    if let Ok(folder) = env::var("LIBMEMSTOW_DIR") {
        println!("cargo:rustc-link-search=native={folder}");
        // The tests here find it there when they run, too.
        println!("cargo:rustc-link-arg=-Wl,-rpath,{folder}");
    } else if let Ok(ran) = Command::new("pkg-config").args(["--libs-only-L", "memstow"]).output() {
        for word in String::from_utf8_lossy(&ran.stdout).split_whitespace() {
            if let Some(folder) = word.strip_prefix("-L") {
                println!("cargo:rustc-link-search=native={folder}");
            }
        }
    }
    println!("cargo:rustc-link-lib=dylib=memstow");
}
