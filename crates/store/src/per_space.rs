//! One value for each space.

use crate::Space;

/// A value per [`Space`], so that looking one up cannot miss.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct PerSpace<T>([T; Space::COUNT]);

impl<T> PerSpace<T> {
    /// Makes the value of every space, in the order of [`Space::ALL`], until one fails.
    pub(crate) fn try_new<E>(mut make: impl FnMut(Space) -> Result<T, E>) -> Result<Self, E> {
        let [meta, items, index, changes, expiry] = Space::ALL;
        Ok(PerSpace([
            make(meta)?,
            make(items)?,
            make(index)?,
            make(changes)?,
            make(expiry)?,
        ]))
    }

    pub(crate) fn of(&self, space: Space) -> &T {
        let [meta, items, index, changes, expiry] = &self.0;
        match space {
            Space::Meta => meta,
            Space::Items => items,
            Space::Index => index,
            Space::Changes => changes,
            Space::Expiry => expiry,
        }
    }

    pub(crate) fn of_mut(&mut self, space: Space) -> &mut T {
        let [meta, items, index, changes, expiry] = &mut self.0;
        match space {
            Space::Meta => meta,
            Space::Items => items,
            Space::Index => index,
            Space::Changes => changes,
            Space::Expiry => expiry,
        }
    }

    /// The values in the order of [`Space::ALL`].
    pub(crate) fn iter(&self) -> std::slice::Iter<'_, T> {
        self.0.iter()
    }

    pub(crate) fn into_pairs(self) -> impl Iterator<Item = (Space, T)> {
        Space::ALL.into_iter().zip(self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_space_finds_its_own_value() {
        let mut names = PerSpace::try_new(|space| Ok::<_, ()>(space.name().to_string())).unwrap();
        for space in Space::ALL {
            assert_eq!(names.of(space), space.name());
            names.of_mut(space).push('!');
        }
        assert!(
            names
                .into_pairs()
                .all(|(space, name)| name == format!("{space}!"))
        );
    }
}
