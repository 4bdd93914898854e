//! Which keys the server understands now, as far as clients can know.

use super::layout::Layout;

/// Whether keys of a layout are understood.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Understood {
    Yes,
    /// It is about to change, or changes without a command.
    Perhaps,
    No,
}

/// What every client knows when it sends a request. It holds this until the answer arrives, so that it stays
/// true meanwhile.
#[derive(Clone, Copy, Debug)]
pub(super) struct Knowledge {
    /// Grows whenever another layout takes effect, once before and once after.
    pub(super) turn: u64,
    /// The layout in effect; `None` while it changes.
    pub(super) in_effect: Option<Layout>,
    by_depot: Understood,
    by_customer: Understood,
}

impl Knowledge {
    /// Before the first migration.
    pub(super) fn new() -> Self {
        Knowledge {
            turn: 0,
            in_effect: Some(Layout::ByDepot),
            by_depot: Understood::Yes,
            by_customer: Understood::No,
        }
    }

    pub(super) fn understands(&self, layout: Layout) -> Understood {
        match layout {
            Layout::ByDepot => self.by_depot,
            Layout::ByCustomer => self.by_customer,
        }
    }

    pub(super) fn set(&mut self, layout: Layout, understood: Understood) {
        match layout {
            Layout::ByDepot => self.by_depot = understood,
            Layout::ByCustomer => self.by_customer = understood,
        }
    }

    /// Another layout is about to take effect; this one is still understood.
    pub(super) fn begin_turn(&mut self, stays: Layout) {
        self.turn += 1;
        self.in_effect = None;
        self.set(stays, Understood::Yes);
        self.set(stays.other(), Understood::Perhaps);
    }

    /// A layout is known to be in effect.
    pub(super) fn reconcile(&mut self, in_effect: Layout, other: Understood) {
        if self.in_effect != Some(in_effect) {
            self.turn += 1;
        }
        self.in_effect = Some(in_effect);
        self.set(in_effect, Understood::Yes);
        self.set(in_effect.other(), other);
    }
}
