//! A source that the façade reads for the core: by a function of the host, synchronously.

use crate::filed::Source;
use js_sys::Function;
use std::cell::RefCell;
use std::fmt;
use wasm_bindgen::prelude::*;

struct Host {
    number: u32,
    read: Function,
    close: Function,
}

thread_local! {
    /// Functions by number: they belong to one thread and cannot stand in a log themselves.
    static HOSTS: RefCell<(u32, Vec<Host>)> = RefCell::default();
}

/// Functions of the host: `read(offset, at, length): boolean` puts bytes of the source into linear
/// memory, `close()` is called when no session needs them any more.
pub struct HostSource(u32);

/// By hand, since what a derived one calls is a kilobyte.
impl fmt::Debug for HostSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("HostSource")
    }
}

impl HostSource {
    pub fn new(read: Function, close: Function) -> Self {
        HOSTS.with_borrow_mut(|(last, hosts)| {
            *last += 1;
            hosts.push(Host { number: *last, read, close });
            HostSource(*last)
        })
    }
}

impl Source for HostSource {
    fn read(&self, offset: u64, into: &mut [u8]) -> bool {
        let find = |hosts: &Vec<Host>| hosts.iter().find(|host| host.number == self.0).map(|host| host.read.clone());
        let Some(read) = HOSTS.with_borrow(|(_, hosts)| find(hosts)) else { return false };
        let (at, len) = (into.as_mut_ptr() as usize as f64, into.len() as f64);
        read.call3(&JsValue::NULL, &(offset as f64).into(), &at.into(), &len.into()).is_ok_and(|done| done.is_truthy())
    }
}

impl Drop for HostSource {
    fn drop(&mut self) {
        let host = HOSTS.with_borrow_mut(|(_, hosts)| {
            let at = hosts.iter().position(|host| host.number == self.0);
            at.map(|at| hosts.swap_remove(at))
        });
        // The host says nothing of what goes wrong here: the bytes were only read.
        let _ = host.map(|host| host.close.call0(&JsValue::NULL));
    }
}
