//! Changes the interrupt moderation of an interface for a trial and restores it.

use capbench_sys::host::ethtool::Coalescing;

use super::{Guarded, Side};
use crate::error::{HostError, Result};
use capbench_model::moderation::Moderation;

/// An interface with changed moderation. Dropping this restores it.
#[derive(Debug)]
pub struct Moderated {
    granted: Coalescing,
    _guarded: Guarded,
}

impl Moderated {
    /// Changes the moderation and reads back the value that the driver chose.
    ///
    /// # Errors
    /// [`HostError::Unsupported`] if the driver has no moderation or refuses this one; then nothing is changed.
    pub fn set(side: &Side, asked: Moderation) -> Result<Self> {
        let what = format!("interrupt moderation {asked} on {}", side.name());
        let unsupported = |reason: String| HostError::unsupported(&what, reason);
        let Some(before) = side.run(|| Coalescing::read(side.name()))?? else {
            let reason = "its driver has none (a virtual link has no interrupts); moderation needs a network card whose \
                          driver has (ethtool -c)";
            return Err(unsupported(reason.into()));
        };
        let wanted = match asked {
            Moderation::Fixed(usecs) => before.with_adaptive(false).with_receive_usecs(usecs),
            Moderation::Adaptive => before.with_adaptive(true),
        };
        let guarded = Guarded::new(side, "interrupt moderation", |name| before.change(name))?;
        side.run(|| wanted.write(side.name()))?.map_err(|error| unsupported(error.to_string()))?;
        let granted = side.run(|| Coalescing::read(side.name()))??.unwrap_or(before);
        match granted.moderation().receive_adaptive == (asked == Moderation::Adaptive) {
            true => Ok(Self { granted, _guarded: guarded }),
            false => Err(unsupported("its driver took the setting and did not apply it".into())),
        }
    }

    /// The driver's value: some drivers support steps only.
    pub fn granted(&self) -> Moderation {
        match self.granted.moderation().receive_adaptive {
            true => Moderation::Adaptive,
            false => Moderation::Fixed(self.granted.moderation().receive_us),
        }
    }
}

#[cfg(test)]
mod tests {
    use capbench_sys::host::ethtool::Coalescing;

    use super::{Moderated, Moderation};
    use crate::bed::Side;

    /// CAPBENCH_TEST_NIC names an interface whose driver moderates interrupts.
    #[test]
    fn root_moderation_is_set_and_put_back() {
        let Ok(name) = std::env::var("CAPBENCH_TEST_NIC") else {
            use capbench_testing::{HostLimit, cannot_have};
            return cannot_have(HostLimit::NetworkCard, "CAPBENCH_TEST_NIC names none");
        };
        let side = Side::existing(&name).unwrap();
        let now = || Coalescing::read(&name).unwrap().expect("a driver with moderation");
        let before = now();
        let asked = before.moderation().receive_us + 100;
        let moderated = Moderated::set(&side, Moderation::Fixed(asked)).unwrap();
        assert_ne!(now(), before, "{}", moderated.granted());
        drop(moderated);
        assert_eq!(now(), before);
        let panicked = std::panic::catch_unwind(|| {
            let _moderated = Moderated::set(&side, Moderation::Fixed(asked)).unwrap();
            panic!("in the middle of a trial");
        });
        assert!(panicked.is_err());
        assert_eq!(now(), before);
        println!("{name}: {before:?}");
    }

    #[test]
    fn an_interface_without_interrupts_says_so() {
        let loopback = Side::existing("lo").unwrap();
        let text = Moderated::set(&loopback, Moderation::Fixed(10)).unwrap_err().to_string();
        assert!(
            text.contains("interrupt moderation 10us on lo") && text.contains("driver has none"),
            "{text}"
        );
    }
}
